"""Run the fork server: import the analysis stack once, then fork a sealed kernel for every request.

It is started from a clean environment, holds no secret, has one thread at every fork, and dies with its manager: a
guard process waits for both and, as the fork server is process 1 of its own namespace, its end is the end of every
kernel. Messages are JSON, one per packet, over one socket:

in    ``{"op": "spawn", "id", "level", "connection", ...limits}`` with descriptors: five listening sockets in the order
      of `CHANNELS`, the write end of a notice pipe, (when ``api``) the kernel's socket to the broker, and (when ``library``)
      the text that its cells may import
out   ``{"up": {...}}`` once; ``{"spawned": id, "pid"}`` with a pidfd; ``{"failed": id, "error"}``; ``{"exit": pid, "code"}``

The kernel itself writes ``{"ready": true, "steps": [...]}`` or ``{"error": "..."}`` into its notice pipe.
"""

import contextlib
import gc
import importlib
import importlib.machinery
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

CHANNELS = ("shell", "iopub", "stdin", "hb", "control")
MAX_PACKET = 192 << 10


def guard(control: socket.socket, manager: int, view: dict[str, Any]) -> NoReturn:
    """Start the fork server in its own namespaces and wait until it or the manager ends.

    Parameters
    ----------
    control : socket of the manager; handed to the fork server
    manager : pidfd of the manager
    view : dict, the first message: ``level``, ``mountpoint``, ``operations``, ``path``, ``preload``
    """
    import isolation

    view["user_namespace"] = view["level"] == "namespaces" and isolation.leave_host()
    isolation.prctl(isolation.PR_SET_CHILD_SUBREAPER, 1)
    itself = os.pidfd_open(os.getpid())
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            isolation.prctl(isolation.PR_SET_PDEATHSIG, signal.SIGKILL)
            if select.select([itself], [], [], 0)[0]:
                os._exit(1)  # the guard was gone before the line above
            os.close(itself)
            os.close(manager)
            serve(control, view)
            code = 0
        # logged and reported, not raised: above this frame is the guard's code, not the child's
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            report = {"down": traceback.format_exc(limit=-4).strip().splitlines()[-1]}
            with contextlib.suppress(OSError):  # the manager is gone, and the guard sees that
                control.send(json.dumps(report).encode())
        finally:
            os._exit(code)
    control.close()
    child = os.pidfd_open(pid)
    ready, _, _ = select.select([child, manager], [], [])
    if child not in ready:
        signal.pidfd_send_signal(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    kill_orphans()
    os._exit(code & 0xFF)


def kill_orphans(spared: Iterable[int] = ()) -> None:
    """Kill the leftover children of ended kernels: without a process namespace, Linux made us their parent."""
    while True:
        try:
            with open("/proc/thread-self/children") as file:
                children = {int(pid) for pid in file.read().split()} - set(spared)
        except OSError:
            return
        if not children:
            return
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                continue


def serve(control: socket.socket, view: dict[str, Any]) -> None:
    """Enter the private root, import the stack, rehearse, then answer requests until the manager is gone."""
    started = time.perf_counter()
    # with the freeze below, what Python's manual of `gc` advises before a fork; it saves 0.19 s of the imports too
    gc.disable()
    import isolation
    import seccomp

    if view["level"] == "namespaces":
        isolation.enter_root(view["mountpoint"], view["operations"])
    else:
        isolation.prctl(isolation.PR_SET_CHILD_SUBREAPER, 1)
    sys.path[:] = [path for path in view["path"] if os.path.isdir(path)]
    # finders remember what they saw in the root before
    sys.path_importer_cache.clear()
    os.chdir("/")
    if view["level"] != "namespaces":
        # the first three are the kernel's own code and the standard library
        sys.meta_path.insert(0, OnlyAllowed(view["modules"], view["path"][3:]))
    # a debugger listens on the network and would start threads here
    sys.modules["debugpy"] = None  # type: ignore[assignment]
    refused = preload(view["preload"])
    import app
    import clock  # noqa: F401  (a kernel would look for it after its seal)
    import mounted_library  # noqa: F401  (likewise)
    import rehearsal

    app.adapt()
    # 4.6 MB less a kernel that has worked (1.7 MB less when it is ready), 5 ms less of processor time until then.
    # The same cells by plain `exec`, without a kernel, leave 1.7 MB (2.3 MB) of that to each kernel.
    learned = rehearsal.rehearse(app)
    # built here and not in each kernel: 23 ms less until it is ready, 8.1 MB less memory
    app.prepare()
    private = view["level"] == "namespaces"
    filters = {
        grouped: seccomp.build(private, grouped=grouped) if seccomp.supported() else b""
        for grouped in (True, False)
    }
    server = Server(control, view, filters)
    # else the first collection in a kernel writes into every page: 73 MB more a kernel, and 0.18 s until it is ready
    gc.freeze()
    up = {
        "boot_s": round(time.perf_counter() - started, 3),
        "user_namespace": view["user_namespace"],
        "learned": len(learned),
        "not_imported": refused,
        "landlock": isolation.landlock_version(),
        "seccomp": bool(filters[True]),
    }
    control.send(json.dumps({"up": up}).encode())
    server.run()


class OnlyAllowed:
    """Hides installed packages outside the allowed set where no private root does, so that every level imports alike.

    A convenience, no wall: other packages start threads in the fork server, and a cell should not depend on the level.
    """

    def __init__(self, modules: Iterable[str], sites: Sequence[str]) -> None:
        self.modules = frozenset(modules)
        self.sites = sites

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse a top-level module that an unlisted distribution installed."""
        if path is None and name not in self.modules and name not in sys.stdlib_module_names:
            spec = importlib.machinery.PathFinder.find_spec(name, self.sites)
            if spec is not None:
                raise ModuleNotFoundError(f"No module named {name!r} in the sandbox", name=name)
        return None


def preload(names: Iterable[str]) -> dict[str, str]:
    """Import every module of `names`; return those that could not be imported, with the reason."""
    refused = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # an analysis package that is not installed is no reason to have no kernel
            refused[name] = repr(error)
    return refused


class Server:
    """The loop of the fork server."""

    def __init__(self, control: socket.socket, view: dict[str, Any], filters: Mapping[bool, bytes]) -> None:
        self.control = control
        self.view = view
        self.filters = filters
        self.kernels: set[int] = set()
        self.grants = []
        if view["level"] == "landlock":
            import isolation

            self.grants = sorted(set(isolation.grants_of(view["operations"])))
        self.home = (
            os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC) if view["level"] == "namespaces" else -1
        )
        self.wake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # a handler that does nothing: without one Python writes nothing into the wakeup descriptor
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.wakeup = wake
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[0])
        self.address_mb = pages * os.sysconf("SC_PAGE_SIZE") >> 20

    def run(self) -> None:
        """Answer requests until the manager closes its end."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wake, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self.wake:
                    os.read(self.wake, 4096)
                    self.reap()
                    continue
                try:
                    packet, descriptors, _, _ = socket.recv_fds(self.control, MAX_PACKET, 16)
                except ConnectionResetError:
                    # the manager ended with messages of ours unread; else its end is an empty packet
                    return
                if not packet:
                    return
                request = json.loads(packet)
                if request["op"] == "spawn":
                    self.spawn(request, descriptors)

    def send(self, message: dict[str, Any], descriptors: Iterable[int] = ()) -> None:
        """Send a message to the manager; `run` notices if it is gone."""
        try:
            socket.send_fds(self.control, [json.dumps(message).encode()], list(descriptors))
        except (BrokenPipeError, ConnectionResetError):
            return

    def reap(self) -> None:
        """Collect ended children and report their exit codes."""
        while True:
            try:
                # in a loop: one signal may stand for the ends of several children
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.kernels:
                self.kernels.discard(pid)
                if self.view["level"] != "namespaces":
                    kill_orphans(self.kernels)
                self.send({"exit": pid, "code": os.waitstatus_to_exitcode(status)})

    def spawn(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Fork one kernel and hand its pidfd back."""
        import isolation

        requested = time.perf_counter()
        threads = len(os.listdir("/proc/self/task"))
        if threads != 1:
            names = ", ".join(
                Path(f"/proc/self/task/{task}/comm").read_text().strip()
                for task in os.listdir("/proc/self/task")
            )
            self.send({"failed": request["id"], "error": f"the fork server has {threads} threads: {names}"})
            return
        own_processes = request["level"] == "namespaces"
        try:
            if own_processes:
                # Unsharing a process namespace moves only the children to come: the next one is its first process.
                # Without the way back below, the next kernel would be born into the namespace of this one.
                isolation.unshare(isolation.NEWPID, "process")
            pid = os.fork()
            if pid == 0:
                self.become_kernel(request, descriptors, requested)
            if own_processes:
                isolation.setns(self.home, isolation.NEWPID, "process")
            pidfd = os.pidfd_open(pid)
        except OSError as error:
            self.send({"failed": request["id"], "error": str(error)})
            return
        finally:
            for fd in descriptors:
                os.close(fd)
        self.kernels.add(pid)
        self.send({"spawned": request["id"], "pid": pid}, [pidfd])
        os.close(pidfd)

    def become_kernel(self, request: dict[str, Any], descriptors: list[int], requested: float) -> NoReturn:
        """Seal the child, build the kernel, report, and run. Never returns."""
        steps = [("forked", time.perf_counter() - requested)]
        code = 70
        notice = descriptors[5]
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            # with the control socket a cell could speak to the manager in the name of the fork server
            for fd in (self.wake, self.wakeup, self.home, self.control.detach()):
                if fd >= 0:
                    os.close(fd)
            os.setsid()
            os.umask(0o077)
            self.seal(request)
            steps.append(("sealed", time.perf_counter() - requested))
            import app

            channels = dict(zip(CHANNELS, descriptors[:5], strict=True))
            app.silence()
            api = descriptors[6] if request["api"] else None
            kernel = app.build(request["connection"], channels, api, lossless=request["lossless"])
            if request["library"]:
                import mounted_library

                mounted_library.mount(descriptors[-1])
            reseed(request["seed"])
            if request["clock"] is not None:
                import clock

                clock.freeze_at_first_cell(request["clock"], kernel.shell.events)
            steps.append(("built", time.perf_counter() - requested))
            os.write(notice, json.dumps({"ready": True, "steps": steps}).encode())
            os.close(notice)
            notice = -1
            gc.enable()
            kernel.start()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            # Not raised: above this frame is the fork server's code. All are taken, so that it fails closed: a layer of the seal that
            # could not be put on, whatever it raised, comes here before there is a cell, and the process ends below. A kernel that has
            # started has no way to log but its outputs, which died with it; its exit code (70) is what the manager sees.
            if notice >= 0:
                os.write(notice, json.dumps({"error": traceback.format_exc(limit=-6)[-3000:]}).encode())
        finally:
            os._exit(code)

    def seal(self, request: dict[str, Any]) -> None:
        """Apply the layers of the requested level, in the order that leaves each the rights it needs."""
        import isolation

        request["address_mb"] = request["memory_mb"] + self.address_mb + 384
        level = request["level"]
        home = isolation.HOME
        if level == "namespaces":
            isolation.seal_namespaces(request, self.view["user_namespace"])
            isolation.set_limits(request)
            writable = ["/tmp", "/dev/shm", "/dev/pts"]
            grants = [("/", "r"), *((path, "w") for path in writable), ("/proc/self", "w"), *_devices()]
            if isolation.landlock_version():
                isolation.restrict_files(grants)
            isolation.install_filter(self.filters[request["grouped"]])
        elif level == "landlock":
            import seccomp

            home = request["folder"]
            if request["uid"] is None:
                request["processes"] += isolation.processes_of_user()
            isolation.drop_rights(request["uid"])
            if os.getuid() == 0:
                # the files of root are many, and Landlock mediates neither their modes nor their times
                raise OSError("a kernel at level landlock needs a user id of its own, not root's")
            isolation.set_limits(request)
            process_folder = f"/proc/{os.getpid()}"
            isolation.restrict_files([*self.grants, (home, "w"), (process_folder, "w"), *_devices()])
            program = self.filters[request["grouped"]]
            isolation.install_filter(seccomp.for_process(program, os.getpid()))
        elif level != "none":
            raise OSError(f"unknown isolation level {level!r}")
        else:
            home = request["folder"]
            # the count of processes is the whole user's, so it cannot be limited for one kernel here
            isolation.set_limits({**request, "processes": 1 << 20})
        os.makedirs(home, exist_ok=True)
        os.chdir(home)
        os.environ.update({**request["env"], "HOME": home, "IPYTHONDIR": f"{home}/.ipython"})
        if level != "namespaces":
            os.environ.update({"TMPDIR": home, "MPLCONFIGDIR": f"{home}/matplotlib"})


def _devices() -> list[tuple[str, str]]:
    return [(f"/dev/{name}", "d") for name in ("null", "zero", "full", "random", "urandom", "ptmx", "tty")]


def reseed(seed: int) -> None:
    """Seed the random numbers of a kernel, so that a re-run of its cells draws the same.

    Also the generators that would ask the system for a seed: `numpy.random.default_rng()` and `RandomState()` without
    one draw theirs from a generator of our own.
    """
    import random

    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)
        numpy.random.bit_generator.randbits = random.Random(seed).getrandbits
