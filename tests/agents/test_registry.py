"""Agents by name, and settings out of range."""

from typing import Any

import pytest

from workbench.agents import registry
from workbench.agents.base import AgentSettings
from workbench.agents.errors import BadSetting, UnknownAgent
from workbench.errors import UsageError


def test_built_in_agents_are_known_by_name() -> None:
    settings = AgentSettings(max_leaves=3)
    assert "notebook" in registry.agent_names(registry.GROUNDERS)
    assert "rounds" in registry.agent_names(registry.ANALYZERS)
    assert "linear" in registry.agent_names(registry.SYNTHESIZERS)
    assert registry.open_analyzer("rounds", settings).settings is settings  # type: ignore[attr-defined]
    assert registry.open_grounder() is not None
    assert registry.open_synthesizer() is not None


@pytest.mark.parametrize(
    ("opener", "known"),
    [
        (registry.open_analyzer, "no analyzer named 'guess'; there are rounds"),
        (registry.open_grounder, "no grounder named 'guess'; there are auto, belief, "),
        (registry.open_synthesizer, "no synthesizer named 'guess'; there are average, linear"),
    ],
)
def test_an_unknown_name_lists_the_known_ones(opener: Any, known: str) -> None:
    with pytest.raises(UnknownAgent) as caught:
        opener("guess")
    assert str(caught.value).startswith(known)
    assert isinstance(caught.value, UsageError)


@pytest.mark.parametrize(
    "bad",
    [
        {"max_leaves": 0},
        {"max_proof_steps": 0},
        {"debug_max_retries": -1},
        {"max_exception_retry": -1},
        {"abs_intercept_max": 1.5},
        {"stated_p_tolerance": -0.1},
        {"stated_p_tolerance": float("nan")},
    ],
)
def test_settings_out_of_range_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadSetting, match=next(iter(bad))):
        AgentSettings(**bad)


@pytest.mark.parametrize("typed", ["deep-research", "tree_of_thoughts", "zero_shot"])
def test_a_name_typed_with_the_other_sign_is_told_the_right_one(typed: str) -> None:
    meant = typed.translate(str.maketrans("-_", "_-"))
    with pytest.raises(UnknownAgent, match=rf"did you mean {meant}\?"):
        registry.open_grounder(typed)
