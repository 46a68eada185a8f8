"""Every door from a finished run to a model: in two worlds that differ after the cutoff alone a logging server gets the same bytes.

The later world has what people put on the run afterwards, a later run beside it, and edits of later in the run's own words (which a
run of an earlier version has on record uncut). Doors of a run that begins are in tests/engine/test_asked_text.py, of grounders in
tests/agents/test_grounder_contract.py, of studies, rounds and forecasts in tests/studies, of MCP clients in tests/mcp.
"""

import json
import os
import shlex
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from proxies.asof import later_text
from tests.command_line import cli_environment, run_cli
from tests.fakes import screens
from tests.fakes.later_record import put_on_record
from tests.fakes.model_policy import Policy, fenced, understand
from tests.fakes.openai_server import answered
from tests.fakes.screens import RUN, Shell, agreed, asked
from tests.fakes.small_run import make_small_run
from tests.fakes.upstream import Seen, Sent, Upstream
from workbench.agents.judges import DIMENSIONS
from workbench.api import open_run
from workbench.engine import detached
from workbench.engine.run_settings import with_preset
from workbench.magics import load_ipython_extension
from workbench.synthesis import tree_from_json
from workbench.views.run_view import load_run
from workbench.widgets.home_page import Home, list_runs
from workbench.widgets.run_page import Dashboard

KNOWN = "The index rose in 2017."
LATER = " Update 2018-12-31: it fell."
#: Into a statement nothing but a remark can be written.
REPORT = "The series was read up to the cutoff and its half-year windows were counted one by one. The cells compute"
REMARK = " [Edited on December 31, 2018: it fell]"
EDITED = (
    "S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
    "closes 2018-12-31 above its close of 2017-12-29",
)


def served(seen: Seen) -> Sent:
    return answered(seen, lambda last: reply(seen.body, last))


def reply(body: dict[str, Any], last: str) -> str:
    if '"recognized_event"' in last:
        return fenced({"recognized_event": False, "recalled_outcome": None, "probability": 0.5})
    if '"scores"' in last:
        return fenced({"scores": dict.fromkeys(DIMENSIONS, 3), "reasons": {}})
    if '"verdict"' in last:
        return fenced({"texts": []})  # no usable verdict is one, too: unsure
    if '"key_point"' in last and '"leaves"' in last:
        return "It may fall.\n\n" + fenced({"key_point": "It may.", "leaves": {"P1.1": 0.4}})
    return str(Policy().answer(understand(body))["content"])


@pytest.fixture
def server() -> Iterator[Upstream]:
    with Upstream(served) as upstream:
        yield upstream


def world(folder: Path, server: Upstream, *, later: bool, uncut: bool = True, grounder: str = "") -> Path:
    """A home with a finished run of a model behind the server; ``uncut``, its own words have the edits of later."""
    home = folder / "home"
    home.mkdir(parents=True)
    (home / "quote.key").write_text("6f" * 16)  # so that both homes make the same marks
    edited = later and uncut
    settings = with_preset(
        "product",
        model="openai/x",
        api_base=f"{server.url}/v1",
        background=KNOWN + LATER * edited,
        rule="linear",
        **({"grounder": grounder} if grounder else {}),  # one that needs no kernel
    )
    text = json.dumps(screens.demo_tree().to_json()).replace("The cells compute", REPORT)
    for words in EDITED:
        assert words in text
        text = text.replace(words, words + REMARK * edited)
    tree = tree_from_json(json.loads(text))
    screens.make_run(home, settings=settings, tree=tree)
    if later:
        put_on_record(home, RUN)
        make_small_run(home, "20190630-120000-beef", cutoff="2018-12-31")
    return folder


@contextmanager
def at_home(folder: Path) -> Iterator[None]:
    """The environment in which `workbench` and a notebook find the home."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [*os.environ]:
            patch.delenv(name)
        for name, value in cli_environment(folder, OPENAI_API_KEY="none").items():
            patch.setenv(name, value)
        yield


def command_line(*words: str) -> Callable[[Path], None]:
    def door(folder: Path) -> None:
        done = run_cli(folder, *words, OPENAI_API_KEY="none")
        assert done.returncode in (0, 6), done.stderr

    return door


def magic(folder: Path) -> None:
    shell = Shell()
    load_ipython_extension(shell)
    with at_home(folder):
        shell.magics["run_of"](RUN)
        shell.magics["whatif"]("P2.1=0 --full")


def python(folder: Path) -> None:
    with at_home(folder):
        analysis = open_run(RUN)
        analysis.what_if({"P2.1": 0.0}, full=True)
        analysis.refit(k=2, node=["P2", "P0"])


def page(folder: Path) -> None:
    with at_home(folder):
        board = Dashboard(load_run(folder / "home", RUN))
        board.session.edit("P2.1", "0")
        form = board.side_panels.resynthesis
        asked(form)
        assert "keep this as draft?" in agreed(form)
        assert "calls" in asked(board.side_panels.refitting)
        assert agreed(board.side_panels.refitting) == ""


@contextmanager
def processes_in_this_one(folder: Path) -> Iterator[None]:
    """What a page starts in processes of their own is run here, by the same words: there the control would not reach it."""

    run: Callable[..., CompletedProcess[str]] = subprocess.run

    def started(words: list[str], **more: Any) -> CompletedProcess[str]:
        if words[1:3] != ["-m", "workbench.cli.main"]:
            return run(words, **more)
        return run_cli(folder, *words[3:], OPENAI_API_KEY="none")

    def spawned(words: list[str], log: Path, environ: dict[str, str]) -> int:
        if threading.current_thread() is threading.main_thread():
            done = started(words)
        else:  # of a form, whose thread the command line cannot have
            done = run(words, env=environ, capture_output=True, text=True)
        log.write_text(done.stderr)
        return os.posix_spawn("/bin/sh", ["sh", "-c", f"exit {done.returncode}"], {})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", started)
        patch.setattr(detached, "_spawn", spawned)
        yield


def page_again(folder: Path) -> None:
    with at_home(folder), processes_in_this_one(folder):
        board = Dashboard(load_run(folder / "home", RUN))
        board.tree.selected = "P1.1"
        form = board.side_panels.regrounding.again
        asked(form)
        said = agreed(form)
        board.poller.stop()
        assert 'role="alert"' not in said, said


DOORS: dict[str, Callable[[Path], None]] = {
    "judge": command_line("judge", RUN, "--model", "openai/y"),
    "recall": command_line("judge", RUN, "--recall"),
    "leak audit": command_line("leaks", RUN, "--model", "openai/claude-second"),
    "red team": command_line("redteam", RUN, "--yes"),
    "python": python,
    "jupyter kernel": magic,
    "page": page,
}  # fmt: skip
#: Through which a run goes on.
GOING_ON: dict[str, Callable[[Path], None]] = {
    "reground": command_line("reground", RUN, "P1.1", "--full", "--yes"),
    "page": page_again,
}


def heard(door: str, folder: Path, server: Upstream, *, later: bool) -> list[str]:
    """The dialogues that the server was sent through a door, as text."""
    world(folder, server, later=later)
    before = len(server.seen)
    DOORS[door](folder)
    return sorted(json.dumps(seen.body["messages"]) for seen in server.seen[before:] if seen.body)


@pytest.mark.parametrize("door", DOORS)
def test_a_model_hears_the_same_whatever_came_after_the_cutoff(
    door: str, tmp_path: Path, server: Upstream
) -> None:
    plain = heard(door, tmp_path / "plain", server, later=False)
    assert plain and heard(door, tmp_path / "later", server, later=True) == plain
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(later_text._Reader, "spans", lambda self: [])
        assert heard(door, tmp_path / "uncut", server, later=True) != plain, (
            "the control hears the difference"
        )


def stated(folder: Path, server: Upstream, *, later: bool) -> list[str]:
    """What a claim in a cell of a notebook sends, stated with a background and criteria that went on being edited."""
    folder.mkdir()
    line = f"--cutoff 2018-06-30 --model openai/x --set api_base={server.url}/v1 --set analyzer=single --set grounder=zero-shot"
    line += f' --set "background={KNOWN}{LATER * later}" --set "criteria=Yes if it is higher.{LATER * later}"'
    shell, before = Shell(), len(server.seen)
    load_ipython_extension(shell)
    with at_home(folder):
        shell.magics["proposition"](line, screens.STATEMENT + REMARK * later)
    return sorted(json.dumps(seen.body["messages"]) for seen in server.seen[before:] if seen.body)


def went_on(door: str, folder: Path, server: Upstream, *, later: bool, uncut: bool = False) -> list[str]:
    """The dialogues of a run that goes on through a door."""
    world(folder, server, later=later, uncut=uncut, grounder="zero-shot")
    before = len(server.seen)
    GOING_ON[door](folder)
    return sorted(json.dumps(seen.body["messages"]) for seen in server.seen[before:] if seen.body)


@pytest.mark.parametrize("door", GOING_ON)
def test_a_run_that_goes_on_says_nothing_of_what_came_after_the_cutoff(
    door: str, tmp_path: Path, server: Upstream
) -> None:
    plain = went_on(door, tmp_path / "plain", server, later=False)
    assert plain and went_on(door, tmp_path / "later", server, later=True) == plain
    before = len(server.seen)
    with pytest.raises(AssertionError, match="written after its cutoff"):
        went_on(door, tmp_path / "uncut", server, later=True, uncut=True)
    assert len(server.seen) == before


def planned(folder: Path, server: Upstream, *, later: bool) -> list[str]:
    """What the clicks of the first page send that plan a claim and then collect its evidence."""
    folder.mkdir()
    home, before = folder / "home", len(server.seen)
    with at_home(folder), processes_in_this_one(folder):
        first = Home(home, environ={"OPENAI_API_KEY": "none"})
        first.poller.stop()
        first.cutoff.value, first.model.value = "2018-06-30", "openai/x"
        first.claim.value = screens.STATEMENT + REMARK * later
        first.settings.value = shlex.join(
            [
                f"api_base={server.url}/v1",
                "grounder=zero-shot",
                f"background={KNOWN}{LATER * later}",
                f"criteria=Yes if it is higher.{LATER * later}",
            ]
        )
        first.plan.click()
        (run,) = [row["run_id"] for row in list_runs(home)]
        shown = Dashboard(load_run(home, run))
        shown.poller.stop()
        shown.working.ground.click()
        assert load_run(home, run).tree.root.p is not None
    return sorted(json.dumps(seen.body["messages"]) for seen in server.seen[before:] if seen.body)


def test_a_claim_of_the_page_is_planned_and_judged_in_words_of_before_the_cutoff(
    tmp_path: Path, server: Upstream
) -> None:
    plain = planned(tmp_path / "plain", server, later=False)
    assert len(plain) > 2 and any("Yes if it is higher" in sent for sent in plain)
    assert planned(tmp_path / "later", server, later=True) == plain
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(later_text._Reader, "spans", lambda self: [])
        assert planned(tmp_path / "uncut", server, later=True) != plain


def test_a_claim_of_a_notebook_is_asked_in_words_of_before_the_cutoff(
    tmp_path: Path, server: Upstream
) -> None:
    plain = stated(tmp_path / "plain", server, later=False)
    assert plain and KNOWN in plain[0] and stated(tmp_path / "later", server, later=True) == plain
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(later_text._Reader, "spans", lambda self: [])
        assert stated(tmp_path / "uncut", server, later=True) != plain
