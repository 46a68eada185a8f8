"""The system calls a kernel may not make, as one raw BPF program; no library needed.

A deny list over the calls that reach the machinery of the system (mounts, namespaces, tracing, keys, modules, clocks,
io_uring, bpf), plus everything newer than this file, plus every socket family but unix. x86_64 and aarch64.
"""

import errno
import platform
import struct

# name: (x86_64, aarch64); None where the architecture has no such call
DENIED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "setns": (308, 268),
    "unshare": (272, 97),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "personality": (135, 92),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
NEWEST = 446  # landlock_restrict_self; later calls are answered with "no such call"
ARCH = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
CLONE = (56, 220)
SOCKET, SOCKETPAIR, CONNECT, SENDTO = (41, 198), (53, 199), (42, 203), (44, 206)
IOCTL = (16, 29)
NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag that clone takes
AF_UNIX, SOCK_STREAM, SOCK_SEQPACKET, SOCK_TYPE_MASK = 1, 1, 5, 0xF
TIOCSTI, TIOCLINUX = 0x5412, 0x541C

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


def supported() -> bool:
    """Whether a filter for this machine's processor is known."""
    return platform.machine() in ARCH


def build(sockets: bool = True) -> bytes:
    """Raw BPF of the filter.

    Parameters
    ----------
    sockets : bool
        Whether unix sockets may be made and connected. Without mount namespace they may not (a path of the host could
        be reached); connected pairs of streams stay.
    """
    token, column = ARCH[platform.machine()]
    program = []

    def emit(code: int, k: int, yes: int = 0, no: int = 0) -> None:
        program.append(struct.pack("HBBI", code, yes, no, k & 0xFFFFFFFF))

    def refuse(number: int) -> None:
        emit(_RETURN, _ERRNO | number)

    def load(offset: int) -> None:
        emit(_LOAD, offset)

    def argument(index: int) -> None:
        load(16 + 8 * index)

    load(4)
    emit(_EQUAL, token, 1, 0)
    emit(_RETURN, _KILL)
    load(0)
    emit(_AT_LEAST, NEWEST + 1, 0, 1)  # also the x32 calls of x86_64
    refuse(errno.ENOSYS)
    emit(_EQUAL, 435, 0, 1)  # clone3 hides its flags in memory; callers fall back to clone
    refuse(errno.ENOSYS)
    for numbers in DENIED.values():
        number = numbers[column]
        if number is not None:
            emit(_EQUAL, number, 0, 1)
            refuse(errno.EPERM)
    if not sockets:
        emit(_EQUAL, CONNECT[column], 0, 1)
        refuse(errno.EACCES)
        emit(_EQUAL, SOCKET[column], 0, 1)
        refuse(errno.EACCES)
        emit(_EQUAL, SENDTO[column], 0, 6)  # with an address: it could name a socket of the host
        argument(4)
        emit(_EQUAL, 0, 0, 2)
        load(16 + 8 * 4 + 4)
        emit(_EQUAL, 0, 1, 0)
        refuse(errno.EACCES)
        emit(_RETURN, _ALLOW)
    emit(_EQUAL, CLONE[column], 0, 4)
    argument(0)
    emit(_ANY_BIT, NEW_NAMESPACES, 0, 1)
    refuse(errno.EPERM)
    emit(_RETURN, _ALLOW)
    emit(_EQUAL, SOCKET[column], 0, 4)
    argument(0)
    emit(_EQUAL, AF_UNIX, 1, 0)
    refuse(errno.EACCES)
    emit(_RETURN, _ALLOW)
    emit(_EQUAL, SOCKETPAIR[column], 0, 9)
    argument(0)
    emit(_EQUAL, AF_UNIX, 1, 0)
    refuse(errno.EACCES)
    argument(1)
    emit(_AND, SOCK_TYPE_MASK)
    emit(_EQUAL, SOCK_STREAM, 2, 0)  # a datagram pair could be aimed at any named socket
    emit(_EQUAL, SOCK_SEQPACKET, 1, 0)
    refuse(errno.EACCES)
    emit(_RETURN, _ALLOW)
    emit(_EQUAL, IOCTL[column], 0, 4)
    argument(1)
    emit(_EQUAL, TIOCSTI, 1, 0)
    emit(_EQUAL, TIOCLINUX, 0, 1)
    refuse(errno.EPERM)
    emit(_RETURN, _ALLOW)
    return b"".join(program)
