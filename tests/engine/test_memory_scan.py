"""Later facts that a model writes out of its own memory: by rule, against what it was shown."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from tests.agents.grounder_cases import CASES, SUBMIT
from tests.command_line import run_cli, run_json
from tests.fakes.loop_run import ExaOnLoopback, ScriptedModel, calls, open_run, work
from workbench.audit.memory_scan import late_sentences
from workbench.store import Store

CUTOFF = Cutoff.parse("2018-06-30")


@pytest.mark.parametrize(
    ("text", "shown", "whose"),
    [
        # a figure, or a day, that nothing shown holds
        ("It closed at 2,507 on December 31, 2018.", "higher on December 31, 2018?", [True]),
        ("Payrolls rose again on September 7, 2018.", "Will they?", [True]),
        # both were shown: the source leaked, not the model
        ("It closed at 2,507 on December 31, 2018.", "... 2,507 on december 31, 2018 ...", [False]),
        # early, and merely ahead
        ("It closed at 2,718 on June 29, 2018.", "", []),
        ("The committee will meet on September 26, 2018, and nobody knows.", "", []),
        ("", "", []),
    ],
)
def test_a_late_sentence_is_the_model_s_own_unless_all_of_it_was_shown(
    text: str, shown: str, whose: list[bool]
) -> None:
    assert [own for _, own in late_sentences(text, shown.lower(), CUTOFF)] == whose


async def _searched(home: Path, reasoning: str) -> str:
    script = {
        "act": [CASES["search"].script["act"][0], calls(("submit", {**SUBMIT, "reasoning": reasoning}))]
    }
    store = Store(home / "home", durable=False)
    run_id = open_run(store)
    with ExaOnLoopback() as web:
        await work(store, run_id, ScriptedModel(script), CASES["search"].make(), web)
    store.close()
    return run_id


def searched(home: Path, reasoning: str) -> str:
    return asyncio.run(_searched(home, reasoning))


def test_leaves_are_counted_with_intervals(tmp_path: Path) -> None:
    late = searched(tmp_path, "It closed at 2,507 on December 31, 2018, so it holds [S1.1].")
    early = searched(tmp_path, "The committee waits [S1.1].")
    done = run_json(tmp_path, "leaks", late, early, "--memory")
    document: Any = done
    assert (document["leaves"], document["late"], document["rate"]) == (2, 1, 0.5)
    assert document["wilson"][0] < 0.5 < document["wilson"][1] and document["over_runs"] is None
    (row,) = document["sentences"]
    assert row["run_id"] == late and row["own"] and "2,507" in row["sentence"]
    shown = run_cli(tmp_path, "leaks", early, "--memory")
    assert "0 of 1 drivers" in shown.stdout
    assert run_cli(tmp_path, "leaks", late, "--memory", "--model", "openai/x").returncode == 2
