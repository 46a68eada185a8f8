"""Two commands on one home, as two processes: the second begins, or the first is killed, between any two steps of the first.

``python -m tests.fakes.two_processes FOLDER FIRST,COUNT`` prints a line of JSON for each schedule that went wrong, and the number
of schedules; with ``unguarded`` or ``by the clock`` instead of numbers it plays a removal beside a clean-up, or two imports, in a product
whose guard was taken off, which has to go wrong. In every third schedule the clocks of both commands jump by a year and more between two
looks. A process of its own, because it forks: no thread may be alive.
"""

import asyncio
import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.command_line import run_cli
from tests.fakes.asking_run import Provider, open_run, work
from tests.fakes.small_run import RUN, make_small_run
from workbench.annotations.entries import add_comment, sign_off
from workbench.audit.home_check import check_home
from workbench.engine.leaves.single_node import reopen_leaf
from workbench.engine.record.fold import load_state
from workbench.errors import WorkbenchError
from workbench.packages import package
from workbench.packages.export import export_run
from workbench.packages.package import import_package
from workbench.store import Store, database, removal
from workbench.synthesis.whatif.edits import SetValue
from workbench.whatif.saved_scenarios import SavedScenarios

STUDY = """
name: sim
exam: {simulator: {kind: logic, questions: 4, seed: 3}}
resamples: 100
arms: [market, random]
"""
QUESTIONS = "id,title,asked_on\na,VIX closes above 20 on 2018-12-31,2018-11-01\n"
LEAVES = 2
#: Exit codes of a command that did its work, or said in one line why not.
CLEAR = {0, 2, 3, 4, 6, -signal.SIGKILL}


def make_template(folder: Path) -> str:
    """Make what every schedule begins with: a run, one that only asks, and the packages of the first; return the second's id."""
    make_small_run(folder / "home")
    with closing(Store(folder / "home")) as store:
        add_comment(store, RUN, "P1", "why this?", author="Ann")
        (folder / "sent.zip").write_bytes(export_run(store, RUN, "zip")[0])
        asking = open_run(store)
        asyncio.run(work(store, asking, Provider(), leaves=LEAVES))
    with closing(Store(folder / "colleague")) as store:
        import_package(store, folder / "sent.zip")
        add_comment(store, RUN, "P2", "from a colleague", author="Bo")
        sign_off(store, RUN, author="Bo", verdict="return")
        (folder / "back.zip").write_bytes(export_run(store, RUN, "zip")[0])
    shutil.rmtree(folder / "colleague")
    (folder / "sim.yaml").write_text(STUDY)
    (folder / "q.csv").write_text(QUESTIONS)
    if (done := run_cli(folder, "questions", "import", "q.csv")).returncode:
        raise RuntimeError(done.stderr)
    return asking


def _cli(*words: str) -> Callable[[Path, str], int]:
    def run(folder: Path, asking: str) -> int:
        done = run_cli(folder, *words)
        if done.returncode == 1:
            (folder / f"bug-{words[0]}").write_text(done.stderr)
        return done.returncode

    return run


def _resume(folder: Path, asking: str) -> int:
    with closing(Store(folder / "home")) as store:
        state = asyncio.run(work(store, asking, Provider(), leaves=LEAVES))
        return 0 if state.finished else 3


def _reground(folder: Path, asking: str) -> int:
    with closing(Store(folder / "home")) as store:
        reopen_leaf(store, asking, "P1")
    return _resume(folder, asking)


def _edit(folder: Path, asking: str) -> int:
    SavedScenarios(folder / "home", RUN).hold(
        "mine", [SetValue(node="P1", p=0.9)], author="Ann", base_seq=None
    )
    return 0


#: What a person can do to a home, by its name.
COMMANDS: dict[str, Callable[[Path, str], int]] = {
    "rm": _cli("rm", RUN, "--yes"),
    "gc": _cli("gc"),
    "import": _cli("import", "sent.zip"),
    "review": _cli("import", "--review", "back.zip"),
    "resume": _resume,
    "reground": _reground,
    "edit": _edit,
    "comment": _cli("comment", RUN, "P1", "a late thought", "--author", "Cy"),
    "export": _cli("export", RUN, "-o", "out.zip"),
    "resolve": _cli("resolve", RUN, "yes", "--on", "2018-12-31"),
    "experiment": _cli("experiment", "run", "sim.yaml"),
    "tournament": _cli("tournament", "run", "q", "--plan-only", "--yes"),
}
PAIRS = list(itertools.product(COMMANDS, repeat=2))


def _steps(home: str, reached: Callable[[], None]) -> None:
    """Have ``reached`` called before every step of this process from here on: a change below the home, a transaction, its commit."""
    changing = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree"}

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if (event in changing and str(arguments[0]).startswith(home)) or (
            event == "open"
            and str(arguments[0]).startswith(home)
            and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        ):
            reached()

    sys.addaudithook(hook)
    transaction = Store.transaction

    @contextlib.contextmanager
    def stepped(self: Store) -> Iterator[sqlite3.Connection]:
        reached()
        with transaction(self) as db:
            reached()
            yield db
            reached()
        reached()

    Store.transaction = stepped  # type: ignore[method-assign,assignment]


def jump_clock(draw: random.Random) -> None:
    """Have every look of this process at its wall clock come out up to 400 days too early or too late."""
    true_time, true_now = time.time, database.utc_now

    def wrong_time() -> float:
        return true_time() + 86_400 * draw.choice((-400, -2, 0, 2, 400))

    def wrong_now() -> str:
        return (
            datetime.fromtimestamp(wrong_time(), UTC)
            .isoformat(timespec="microseconds")
            .replace("+00:00", "Z")
        )

    time.time = wrong_time
    for room in list(sys.modules.values()):
        if getattr(room, "utc_now", None) is true_now:
            room.utc_now = wrong_now  # type: ignore[attr-defined]


def _child(
    command: str,
    folder: Path,
    asking: str,
    reached: Callable[[], None] | None,
    clock: random.Random | None = None,
) -> int:
    """Begin a command in a process of its own and return its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        if clock is not None:
            jump_clock(clock)
        if reached is not None:
            _steps(str(folder / "home"), reached)
        code = COMMANDS[command](folder, asking)
    except (WorkbenchError, ValueError) as error:
        code = getattr(error, "exit_code", 1)
        if code == 1:
            (folder / f"bug-{command}").write_text(repr(error))
    except BaseException as error:
        (folder / f"bug-{command}").write_text(repr(error))
    finally:
        os._exit(code)


def _ended(pid: int, seconds: float | None = None) -> int | None:
    """The exit code of a process, minus the signal that ended it; None if it still runs after so many seconds."""
    end = time.monotonic() + (120 if seconds is None else seconds)
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    if seconds is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return 124
    return None


def take_guard_off() -> None:
    """Have it decided outside the write transaction whose a folder is, as before that was found to lose files."""
    guarded = removal.settle

    def bare(store: Store) -> int:
        transaction = Store.transaction
        Store.transaction = lambda _self: contextlib.nullcontext()  # type: ignore[method-assign,assignment,return-value]
        try:
            return guarded(store)
        finally:
            Store.transaction = transaction  # type: ignore[method-assign]

    removal.settle = bare


def sweep_by_the_clock() -> None:
    """Have an import remove the folder of another that a day has passed over, as before a clock was seen to jump."""

    def sweep(home: Path) -> None:
        for left in home.glob(".import-*"):
            if time.time() - left.stat().st_mtime > 86_400:
                shutil.rmtree(left, ignore_errors=True)

    package._sweep = sweep
    package._locked = lambda _descriptor, _how: True


class _Ahead(random.Random):
    """A clock that has been set forward by 400 days."""

    def choice(self, _days: Any) -> Any:
        return 400


def play(
    template: Path,
    folder: Path,
    asking: str,
    at: int,
    pair: tuple[str, str],
    kill: bool,
    clock: random.Random | None = None,
) -> dict[str, Any]:
    """Play one schedule and return what came of it; ``faults`` is empty if all is well."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    first, second = pair
    ready_in, ready_out = os.pipe()
    go_in, go_out = os.pipe()
    count = 0

    def reached() -> None:
        nonlocal count
        count += 1
        if count != at:
            return
        if kill:
            os.kill(os.getpid(), signal.SIGKILL)
        os.write(ready_out, b"x")
        os.read(go_in, 1)

    one = _child(first, folder, asking, reached, clock)
    two = None
    os.set_blocking(ready_in, False)
    code_one = code_two = None
    while code_one is None:
        code_one = _ended(one, 0.004)
        with contextlib.suppress(BlockingIOError):
            if os.read(ready_in, 1):
                two = _child(second, folder, asking, None, clock)
                code_two = _ended(two, 0.4)  # it may have to wait for the first one
                os.write(go_out, b"x")
    if two is None:  # killed, or it had fewer steps: the second comes after
        two = _child(second, folder, asking, None, clock)
    if code_two is None:
        code_two = _ended(two)
    for end in (ready_in, ready_out, go_in, go_out):
        os.close(end)
    faults = [
        f"{name}: exit {code}" for name, code in ((first, code_one), (second, code_two)) if code not in CLEAR
    ]
    faults += [f"{path.name}: {path.read_text()[-300:]}" for path in folder.glob("bug-*")]
    faults += _afterwards(folder, asking, {first: code_one, second: code_two})
    return {
        "pair": f"{first} {second}",
        "at": at,
        "kill": kill,
        "jumps": clock is not None,
        "codes": [code_one, code_two],
        "faults": faults,
    }


def _afterwards(folder: Path, asking: str, codes: dict[str, int | None]) -> list[str]:
    """What is wrong with the home, and what a command said that it did and did not."""
    done = {name for name, code in codes.items() if code == 0}
    faults = []
    with closing(Store(folder / "home")) as store:
        faults += [f"{fault.check}: {fault.what}" for fault in check_home(store)]
        there = RUN in store.run_ids()
        if "rm" in done and "import" not in codes and there:
            faults.append("rm said that it removed the run, and it is there")
        if "rm" not in codes and not there:
            faults.append("the run is gone and nobody removed it")
        if there and "rm" not in codes:
            said = load_state(store, RUN)
            texts = [each.text for each in said.annotations.comments]
            wanted = {"comment": "a late thought", "review": "from a colleague"}
            faults += [
                f"{name} said that it is kept, and it is not"
                for name, text in wanted.items()
                if name in done and text not in texts
            ]
            if "resolve" in done and said.annotations.outcome is None:
                faults.append("the outcome is lost")
            if "edit" in done and "mine" not in said.scenarios.scenarios:
                faults.append("the scenario is lost")
        if not load_state(store, asking).finished and not {"resume", "reground"} & set(codes):
            faults.append("the other run is not finished any more")
    if "export" in done:
        with closing(Store(folder / "elsewhere")) as other:
            try:
                import_package(other, folder / "out.zip")
            except WorkbenchError as error:
                faults.append(f"what was exported is refused: {error}")
    return faults


def schedules() -> Iterator[tuple[int, tuple[str, str], bool, random.Random | None]]:
    """The step, the pair, whether it is a kill, and what moves the clocks, of each schedule that the command line asks for."""
    if sys.argv[2] == "unguarded":
        take_guard_off()
        yield from ((at, ("rm", "gc"), False, None) for at in range(1, 13))
        return
    if sys.argv[2] == "by the clock":
        sweep_by_the_clock()
        yield from ((at, ("review", "import"), False, _Ahead()) for at in range(6, 40, 6))
        return
    first, count = map(int, sys.argv[2].split(","))
    for seed in range(first, first + count):
        schedule = random.Random(seed)
        kill = schedule.random() < 0.5
        at = schedule.choice((1, 2, 3, 5, 8, 12, 18, 27, 40, schedule.randrange(1, 120)))
        # 29 and 144 have no common factor: every pair comes once in 144
        yield at, PAIRS[seed * 29 % len(PAIRS)], kill, random.Random(-seed) if seed % 3 == 0 else None


def main() -> None:
    """Play the schedules that the words of the command line name."""
    folder, asked = Path(sys.argv[1]), list(schedules())
    asking = make_template(folder / "template")
    for at, pair, kill, clock in asked:
        outcome = play(folder / "template", folder / "home", asking, at, pair, kill, clock)
        if outcome["faults"]:
            print(json.dumps(outcome), flush=True)
    print(len(asked))


if __name__ == "__main__":
    main()
