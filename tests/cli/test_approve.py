"""``workbench approve``, the questions at a terminal, and refusals where nobody could answer."""

import asyncio
import json
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.approving_run import open_approving_run
from workbench.cli.common import can_answer
from workbench.cli.run import terminal_answers
from workbench.cli.run.terminal_answers import TerminalAnswers
from workbench.engine.approvals import check_answerable, undecided_steps
from workbench.engine.new_run import change_run
from workbench.engine.ownership import own_run
from workbench.engine.record.fold import load_state
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import view

HOSTILE = "own/a\n\x1b]0;owned\x07\u202e{}  # " + "x" * 5000
CLAIM = ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "--cutoff", "2018-06-30")


def ask(store: Store, run_id: str, text: str) -> None:
    store.append(
        run_id, ev.ApprovalAsked(node="P0", trial=1, attempt=1, what="call", subject=store.put_body(text))
    )


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, str]:
    with closing(Store(tmp_path / "home")) as store:
        run_id = open_approving_run(store)
        ask(store, run_id, HOSTILE)
        return tmp_path, run_id


def decisions(home: Path, run_id: str) -> list[Any]:
    with closing(Store(home)) as store:
        return [stored.event for stored in store.events(run_id, kinds=("approval.given",))]


def test_a_waiting_step_is_listed_whole_and_cannot_steer_the_terminal(run: tuple[Path, str]) -> None:
    place, run_id = run
    done = run_cli(place, "approve", run_id)
    assert done.returncode == 0 and not set(done.stdout) & set("\x1b\x07\u202e")
    assert "call of P0, trial 1, attempt 1" in done.stdout and "x" * 5000 in done.stdout
    document = json.loads(run_cli(place, "approve", run_id, "--json").stdout)
    assert document["waiting"][0]["text"] == HOSTILE
    with closing(Store(place / "home")) as store, own_run(store.folder(run_id)):  # as its own process does
        shown = view(store, run_id).document()
    assert shown["state"] == "waiting" and "waiting for approval of a call of P0" in shown["reason"]


def test_yes_and_no_are_put_on_record_with_their_author(run: tuple[Path, str]) -> None:
    place, run_id = run
    for number, words in enumerate([["--yes"], ["--no", "it reads too much"]]):
        with closing(Store(place / "home")) as store:
            if number:
                ask(store, run_id, f"call {number}")
            (step,) = undecided_steps(store, load_state(store, run_id))
        done = run_cli(place, "approve", run_id, step.name, *words, "--set", "author=Ann")
        assert done.returncode == 0 and "by Ann, is on record" in done.stderr
    given = decisions(place / "home", run_id)
    assert [(each.verdict, each.reason, each.author) for each in given] == [
        ("yes", "", "Ann"),
        ("no", "it reads too much", "Ann"),
    ]
    assert "no step" in run_cli(place, "approve", run_id).stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--yes"], "needs the step it is for"),
        (["P0.1-00000000", "--yes"], "waits for approval; waiting: P0.1-"),
        (["P0.1-00000000"], "either --yes or --no REASON"),
        (["P0.1-00000000", "--yes", "--no", "x"], "either --yes"),
    ],
)
def test_what_cannot_be_decided_is_one_line(run: tuple[Path, str], words: list[str], line: str) -> None:
    place, run_id = run
    done = run_cli(place, "approve", run_id, *words)
    assert done.returncode == 2 and line in done.stderr and done.stderr.count("\n") == 1
    assert not decisions(place / "home", run_id)


def test_without_a_terminal_or_a_page_a_run_that_would_wait_is_refused(tmp_path: Path) -> None:
    for words in (["--approve", "pages"], ["--approve", "calls", "--detach"]):
        done = run_cli(tmp_path, "analyze", *CLAIM, *words)
        assert done.returncode == 2 and "waits for a person" in done.stderr
    assert run_cli(tmp_path, "analyze", *CLAIM, "--approve", "cells").returncode == 2
    assert run_cli(tmp_path, "runs", "--json").stdout.strip() == "[]"


def test_a_run_that_was_opened_to_wait_can_go_on_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Store(tmp_path / "home")) as store:
        run_id = open_approving_run(store)
    assert "waits for a person" in run_cli(tmp_path, "resume", run_id).stderr
    with closing(Store(tmp_path / "home")) as store:
        change_run(store, run_id, {"approve": "none"})  # resume --approve none
        check_answerable(load_state(store, run_id).settings, answered=False)
    assert not can_answer()
    monkeypatch.setenv("WORKBENCH_APPROVALS", "log")  # so the page and --detach start it
    assert can_answer()


@pytest.mark.parametrize(
    ("typed", "verdict", "reason"),
    [
        ("yes\n", "yes", ""),
        ("y\n", "yes", ""),
        ("what?\nno\nno it reads too much\n", "no", "it reads too much"),
    ],
)
async def test_at_a_terminal_the_person_is_shown_the_step_and_asked_until_the_answer_is_one(
    run: tuple[Path, str],
    typed: str,
    verdict: str,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place, run_id = run
    ours, theirs = os.openpty()
    monkeypatch.setattr(terminal_answers, "person", lambda: "Ann")
    with closing(Store(place / "home")) as store, os.fdopen(theirs) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        answers = TerminalAnswers(store)
        asking = asyncio.create_task(answers.work())
        stored = store.events(run_id)[-1]
        answers.listen(load_state(store, run_id), stored)
        os.write(ours, typed.encode())
        while not decisions(place / "home", run_id):
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    os.close(ours)
    (given,) = decisions(place / "home", run_id)
    assert (given.verdict, given.reason, given.author) == (verdict, reason, "Ann")
    shown = capsys.readouterr().err
    assert "own/a" in shown and "x" * 5000 in shown and not set(shown) & set("\x1b\x07\u202e")


async def test_when_nobody_types_any_more_the_step_goes_on_waiting(
    run: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place, run_id = run
    ours, theirs = os.pipe()
    os.close(theirs)
    with closing(Store(place / "home")) as store, os.fdopen(ours) as closed:
        monkeypatch.setattr(sys, "stdin", closed)
        answers = TerminalAnswers(store)
        answers.listen(load_state(store, run_id), store.events(run_id)[-1])
        await answers.work()
    assert f"workbench approve {run_id}" in capsys.readouterr().err
    assert not decisions(place / "home", run_id)
