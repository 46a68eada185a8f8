"""List the system calls that a kernel may make, as one raw BPF program without a library. x86_64 and aarch64.

An allow-list: a call that is named nowhere below, and every call newer than this file, is answered with ENOSYS ("no such
call"), at which libraries fall back to an older one. Calls into the machinery of the system are answered with EPERM, as
Linux itself answers who has no rights. Some calls depend on their arguments (`_checks`).

What Landlock does not mediate must be closed here where there is no private root: modes, owners, times and attributes of
any file that is named or open for reading, System V memory, queues and semaphores, limits and scheduling of other
processes, names of sockets. In a private root these reach what is the kernel's own only, and work.
"""

import errno
import functools
import platform
import struct
from collections.abc import Iterable, Iterator

# "name x86_64 aarch64"; - where the architecture has no such call
_ALLOWED = """
read 0 63, write 1 64, open 2 -, close 3 57, lseek 8 62, pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66,
preadv 295 69, pwritev 296 70, preadv2 327 286, pwritev2 328 287, pipe 22 -, pipe2 293 59, dup 32 23, dup2 33 -,
dup3 292 24, openat 257 56, openat2 437 437, creat 85 -, close_range 436 436, sendfile 40 71, splice 275 76, tee 276 77,
vmsplice 278 75, copy_file_range 326 285, fsync 74 82, fdatasync 75 83, sync_file_range 277 84, ftruncate 77 46,
fallocate 285 47, fadvise64 221 223, readahead 187 213, flock 73 32, poll 7 -, ppoll 271 73, select 23 -,
pselect6 270 72, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22,
epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19, signalfd 282 -, signalfd4 289 74, timerfd_create 283 85,
timerfd_settime 286 86, timerfd_gettime 287 87,

stat 4 -, fstat 5 80, lstat 6 -, newfstatat 262 79, statx 332 291, access 21 -, faccessat 269 48, faccessat2 439 439,
truncate 76 45, getdents 78 -, getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, rename 82 -, renameat 264 38,
renameat2 316 276, mkdir 83 -, mkdirat 258 34, rmdir 84 -, link 86 -, linkat 265 37, unlink 87 -, unlinkat 263 35,
symlink 88 -, symlinkat 266 36, readlink 89 -, readlinkat 267 78, mknod 133 -, mknodat 259 33, umask 95 166,
statfs 137 43, fstatfs 138 44,

mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214, mremap 25 216, msync 26 227, madvise 28 233, mlock 149 228,
munlock 150 229, mlockall 151 230, munlockall 152 231, mlock2 325 284, membarrier 324 283, pkey_mprotect 329 288,
pkey_alloc 330 289, pkey_free 331 290, mbind 237 235, set_mempolicy 238 237, get_mempolicy 239 236,
remap_file_pages 216 234,

fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, exit 60 93, exit_group 231 94, wait4 61 260, waitid 247 95,
kill 62 129, tkill 200 130, tgkill 234 131, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, pidfd_open 434 434,
pidfd_send_signal 424 424, prctl 157 167, arch_prctl 158 -, set_tid_address 218 96, set_robust_list 273 99, rseq 334 293,
set_thread_area 205 -, get_thread_area 211 -, futex 202 98, restart_syscall 219 128, getpid 39 172, getppid 110 173,
gettid 186 178, getpgid 121 155, getpgrp 111 -, setpgid 109 154, getsid 124 156, setsid 112 157, getrlimit 97 163,
setrlimit 160 164, getrusage 98 165, times 100 153, uname 63 160, sysinfo 99 179, getcpu 309 168, getrandom 318 278,
sched_yield 24 124, sched_get_priority_max 146 125, sched_get_priority_min 147 126, sched_getparam 143 121,
sched_getscheduler 145 120, seccomp 317 277, landlock_create_ruleset 444 444, landlock_add_rule 445 445, landlock_restrict_self 446 446,

rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigtimedwait 128 137,
rt_sigsuspend 130 133, sigaltstack 131 132, pause 34 -, alarm 37 -, getitimer 36 102, setitimer 38 103, nanosleep 35 101,
clock_nanosleep 230 115, clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, time 201 -,
timer_create 222 107, timer_settime 223 110, timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111,

getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, setuid 105 146, setgid 106 144, setreuid 113 145,
setregid 114 143, getgroups 115 158, setgroups 116 159, setresuid 117 147, getresuid 118 148, setresgid 119 149,
getresgid 120 150, setfsuid 122 151, setfsgid 123 152, capget 125 90, capset 126 91,

accept 43 202, accept4 288 242, recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, sendmmsg 307 269, recvmmsg 299 243,
shutdown 48 210, getsockname 51 204, getpeername 52 205, setsockopt 54 208, getsockopt 55 209
"""

_REFUSED = """
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440, kcmp 312 272,
pidfd_getfd 438 438, bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425,
io_uring_enter 426 426, io_uring_register 427 427, add_key 248 217, request_key 249 218, keyctl 250 219, mount 165 40,
umount2 166 39, pivot_root 155 41, chroot 161 51, move_mount 429 429, open_tree 428 428, fsopen 430 430,
fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442, setns 308 268, unshare 272 97,
kexec_load 246 104, kexec_file_load 320 294, init_module 175 105, finit_module 313 273, delete_module 176 106,
reboot 169 142, swapon 167 224, swapoff 168 225, acct 163 89, quotactl 179 60, quotactl_fd 443 443, settimeofday 164 170,
clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171, name_to_handle_at 303 264, open_by_handle_at 304 265,
fanotify_init 300 262, lookup_dcookie 212 18, syslog 103 116, vhangup 153 58, iopl 172 -, ioperm 173 -,
modify_ldt 154 -, uselib 134 -, personality 135 92, sethostname 170 161, setdomainname 171 162
"""

# What reaches the kernel's own only where root, processes and ipc namespace are private, and the whole host's elsewhere.
_MODES = "chmod 90 -, fchmod 91 52, fchmodat 268 53"
_TIMES = "utimensat 280 88"
_OLD_TIMES = "utime 132 -, utimes 235 -, futimesat 261 -"
_OWNERS = "chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54"
_ATTRIBUTES = """
setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11,
llistxattr 195 12, flistxattr 196 13, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16
"""
_SYSTEM_V = """
shmget 29 194, shmat 30 196, shmctl 31 195, shmdt 67 197, semget 64 190, semop 65 193, semctl 66 191, semtimedop 220 192,
msgget 68 186, msgsnd 69 189, msgrcv 70 188, msgctl 71 187
"""
_NAMELESS = "memfd_create 319 279"
_OF_NO_PROCESS = (_SYSTEM_V, _NAMELESS)
_OF_A_PROCESS = "prlimit64 302 261"  # these take a process id first
_SCHEDULING = "sched_setparam 142 118, sched_setaffinity 203 122, sched_setattr 314 274"
_SCHEDULER = "sched_setscheduler 144 119"
_SCHEDULING_READ = "sched_rr_get_interval 148 127, sched_getaffinity 204 123, sched_getattr 315 275"
_PRIORITY = "setpriority 141 140, getpriority 140 141"  # these take what an id means, then the id
_IO_PRIORITY = "ioprio_set 251 30, ioprio_get 252 31"

_NAMES = "bind 49 200, listen 50 201, connect 42 203"  # these give or use the name of a socket
_SOCKET, _SOCKETPAIR, _SENDTO = "socket 41 198", "socketpair 53 199", "sendto 44 206"
# clone3 is in no table: its flags lie in memory, where a filter cannot look. At ENOSYS the C library uses clone, whose flags
# are an argument.
_CLONE, _IOCTL, _FCNTL = "clone 56 220", "ioctl 16 29", "fcntl 72 25"

# Terminals, and whether a descriptor waits; not the ones that feed a terminal's input (TIOCSTI, TIOCLINUX, TIOCCONS) or
# change a line's protocol (TIOCSETD), and none of those that change a file's flags, for which a reader's descriptor does.
_IOCTLS = (
    *range(0x5401, 0x5412),
    *(0x5413, 0x5414, 0x5415, 0x5416, 0x5417, 0x5418, 0x5419, 0x541A, 0x541B, 0x5420, 0x5421, 0x5422),
    *(
        0x5425,
        0x5429,
        0x5441,
        0x5450,
        0x5451,
        0x5452,
    ),  # TCSBRKP TIOCGSID TIOCGPTPEER FIONCLEX FIOCLEX FIOASYNC
    *(0x802C542A, 0x402C542B, 0x402C542C, 0x402C542D),  # TCGETS2 and its kin
    *(0x80045430, 0x40045431, 0x80045438, 0x80045439),  # the number and the lock of a pseudo terminal
)
# Duplicates, flags, locks, sizes of pipes and seals; not F_NOTIFY (who uses a folder), F_SETLEASE (who opens a file),
# F_SETOWN and F_SETSIG (signals to others) and F_SET_RW_HINT (a note on a file that every reader sees).
_FCNTLS = (*range(8), 36, 37, 38, 1030, 1031, 1032, 1033, 1034)

NEWEST = 446  # landlock_restrict_self; also below the x32 calls of x86_64
ARCH = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag that clone takes
AF_UNIX, SOCK_STREAM, SOCK_SEQPACKET, SOCK_TYPE_MASK = 1, 1, 5, 0xF
PRIO_PROCESS, IOPRIO_WHO_PROCESS, SCHED_OTHER = 0, 1, 0
_OWN_PROCESS = 0x5EA1B00C  # stands for the kernel's process id; no id is as large

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _JUMP, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x05, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

Code = tuple[bytes, ...]


def supported() -> bool:
    """Whether there is a filter for this machine's processor."""
    return platform.machine() in ARCH


def calls(table: str, column: int) -> Iterator[tuple[str, int]]:
    """Yield names and numbers of a table's calls on one architecture."""
    for row in table.replace("\n", " ").split(","):
        name, *numbers = row.split()
        if numbers[column] != "-":
            yield name, int(numbers[column])


def _step(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, k & 0xFFFFFFFF)


def _answer(number: int) -> Code:
    """Skip the call and answer with this error number; 0 pretends that it was done."""
    return (_step(_RETURN, _ERRNO | number),)


_PASS: Code = (_step(_RETURN, _ALLOW),)


def _argument(index: int) -> bytes:
    return _step(_LOAD, 16 + 8 * index)


def _one_of(index: int, values: Iterable[int], otherwise: int) -> Code:
    accepted = tuple(values)
    tests = tuple(_step(_EQUAL, value, len(accepted) - place) for place, value in enumerate(accepted))
    return (_argument(index), *tests, *_answer(otherwise), *_PASS)


def _own_process(index: int, otherwise: int) -> Code:
    return (*_if_not_own_process(index, _answer(otherwise)), *_PASS)


def _if_not_own_process(index: int, code: Code) -> Code:
    """Run `code`, which must end in an answer, unless an argument names the caller's own process."""
    over = len(code)
    return (_argument(index), _step(_EQUAL, 0, over + 1), _step(_EQUAL, _OWN_PROCESS, over), *code)


def _own_priority(kind: int) -> Code:
    """Allow calls about one process, the caller's own; not about a user or a group."""
    return (_argument(0), _step(_EQUAL, kind, 1), *_answer(errno.EPERM), *_own_process(1, errno.EPERM))


def _if_null(index: int, code: Code) -> Code:
    """Run `code`, which must end in an answer, if a pointer is null."""
    high = _step(_LOAD, 16 + 8 * index + 4)
    over = len(code)
    return (_argument(index), _step(_EQUAL, 0, 0, over + 2), high, _step(_EQUAL, 0, 0, over), *code)


def _checks(private_root: bool) -> Iterator[tuple[str, Code]]:
    yield _REFUSED, _answer(errno.EPERM)
    yield _CLONE, (_argument(0), _step(_ANY_BIT, NEW_NAMESPACES, 0, 1), *_answer(errno.EPERM), *_PASS)
    yield _IOCTL, _one_of(1, _IOCTLS, errno.ENOTTY)
    yield _FCNTL, _one_of(1, _FCNTLS, errno.EINVAL)
    stream_pairs = _one_of(1, (SOCK_STREAM, SOCK_SEQPACKET), errno.EACCES)
    yield (
        _SOCKETPAIR,  # a pair of datagram sockets could be aimed at any named socket
        (
            _argument(0),
            _step(_EQUAL, AF_UNIX, 1),
            *_answer(errno.EACCES),
            stream_pairs[0],
            _step(_AND, SOCK_TYPE_MASK),
            *stream_pairs[1:],
        ),
    )
    if private_root:
        yield _SOCKET, _one_of(0, (AF_UNIX,), errno.EACCES)
        return
    yield _SOCKET, _answer(errno.EACCES)
    # no names, abstract ones included: taken by one kernel, another finds them in use
    yield _NAMES, _answer(errno.EACCES)
    yield _SENDTO, (*_if_null(4, _PASS), *_answer(errno.EACCES))
    # Nothing is done, and the answer is yes: `shutil.copy` would fail for a mode it cannot copy, and many programs likewise
    yield _MODES, _answer(0)
    # the same for times, but "now", at whose refusal `Path.touch` makes the file
    yield _TIMES, (*_if_null(1, _answer(0)), *_if_null(2, _answer(errno.EPERM)), *_answer(0))
    yield _OLD_TIMES, _answer(errno.EPERM)
    yield _OWNERS, _answer(errno.EPERM)
    yield _ATTRIBUTES, _answer(errno.EOPNOTSUPP)
    yield _OF_A_PROCESS, _own_process(0, errno.EPERM)
    yield _SCHEDULING, _own_process(0, errno.EPERM)
    # ZeroMQ gives each of its threads, by their ids, the scheduler they have, and ends the process where that fails
    ordinary = (_argument(1), _step(_EQUAL, SCHED_OTHER, 0, 1), *_answer(0), *_answer(errno.EPERM))
    yield _SCHEDULER, (*_if_not_own_process(0, ordinary), *_PASS)
    # by ENOSYS the C library understands that it cannot know, where it asks about one of its threads
    yield _SCHEDULING_READ, _own_process(0, errno.ENOSYS)
    yield _PRIORITY, _own_priority(PRIO_PROCESS)
    yield _IO_PRIORITY, _own_priority(IOPRIO_WHO_PROCESS)


_PRIVATE_ONLY = (
    *(_MODES, _TIMES, _OLD_TIMES, _OWNERS, _ATTRIBUTES, _SYSTEM_V, _OF_A_PROCESS, _SCHEDULING, _SCHEDULER),
    *(_SCHEDULING_READ, _PRIORITY, _IO_PRIORITY, _NAMES, _SENDTO),
)


def answers(private_root: bool, machine: str = "", *, grouped: bool = True) -> dict[int, Code]:
    """Return the code that answers each call, by its number; all others are answered with ENOSYS."""
    _, column = ARCH[machine or platform.machine()]
    table = {number: _PASS for _, number in calls(_ALLOWED, column)}
    for names in (*(_PRIVATE_ONLY if private_root else ()), _NAMELESS):
        if grouped or names not in _OF_NO_PROCESS:
            table |= {number: _PASS for _, number in calls(names, column)}
    for names, code in _checks(private_root):
        table |= {number: code for _, number in calls(names, column)}
    return table


@functools.cache
def build(private_root: bool = True, machine: str = "", *, grouped: bool = True) -> bytes:
    """Build the raw BPF of the filter; `for_process` completes it.

    A tree of comparisons, so that Linux, which tries every number once when the filter is installed in order to let the
    plain ones pass without it, is soon done.

    Parameters
    ----------
    private_root : bool
        Whether mounts, processes, ipc and network are the kernel's own. Where they are not, a path, an id or a name in a
        call means the host's, and no unix socket may be made or named; connected pairs of streams stay.
    machine : another processor than this one's, for tests
    grouped : bool
        Whether a control group counts the kernel's memory. Where none does, there are no segments, semaphores and queues of
        System V, and no files without a name: they belong to no process, so that nothing else would bound them.
    """
    token, _ = ARCH[machine or platform.machine()]
    table = answers(private_root, machine, grouped=grouped)
    missing = _answer(errno.ENOSYS)
    runs: list[tuple[int, Code]] = []
    # one past the newest, so that the last run answers every later number with ENOSYS
    for number in range(NEWEST + 2):
        code = table.get(number, missing)
        if not runs or runs[-1][1] != code:
            runs.append((number, code))
    # another architecture (a 32-bit program) has other numbers for its calls: it is killed, as no table fits
    start = (_step(_LOAD, 4), _step(_EQUAL, token, 1), _step(_RETURN, _KILL), _step(_LOAD, 0))
    return b"".join((*start, *_tree(runs)))


def _tree(runs: list[tuple[int, Code]]) -> Code:
    if len(runs) == 1:
        return runs[0][1]
    middle = len(runs) // 2
    below, above = _tree(runs[:middle]), _tree(runs[middle:])
    if len(below) < 256:
        return (_step(_AT_LEAST, runs[middle][0], len(below)), *below, *above)
    # a comparison cannot jump that far
    return (_step(_AT_LEAST, runs[middle][0], 0, 1), _step(_JUMP, len(below)), *below, *above)


def for_process(program: bytes, process: int) -> bytes:
    """Complete the filter for the kernel with this process id."""
    return program.replace(struct.pack("I", _OWN_PROCESS), struct.pack("I", process))
