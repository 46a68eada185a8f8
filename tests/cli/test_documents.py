"""The Python API and the command line give the same documents."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.command_line import run_cli
from tests.fakes.screens import RUN, make_run
from tests.fakes.small_run import RUN as SMALL_RUN
from tests.fakes.small_run import make_small_run
from workbench.blocking import run_blocking
from workbench.errors import UsageError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_run(tmp_path / "home")
    make_small_run(tmp_path / "home")
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    return tmp_path


VERBS: dict[str, tuple[tuple[str, ...], Callable[[], Any]]] = {
    "runs": (("runs",), lambda: wb.runs()),
    "show": (("show", RUN), lambda: wb.open_run(RUN).show()),
    "sensitivity report": (
        ("sensitivity", RUN, "--report", "--set", "seed=3"),
        lambda: wb.open_run(RUN).sensitivity_report(seed=3),
    ),
    "what-if": (
        ("whatif", RUN, "--set", "P3=0.1"),
        lambda: wb.open_run(RUN).what_if({"P3": 0.1}),
    ),
    "coherence": (("coherence", RUN, SMALL_RUN), lambda: wb.coherence(RUN, SMALL_RUN)),
    "decide": (("decide", RUN, "--threshold", "0.6"), lambda: wb.decide(RUN, threshold=0.6)),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_returns_what_the_command_prints(home: Path, verb: str) -> None:
    words, function = VERBS[verb]
    done = run_cli(home, *words, "--json")
    assert done.stdout, done.stderr
    assert json.loads(done.stdout) == json.loads(json.dumps(function()))


RULE = {"name": "linear", "intercept": 0.3, "weights": {"P1": 0.2, "P2": -0.1, "P3": 0.4}}
EDITS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "values": (("--set", "P3=0.1", "--set", "P1=0.9"), {"values": {"P3": 0.1, "P1": 0.9}}),
    "add": (("--add", "P2=Oil stays below 80"), {"add": [("P2", "Oil stays below 80")]}),
    "add for": (("--add", "P1, Positive=Oil stays low"), {"add": [("P1", "Oil stays low", "Positive")]}),
    "add against, with a weight and a value": (
        ("--add", "P2, Negative=Oil rises", "--weight", "P2.4=-0.2", "--set", "P2.4=0.9"),
        {"add": [("P2", "Oil rises", "negative")], "weights": {"P2.4": -0.2}, "values": {"P2.4": 0.9}},
    ),
    "remove": (("--remove", "P1.2", "--remove", "P3"), {"remove": ["P1.2", "P3"]}),
    "a lone node": (("--remove", "P1.2"), {"remove": "P1.2"}),
    "pin": (("--pin", "P2", "--set", "P2.1=0"), {"pin": ["P2"], "values": {"P2.1": 0}}),
    "unpin": (("--unpin", "P2"), {"unpin": ["P2"]}),
    "restate": (("--restate", "P3=The rate holds"), {"restate": {"P3": "The rate holds"}}),
    "same meaning": (
        ("--restate", "P3=The rate holds", "--same-meaning"),
        {"restate": {"P3": "The rate holds"}, "same_meaning": True},
    ),
    "weight": (("--weight", "P3=0.9", "--weight", "P2.2=0.1"), {"weights": {"P3": 0.9, "P2.2": 0.1}}),
    "rule": (("--rule", f"P0={json.dumps(RULE)}"), {"rules": {"P0": RULE}}),
    "rule and weight": (
        ("--rule", f"P0={json.dumps(RULE)}", "--weight", "P1=0.5"),
        {"rules": {"P0": RULE}, "weights": {"P1": 0.5}},
    ),
    "held": (
        ("--set", "P3=0.1", "--author", "Ann", "--set", "reason=a hunch", "--set", "expires=2099-01-01"),
        {"values": {"P3": 0.1}, "author": "Ann", "reason": "a hunch", "expires": "2099-01-01"},
    ),
}


def timeless(document: dict[str, Any]) -> dict[str, Any]:
    """The document without the instants at which somebody did something."""
    held = [{key: value for key, value in row.items() if key != "at"} for row in document["overrides"]]
    return {**{key: value for key, value in document.items() if key != "at"}, "overrides": held}


@pytest.mark.parametrize("kind", EDITS)
def test_every_kind_of_edit_gives_what_the_command_prints_saved_or_not(home: Path, kind: str) -> None:
    words, arguments = EDITS[kind]
    analysis = wb.open_run(RUN)
    printed, saved = (
        timeless(json.loads(run_cli(home, "whatif", RUN, *words, *more, "--json").stdout))
        for more in ((), ("--scenario", "shell", "--set", "rationale=r", "--set", "probability=0.2"))
    )
    kept = {"scenario": "python", "rationale": "r", "probability": 0.2}
    returned, again = (timeless(analysis.what_if(**arguments, **more)) for more in ({}, kept))
    assert printed == returned == saved == again
    assert printed["changed"]
    shell, python = map(timeless, analysis.scenarios()["scenarios"])
    assert {key for key in shell if shell[key] != python[key]} == {"name", "seq"}
    assert analysis.show() == wb.open_run(RUN).show() and wb.open_run(RUN).p == analysis.p


REFUSED: dict[str, tuple[tuple[str, ...], dict[str, Any], str]] = {
    "nothing": ((), {}, "no change was given"),
    "unknown node": (("--set", "P9=0.1"), {"values": {"P9": 0.1}}, "no driver 'P9'"),
    "value": (("--set", "P3=1.1"), {"values": {"P3": 1.1}}, "0"),
    "weight": (("--weight", "P3=1.1"), {"weights": {"P3": 1.1}}, "weight"),
    "no number": (("--weight", "P3=much"), {"weights": {"P3": "much"}}, "weight"),
    "weight of the root": (("--weight", "P0=0.1"), {"weights": {"P0": 0.1}}, "only drivers have one"),
    "weight without a say": (
        ("--rule", 'P0={"name": "average", "children": ["P1", "P2", "P3"]}', "--weight", "P1=0.1"),
        {"rules": {"P0": {"name": "average", "children": ["P1", "P2", "P3"]}}, "weights": {"P1": 0.1}},
        "the average rule of P0 gives P1 no weight",
    ),
    "rule of a leaf": (
        ("--rule", 'P3={"name": "vanilla"}'),
        {"rules": {"P3": {"name": "vanilla"}}},
        "no drivers below it",
    ),
    "rule without a formula": (
        ("--rule", 'P0={"name": "vanilla"}'),
        {"rules": {"P0": {"name": "vanilla"}}},
        "a vanilla rule has no formula",
    ),
    "rule that forgets a child": (
        ("--rule", 'P0={"name": "linear", "intercept": 0, "weights": {"P1": 1}}'),
        {"rules": {"P0": {"name": "linear", "intercept": 0, "weights": {"P1": 1}}}},
        "P2",
    ),
    "rule of nobody": (("--rule", 'P0={"name": "magic"}'), {"rules": {"P0": {"name": "magic"}}}, "magic"),
    "polarity": (
        ("--add", "P2, maybe=It rains"),
        {"add": [("P2", "It rains", "maybe")]},
        "Negative",
    ),
    "no statement": (("--add", "P2"), {"add": [("P2",)]}, "PARENT"),
    "nobody answers": (
        ("--set", "P3=0.1", "--set", "reason=why not"),
        {"values": {"P3": 0.1}, "reason": "why not"},
        "author",
    ),
    "the claim removed": (("--remove", "P0"), {"remove": ["P0"]}, "cannot be removed"),
    "over already": (
        ("--set", "P3=0.1", "--set", "expires=2000-01-01", "--author", "Ann"),
        {"values": {"P3": 0.1}, "expires": "2000-01-01", "author": "Ann"},
        "lies in the past",
    ),
    "name": (("--set", "P3=0.1", "--scenario", "base"), {"values": {"P3": 0.1}, "scenario": "base"}, "base"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_an_edit_that_cannot_be_made_is_refused_by_both_in_one_line(home: Path, why: str) -> None:
    words, arguments, line = REFUSED[why]
    done = run_cli(home, "whatif", RUN, *words)
    assert done.returncode == 2 and done.stdout == "" and line in done.stderr
    assert done.stderr.count("\n") == 1
    with pytest.raises(UsageError) as refusal:
        wb.open_run(RUN).what_if(**arguments)
    assert line in str(refusal.value) and "\n" not in str(refusal.value)
    assert wb.open_run(RUN).scenarios()["scenarios"] == []


def test_an_export_goes_by_the_suffix_and_comes_back(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = wb.open_run(RUN)
    printed = run_cli(home, "export", RUN, "--to", "csv")
    assert analysis.export(home / "run.csv").read_bytes() == printed.stdout.encode()
    with pytest.raises(UsageError, match=r"no export to 'odt': name the file \.html, .*, or give to="):
        analysis.export(home / "run.odt")
    with pytest.raises(UsageError, match="a normaliser is one of"):
        analysis.export(home / "run.bif", project=True, normalise="loudly")
    assert not (home / "run.odt").exists() and not (home / "run.bif").exists()
    small = wb.open_run(SMALL_RUN)
    package = small.export(home / "run.zip")
    monkeypatch.setenv("WORKBENCH_HOME", str(home / "other"))
    assert wb.import_run(package).p == small.p
    assert [row["imported"] is not None for row in wb.runs()] == [True]


# --- waiting for asynchronous work ---------------------------------------------------------------------------------


async def test_a_plain_call_inside_a_running_loop_says_what_to_write(home: Path) -> None:
    with pytest.raises(UsageError, match=r"write await wb\.analyze\(\.\.\.\)") as refusal:
        wb.analyze_sync("It rains", cutoff="2018-06-30")
    assert "\n" not in str(refusal.value)


def test_a_plain_script_analyzes_without_await(home: Path) -> None:
    analysis = wb.analyze_sync(
        "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
        cutoff="2018-06-30",
        plan_only=True,
        quiet=True,
    )
    assert analysis.p is None and len(analysis.show()["nodes"]) > 6
    assert wb.open_run("last").run_id == analysis.run_id


def test_an_interrupt_cancels_the_work_and_waits_for_its_end() -> None:
    ended = threading.Event()

    async def work() -> None:
        # a real signal: one that is only noted would be seen when the sleep is over
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_blocking(work())
    assert ended.is_set()
