"""A run whose model may know the outcome says so on every screen, and no other run does."""

from pathlib import Path

import pytest

from proxies.asof.clock import Cutoff
from tests.fakes.small_run import RUN, make_small_run
from workbench.audit.run_audit import audit_run
from workbench.engine.hindsight import hindsight
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import RunSettings
from workbench.models.training_ends import cutoff_table, training_cutoff
from workbench.reports.note_page import report_html
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import view
from workbench.views.wording import run_lines

BEFORE, AFTER = Cutoff.parse("2018-06-30"), Cutoff.parse("2026-01-15")


@pytest.mark.parametrize(
    ("model", "cutoff", "words"),
    [
        ("openai/gpt-4o", BEFORE, "trained on texts up to 2023-10-31"),
        ("openai/gpt-4o", AFTER, None),
        ("openrouter/anthropic/claude-3-5-sonnet", BEFORE, "2024-04-30"),
        ("openai/nobody-knows", AFTER, "is unknown"),
        ("openai/nobody-knows", Cutoff.parse("now"), None),
        ("offline/analyst", BEFORE, None),
    ],
)
def test_a_model_trained_after_the_cutoff_or_nobody_knows_when_is_warned_of(
    model: str, cutoff: Cutoff, words: str | None
) -> None:
    lines = hindsight(RunSettings(model=model), cutoff)
    assert [words in line for line in lines] == [True] if words else not lines


def test_models_of_roles_and_of_the_chain_are_warned_of_too() -> None:
    settings = RunSettings(models={"grounder": "openai/gpt-4o"}, fallback=["openai/o3"])
    assert len(hindsight(settings, BEFORE)) == 2


def test_every_screen_says_it(tmp_path: Path) -> None:
    make_small_run(tmp_path)
    store = Store(tmp_path)
    try:
        quiet = view(store, RUN)
        assert not any("HINDSIGHT" in line for line in run_lines(quiet))
        assert quiet.document()["hindsight"] == []
        store.append(RUN, ev.RunChanged(changes={"model": "openai/gpt-4o"}))
        run = view(store, RUN)
        assert any("HINDSIGHT" in line for line in run_lines(run))
        (line,) = run.document()["hindsight"]
        assert "HINDSIGHT: openai/gpt-4o" in line
        assert "HINDSIGHT" in report_html(store, load_state(store, RUN))
        checks = {check["name"]: check for check in audit_run(store, RUN)["checks"]}
        assert checks["hindsight"]["verdict"] == "warn"
    finally:
        store.close()


def test_every_row_of_the_table_has_a_source_and_a_date_that_can_be_read() -> None:
    for row in cutoff_table():
        assert row["source"].strip()
        if row["cutoff"] != "never":
            name = row["match"].replace("*[Ll]lama", "llama").replace("*", "x")
            assert training_cutoff(name) is not None
