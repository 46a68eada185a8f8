"""Stored settings are read as they were written or refused in one line, and a statement is checked before a run is opened for it."""

import math
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from workbench.agents.base import AgentSettings
from workbench.engine.new_run import check_statement, new_run
from workbench.engine.run_settings import RunSettings
from workbench.errors import UsageError
from workbench.propositions.values import MAX_STATEMENT
from workbench.store import Store

SETTINGS = st.builds(
    RunSettings,
    model=st.text(max_size=20),
    api_base=st.none() | st.just("http://127.0.0.1:1/v1"),
    depth=st.integers(1, 5),
    leaf_target=st.none() | st.integers(1, 100),
    trials=st.integers(1, 9),
    budget_usd=st.none() | st.floats(0.01, 100),
    isolation=st.sampled_from([None, "namespaces", "landlock", "none"]),
    strict=st.booleans(),
    agent=st.builds(
        AgentSettings, max_leaves=st.integers(1, 40), temperature=st.none() | st.floats(0, 2), require_pa=st.booleans()
    ),
    options=st.dictionaries(
        st.sampled_from(["analyzer", "grounder", "synthesizer"]), st.dictionaries(st.text(max_size=5), st.integers(-(2**63), 2**63))
    ),
)  # fmt: skip


@given(SETTINGS)
def test_settings_come_back_as_they_were_stored(settings: RunSettings) -> None:
    assert RunSettings.from_json(orjson.loads(orjson.dumps(settings.to_json()))) == settings


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"depht": 2}, "depht"),
        ({"trials": "5"}, "trials"),
        ({"trials": True}, "trials"),
        ({"trials": 1.5}, "trials"),
        ({"strict": "yes"}, "strict"),
        ({"strict": 1}, "strict"),
        ({"budget_usd": math.nan}, "budget_usd"),
        ({"budget_usd": math.inf}, "budget_usd"),
        ({"budget_usd": -1.0}, "budget_usd"),
        ({"isolation": "full"}, "isolation"),
        ({"agent": None}, "agent"),
        ({"agent": {"max_leafs": 3}}, "max_leafs"),
        ({"agent": {"temperature": math.nan}}, "temperature"),
        ({"agent": {"max_leaves": 0}}, "max_leaves"),
        ({"options": {"broker": {}}}, "broker"),
    ],
)
def test_a_setting_that_is_none_is_one_line_that_names_it(change: dict[str, Any], named: str) -> None:
    stored = replace(RunSettings()).to_json()
    with pytest.raises(UsageError, match=named) as refused:
        RunSettings.from_json(stored | change)
    assert "\n" not in str(refused.value)


def test_a_statement_of_six_hundred_characters_is_taken_and_one_more_is_not(tmp_path: Path) -> None:
    assert check_statement("x" * 600) == "x" * 600
    with pytest.raises(UsageError, match="has 601 characters, at most 600 are allowed: state one claim"):
        check_statement("x" * 601)
    store = Store(tmp_path)
    try:
        with pytest.raises(UsageError):
            new_run(store, "x" * (MAX_STATEMENT + 1), Cutoff.parse("2018-06-30"), RunSettings())
        assert list(store.run_ids()) == []
    finally:
        store.close()


def test_two_runs_that_draw_one_token_in_one_second_are_two_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = iter(["aaaa"] * 5 + ["bbbb"])
    monkeypatch.setattr(
        "secrets.token_hex", lambda size, draw=secrets.token_hex: next(tokens) if size == 2 else draw(size)
    )
    with Store(tmp_path / "home") as store:
        runs = [new_run(store, "It rains", Cutoff.parse("2018-06-30"), RunSettings()) for _ in range(2)]
        assert len(set(runs)) == 2 and set(store.run_ids()) == set(runs)
