"""Starts a program of ours behind the seal of a kernel: for what speaks with strangers and needs neither keys nor files.

It has an empty environment, sees the interpreter and the packages it is given, and can open no connection: what it may
speak on are descriptors of its starter.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.kernels.folders import run_folder
from sandbox.kernels.forkserver import CLEAN_ENVIRONMENT
from sandbox.kernels.users import next_user
from sandbox.kernels.view import build_view, kernel_folder

#: More than a program needs that passes messages on; bytes of memory it can address, in MB.
_LIMITS = {"disk_mb": 16, "address_mb": 6000, "cpu_seconds": 10**9, "processes": 256, "open_files": 1024}


def start_sealed(
    module: str,
    options: Mapping[str, Any],
    *,
    level: str,
    packages: Sequence[str],
    folders: Sequence[Path],
    descriptors: Sequence[int],
    stderr: int,
) -> subprocess.Popen[bytes]:
    """Start a module of ours, sealed at a level, and return its guard, which ends it with this process.

    Parameters
    ----------
    module : str
        Has ``prepare(options)``, called before the seal, and ``run(prepared)``, called behind it.
    packages : sequence of str
        Installed distributions that it may import, beside the standard library.
    folders : sequence of Path
        Packages of ours that it may import: they are seen at their place, read-only.
    descriptors : sequence of int
        Stay open in it under the same numbers.
    """
    view = build_view(tuple(packages))
    request = {
        **_LIMITS,
        "level": level,
        "module": module,
        "options": dict(options),
        "mountpoint": str(run_folder() / "root"),
        "operations": [*view.operations, *(("bind", str(folder), str(folder)) for folder in folders)],
        "path": [str(kernel_folder()), *view.path[1:], *dict.fromkeys(str(each.parent) for each in folders)],
        "uid": next_user() if os.geteuid() == 0 and level != "none" else None,
    }
    reader, writer = os.pipe()
    manager = os.pidfd_open(os.getpid())
    try:
        process = subprocess.Popen(
            [
                sys.executable,
                "-s",
                "-P",
                "-B",
                str(kernel_folder() / "program.py"),
                str(reader),
                str(manager),
            ],
            env=CLEAN_ENVIRONMENT,
            cwd="/",
            pass_fds=(reader, manager, *descriptors),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,  # Ctrl-C in a terminal is ours
        )
    finally:
        os.close(manager)
        os.close(reader)
    with open(writer, "w") as pipe:
        json.dump(request, pipe)
    return process
