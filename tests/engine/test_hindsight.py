"""A run whose model may know the outcome says so on every screen, and no other run does."""

import pytest

from proxies.asof.clock import Cutoff
from workbench.engine.hindsight import hindsight
from workbench.engine.run_settings import RunSettings

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
