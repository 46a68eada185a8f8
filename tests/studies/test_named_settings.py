"""``--set`` reaches the arms of a study and of a round, the run of a claim, and a run that goes on."""

from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.screens import RUN, make_run
from workbench.engine.named_settings import read_settings
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.operations.base import Home
from workbench.operations.forecasting import rules_with
from workbench.operations.rounds import RunRound
from workbench.store import Store
from workbench.studies.arms.run_arms import with_settings
from workbench.studies.rounds.round_state import RoundRules, arms_of
from workbench.studies.study_file import ArmSpec, StudySpec


def rules_of(*settings: str, **fields: Any) -> tuple[RoundRules, float | None]:
    request = RunRound.read({"name": "q", "contexts": "none", "settings": [*settings], **fields})
    rules, budget, _ = request.planned(Home(environ={}, folder=Path()))
    return rules, budget


def test_a_round_takes_settings_by_name() -> None:
    named = ("depth=2", "grounder=zero-shot", "timeout=5", "budget_usd=3", "max_leaves=4")
    rules, budget = rules_of(*named, "trials=2")
    assert (rules.trials, budget, rules.tree) == (2, 3.0, {"kind": "zero-shot", "depth": 2})
    arms = arms_of(rules)
    assert {arm.base.timeout for arm in arms.values()} == {5.0} and arms["tree"].base.agent.max_leaves == 4
    assert rules_of(*named, trials=5)[0].trials == 5
    with pytest.raises(UsageError, match="set twice"):
        rules_of(*named, "trials=2", trials=5)


def test_questions_are_forecast_again_with_other_settings() -> None:
    rules, _ = rules_of()
    changed = rules_with(rules, read_settings(["trials=2", "timeout=5"]))
    assert (changed.trials, changed.settings["timeout"], changed.quick) == (2, 5, rules.quick)
    assert rules_with(rules, {}) == rules
    with pytest.raises(UsageError, match="not of the synthesizer"):
        rules_with(rules, read_settings(["synthesizer.semantics=strict"]))


def test_a_study_takes_settings_by_name_and_is_another_study_then() -> None:
    arms = (
        ArmSpec(name="a", kind="zero-shot", settings={"model": "openai/x"}),
        ArmSpec(name="b", kind="always-half"),
    )
    spec = StudySpec(name="s", exam=({"set": "q"},), arms=arms)
    changed = with_settings(spec, read_settings(["timeout=5", "grounder.form=brief", "budget_usd=3"]))
    assert changed.arms[0].settings == {"model": "openai/x", "timeout": 5, "options": {"form": "brief"}}
    assert changed.arms[1] == arms[1] and changed.budget_usd == 3
    assert changed.digest != spec.digest and with_settings(spec, {}) == spec


@pytest.mark.long
def test_a_claim_takes_settings_by_name(tmp_path: Path) -> None:
    claim = (
        "analyze",
        "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
        "--cutoff",
        "2018-06-30",
        "--plan-only",
    )
    done = run_cli(
        tmp_path, *claim, "--set", "trials=2", "--set", "aggregation.pool=median", "--set", "synthesizer.semantics=strict",
        "--preset", "analytica-paper", "--set", "temperature=null",
        "--set", "max_steps=7", "--set", "horizon=within a year", "--set", "prices.openai/x=1,2", "--yes",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    store = Store(tmp_path / "home")
    (run_id,) = store.run_ids()
    settings = load_state(store, run_id).settings
    store.close()
    assert (settings.trials, settings.aggregation.pool, settings.agent.max_proof_steps) == (2, "median", 7)
    assert settings.agent.temperature is None and settings.preset == "analytica-paper"
    assert settings.options == {"synthesizer": {"semantics": "strict"}} and settings.prices == {
        "openai/x": [1, 2]
    }
    assert settings.context.horizon == "within a year"
    assert "keeps its depth" in run_cli(tmp_path, "resume", run_id, "--set", "depth=2").stderr
    twice = run_cli(tmp_path, *claim, "--trials", "2", "--set", "trials=3")
    assert twice.returncode == 2 and "set twice" in twice.stderr


@pytest.mark.long
def test_a_leaf_is_not_reopened_where_a_setting_is_refused(tmp_path: Path) -> None:
    make_run(tmp_path / "home")
    before = run_cli(tmp_path, "show", RUN, "--json").stdout
    for words, line in (
        (("--set", "depth=2"), "keeps its depth"),
        (("--set", "isolation=best"), "one of namespaces, landlock, none"),
    ):
        done = run_cli(tmp_path, "reground", RUN, "P3", *words)
        assert done.returncode == 2 and line in done.stderr
    assert run_cli(tmp_path, "show", RUN, "--json").stdout == before
