"""Rules other than linear, through the command line against the fake server: stated values, and no model at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from tests.net.trees import PLAN, SP500

pytestmark = pytest.mark.long

#: The tree alone: tests/cli/test_pooled_claim.py has the direct forecasts beside it.
ANALYZE = ("analyze", SP500, "--cutoff", "2018-06-30", "--model", "openai/x", "--json")


def quick() -> Policy:
    return Policy(plan=PLAN, steps=1, fetch="print(40 + 2)", p={"P1.1": 0.9, "P1.2": 0.7, "P2": 0.2})


def asked(home: Path, *arguments: str) -> Any:
    done = run_cli(home, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_a_vanilla_node_turns_stale_until_the_model_is_asked_again(tmp_path: Path) -> None:
    with OpenAIServer(quick()) as server:
        document, _ = asked(tmp_path, *ANALYZE, "--api-base", server.url, "--rule", "vanilla")
        assert document["root"]["p"] == pytest.approx((0.8 + 0.2) / 2)
        seen = len(server.asked)
        stale, said = asked(tmp_path, "whatif", "last", "--set", "P1.1=0.1", "--json")
        assert stale["after"] is None and stale["stale"] == ["P0", "P1"] and stale["model_calls"] == 0
        assert "--full" in said and len(server.asked) == seen
        full, said = asked(
            tmp_path, "whatif", "last", "--set", "P1.1=0.1", "--full", "--scenario", "cold", "--json"
        )
        assert [(one.stage, one.node) for one in server.asked[seen:]] == [
            ("vanilla", "P1"),
            ("vanilla", "P0"),
        ]
        # The price comes first, as far as anybody knows it.
        assert said.startswith("asking openai/x for P1, P0: 2 calls") and "price unknown" in said
        assert full["after"] == pytest.approx((0.4 + 0.2) / 2) and full["model_calls"] == 2
        seen = len(server.asked)
        table, _ = asked(tmp_path, "scenarios", "last", "--json")
        assert table["scenarios"][0]["root"] == full["after"] and table["scenarios"][0]["stale"] == []
        spread, _ = asked(tmp_path, "refit", "last", "--node", "P1", "--k", "2", "--json")
        assert len(server.asked) == seen + 2 == seen + spread["model_calls"]
        assert spread["nodes"][0]["value"] == {
            "mean": 0.8,
            "sd": 0.0,
            "low": 0.8,
            "high": 0.8,
            "flips": False,
        }


def test_the_offline_analyst_takes_the_rules_that_need_no_model(tmp_path: Path) -> None:
    for rule, code in (("average", 0), ("random", 0), ("logic", 2)):
        done = run_cli(
            tmp_path, "analyze", SP500, "--cutoff", "2018-06-30", "--rule", rule, "--plan-only", "--json"
        )
        assert done.returncode == code, done.stderr
    assert "its rule one of linear, vanilla, average, random" in done.stderr
