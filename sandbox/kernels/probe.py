"""Find the isolation levels of this machine by sealing a throw-away process, never by reading settings.

Settings mislead: a container may allow a namespace and refuse the mount inside it.
"""

import functools
import json
import os
import subprocess
import sys

from proxies.json_text import Row
from sandbox.kernels.folders import run_folder
from sandbox.kernels.forkserver import CLEAN_ENVIRONMENT
from sandbox.kernels.users import next_user
from sandbox.kernels.view import build_view, kernel_folder
from sandbox.limits.cgroups import memory_bound
from sandbox.types import IsolationReport

_SEALED = ("namespaces", "landlock")
_SECONDS = 20


def probe_machine() -> IsolationReport:
    """Try every level; ``none`` always works and is never chosen by default."""
    available: list[str] = []
    refused: list[str] = []
    layers: dict[str, tuple[str, ...]] = {"none": ()}
    for level in _SEALED:
        report = try_level(level)
        if report["ok"]:
            available.append(level)
            layers[level] = tuple(report["layers"])
        else:
            refused.append(f"{level}: {report['error']}")
    available.append("none")
    return IsolationReport(
        level=available[0],
        available=tuple(available),
        refused=tuple(refused),
        layers=layers[available[0]],
        memory=memory_bound(),
    )


@functools.cache
def probed() -> IsolationReport:
    """Return the report of this process; the machine is tried once."""
    return probe_machine()


def _needs_of_own_user() -> Row:
    """Return the probe's input: as root a kernel becomes another user, who must read interpreter and folder."""
    if os.geteuid() != 0:
        return {}
    return {"uid": next_user(), "read": build_view().sources(), "pass": str(run_folder().parent)}


def try_level(level: str) -> Row:
    """Seal a process at `level` and return ``{"ok": True, "layers"}`` or ``{"ok": False, "error"}``."""
    if sys.platform != "linux":
        return {"ok": False, "error": f"{sys.platform} offers none of the means; Linux does"}
    command = [sys.executable, "-s", "-P", "-B", str(kernel_folder() / "probe.py"), level]
    try:
        done = subprocess.run(
            [*command, str(run_folder() / "root")],
            env=CLEAN_ENVIRONMENT,
            cwd="/",
            input=json.dumps(_needs_of_own_user() if level == "landlock" else {}),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            start_new_session=True,
        )
        report = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"ok": False, "error": f"no answer in {_SECONDS} s"}
    except ValueError:
        words = done.stderr.strip().splitlines()
        return {"ok": False, "error": words[-1] if words else f"the probe ended with {done.returncode}"}
    return report if isinstance(report, dict) else {"ok": False, "error": "no report"}
