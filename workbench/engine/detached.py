"""Runs in processes of their own: started, planned and ended from a screen, which may close meanwhile.

The command line and the page start runs only through this, so a run never depends on who looks at it.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proxies.atomic import private_folder
from workbench.engine.ownership import owner_of
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import UsageError
from workbench.propositions import NodeId
from workbench.questions.errors import ClaimRefused
from workbench.store import Store
from workbench.store.home_folder import require_writable

#: Seconds in which a detached process must have taken its run.
_TAKES_IN = 60.0
#: Seconds in which a run that was told to stop must have ended its kernels.
_ENDS_IN = 120.0
#: Seconds that a plan may take: one or a few requests to a model.
_PLANS_IN = 600.0
#: Seconds after its start within which a command still waits for a record.
RECORD_SECONDS = 20.0
#: By how much everything else of a run goes before its record.
_AFTER_THE_TREE = 10
#: Tells a process that its questions (``--approve``) are answered through the log.
ANSWERED_ELSEWHERE = {"WORKBENCH_APPROVALS": "log"}
#: The first line of a command that opens a run.
_OPENED = re.compile(r"^run (\S+)  ", re.MULTILINE)
_COMMAND = (sys.executable, "-m", "workbench.cli.main")


@dataclass(frozen=True, slots=True, kw_only=True)
class Detached:
    """A process that was started for a run.

    ``exit_code`` is None while it works; ``line`` is the last line that it printed before it ended early.
    """

    pid: int
    exit_code: int | None = None
    line: str = ""
    in_time: bool = True

    def require_running(self) -> None:
        """Raise ``UsageError`` with the line of a process that ended at once."""
        if self.exit_code:
            raise UsageError(self.line.removeprefix("workbench: ") or "the run ended at once")


def resume_detached(
    store: Store,
    run_id: str,
    *,
    isolation: str | None = None,
    workers: WorkerPlace | None = None,
    leaves: Sequence[NodeId] = (),
    rebuy: bool = False,
) -> Detached:
    """Start a process that goes on with a run, or with these leaves of it, and return when it has taken the run or ended.

    ``rebuy`` as of ``Engine.work``.

    It is its own session, so neither a closed terminal nor Ctrl-C here reaches it. What it would print is in ``run.log``.
    """
    require_writable(store.home)
    folder = store.folder(run_id)
    private_folder(folder)
    words = [*_COMMAND, "resume", run_id]
    if isolation is not None:
        words += ["--isolation", isolation]
    if workers is not None:
        words += workers.words()
    for leaf in leaves:
        words += ["--leaf", leaf]
    if rebuy:
        words.append("--yes")
    log = folder / "run.log"
    # Whoever starts it is a person at a terminal or a page, and answers what it asks through the log (`approve`).
    pid = _spawn(words, log, _environ(store.home))
    for _ in _looks(_TAKES_IN):
        owner = owner_of(folder)
        if owner is not None and owner.pid == pid:
            return Detached(pid=pid)
        if (code := _exit_code(pid)) is not None:
            return Detached(pid=pid, exit_code=code, line=_last_line(log.read_text(errors="replace")))
    return Detached(pid=pid, in_time=False)


def _environ(home: Path) -> dict[str, str]:
    return {**os.environ, "WORKBENCH_HOME": str(home), **ANSWERED_ELSEWHERE}


def _looks(seconds: float, pause: float = 0.05) -> Iterator[None]:
    """Yield at once, and then after each pause until so many seconds have passed."""
    patience = time.monotonic() + seconds
    while True:
        yield
        if time.monotonic() > patience:
            return
        time.sleep(pause)


def _exit_code(pid: int) -> int | None:
    """The exit code of a process of ours; None while it works."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def _spawn(words: list[str], log: Path, environ: dict[str, str]) -> int:
    # Not subprocess.Popen, which wants its process waited for: this one is to outlive us.
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
    ]
    return os.posix_spawn(words[0], words, environ, file_actions=actions, setsid=True)


def record_beside(store: Store, run_id: str) -> int | None:
    """Start a process that measures the record of a run's claim while its tree is grounded, and return its number.

    None where the run has none (another model than the key-free analyst, whose past forecasts cannot be made again), or where
    ``WORKBENCH_RECORD=off``. It goes on if this process ends: what it measures is kept for every screen.
    """
    if os.environ.get("WORKBENCH_RECORD") == "off" or no_record(load_state(store, run_id)):
        return None
    words = [*_COMMAND, "show", run_id, "--record", "--json"]
    pid = _spawn(words, Path(os.devnull), {**os.environ, "WORKBENCH_HOME": str(store.home)})
    # What it and its processes import takes both cores for seconds, at the very time when the tree is planned.
    os.setpriority(os.PRIO_PROCESS, pid, min(os.getpriority(os.PRIO_PROCESS, 0) + _AFTER_THE_TREE, 19))
    return pid


def wait_for_record(pid: int | None, seconds: float) -> None:
    """Wait until the process of `record_beside` has ended, no longer than so many seconds."""
    for _ in _looks(seconds):
        if pid is None or _exit_code(pid) is not None:
            return


def has_record(state: RunState) -> bool:
    """Whether a run is one that may have a record: by the key-free analyst, at a dated cutoff."""
    return state.settings.model == "offline/analyst" and not state.parsed_cutoff().live


def no_record(state: RunState) -> str:
    """Return why no forecast of a run's claim at a past cutoff can be made again; "" where one can."""
    if not has_record(state):
        return (
            "only the key-free analyst's forecasts at a dated cutoff can be made again at past ones: this run is of "
            f"{state.settings.model}, cutoff {state.cutoff}"
        )
    return _untold(state.statement)


@cache
def _untold(statement: str) -> str:
    # the numerics, which most commands do without
    from workbench.questions.grammar import read_claim
    from workbench.questions.series.series_registry import source_of_rows
    from workbench.questions.series.value_states import untold

    try:
        sources = read_claim(statement).going_on().sources
    except ClaimRefused:  # by another version
        return ""
    return next(filter(None, (untold(source_of_rows(name)) for name in sources)), "")


def plan_elsewhere(home: Path, statement: str, cutoff: str, options: Sequence[str] = ()) -> str:
    """Break a claim into its tree in another process, ground nothing, and return the id of the planned run.

    ``options`` are further words of ``workbench analyze``, such as ``--model NAME``.

    Raises `UsageError`: The claim, the cutoff or an option is refused, or the plan failed; the message is the command's own line.
    """
    require_writable(home)
    # The claim after "--": a statement that begins with a dash is no option.
    words = [*_COMMAND, "analyze", "--cutoff", cutoff, *options, "--plan-only", "--json", "--", statement]
    try:
        ended = subprocess.run(
            words,
            env=_environ(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PLANS_IN,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"no plan after {_PLANS_IN:.0f} s: ask again, or another model") from None
    if ended.returncode == 0:
        return str(json.loads(ended.stdout)["run_id"])
    last = _last_line(ended.stderr) or f"the plan ended with exit code {ended.returncode}"
    raise UsageError(last.removeprefix("workbench: "))


def start_elsewhere(home: Path, statement: str, cutoff: str, options: Sequence[str] = ()) -> str:
    """Start the whole analysis of a claim in another process and return its run as soon as that is open.

    The process goes on with tree and evidence, whoever looks at it. ``options`` as of `plan_elsewhere`.

    Raises `UsageError`: The claim, the cutoff or an option is refused; the message is the command's own line.
    """
    require_writable(home)
    words = [*_COMMAND, "analyze", "--cutoff", cutoff, *options, "--json", "--", statement]
    private_folder(home)
    with tempfile.NamedTemporaryFile(dir=home, prefix=".starting-") as log:
        pid = _spawn(words, Path(log.name), _environ(home))
        for _ in _looks(_TAKES_IN):
            code = _exit_code(pid)
            text = Path(log.name).read_text(errors="replace")
            if opened := _OPENED.search(text):
                return opened[1]
            if code is not None:
                last = _last_line(text) or f"it ended with exit code {code}"
                raise UsageError(last.removeprefix("workbench: "))
        os.kill(pid, signal.SIGTERM)
        raise UsageError(f"no run was opened in {_TAKES_IN:.0f} s")


def stop_run(store: Store, run_id: str) -> bool:
    """End the process that works on a run and return when it has; False if nobody works on it.

    Raises `UsageError`: It works on another machine, is not ours to stop, or has not ended in two minutes.
    """
    require_writable(store.home)
    folder = store.folder(run_id)
    owner = owner_of(folder)
    if owner is None:
        return False
    if owner.pid is None or owner.host != socket.gethostname():
        raise UsageError(f"run {run_id} is running: {owner.line()}; stop the run on that machine")
    try:
        # The lock is held, so the number is that of a living process and not of a later one.
        os.kill(owner.pid, signal.SIGTERM)
    except ProcessLookupError:
        return True
    except PermissionError:
        raise UsageError(
            f"run {run_id} is running: {owner.line()}, and only its user can stop that process"
        ) from None
    # One that ends takes its name out of the file before it lets go of the lock, and so has no number for a moment.
    for _ in _looks(_ENDS_IN, 0.1):
        now = owner_of(folder)
        if now is None or now.pid not in (owner.pid, None):
            return True
    raise UsageError(f"{owner.line()} was asked to stop and is still running after {_ENDS_IN:.0f} s")
