"""A program of ours behind the seal of a kernel: it reads what it needs, is sealed for good, and goes on with open pipes.

``program.py REQUEST_FD MANAGER_PIDFD``; `sandbox.sealed_program` starts it. The module that the request names has
``prepare(options)``, called while files can be read, and ``run(prepared)``, called behind the seal. Whatever the sealed
process becomes, its guard, this one, ends it with its manager.
"""

import importlib
import json
import os
import select
import signal
import sys
from typing import Any, NoReturn


def main(request: dict[str, Any], manager: int) -> int:
    """Prepare and seal a child, and wait until it or the manager ends; return the child's exit code."""
    import isolation

    sys.path[:] = request["path"]
    module = importlib.import_module(request["module"])
    prepared = module.prepare(request["options"])
    request["user_namespace"] = request["level"] == "namespaces" and isolation.leave_host(request)
    own = os.pidfd_open(os.getpid())
    pid = os.fork()
    if pid == 0:
        _become(request, own, manager, module, prepared)
    child = os.pidfd_open(pid)
    ready, _, _ = select.select([child, manager], [], [])
    if child not in ready:
        signal.pidfd_send_signal(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF


def _become(request: dict[str, Any], guard: int, manager: int, module: Any, prepared: Any) -> NoReturn:
    code = 1
    try:
        _seal(request)
        if select.select([guard], [], [], 0)[0]:
            os._exit(1)  # the guard was gone before the seal asked to be told
        os.close(guard)
        os.close(manager)
        module.run(prepared)
        code = 0
    except BaseException as error:  # the line is for the log; above this frame is the guard's code
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def _seal(request: dict[str, Any]) -> None:
    import isolation
    import seccomp

    level = request["level"]
    # a page of the packages that are loaded behind the seal is read-only; its folder must be the program's own
    if level == "namespaces":
        isolation.enter_root(request["mountpoint"], request["operations"])
        filter_code = seccomp.build()
        isolation.seal_namespaces(request, request["user_namespace"])
        isolation.set_limits(request)
        if isolation.landlock_version():
            isolation.restrict_files([("/", "r"), ("/tmp", "w"), ("/dev/null", "d"), ("/dev/urandom", "d")])
        isolation.install_filter(filter_code)
    elif level == "landlock":
        grants = list(isolation.grants_of(request["operations"]))
        if request["uid"] is None:
            request["processes"] += isolation.processes_of_user()
        isolation.drop_rights(request["uid"])
        if os.getuid() == 0:
            raise OSError("a program at level landlock needs a user id of its own, not root's")
        isolation.set_limits(request)
        own = f"/proc/{os.getpid()}"
        isolation.restrict_files([*grants, (own, "r"), ("/dev/null", "d"), ("/dev/urandom", "d")])
        isolation.install_filter(seccomp.for_process(seccomp.build(private_root=False), os.getpid()))
    elif level != "none":
        raise OSError(f"unknown isolation level {level!r}")
    else:
        isolation.set_limits({**request, "processes": 1 << 20})
    sys.path_importer_cache.clear()  # finders remember what they saw in the root before


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    with open(int(sys.argv[1])) as pipe:
        sys.exit(main(json.load(pipe), int(sys.argv[2])))
