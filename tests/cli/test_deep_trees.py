"""Analytica^n and leaf-target scaling: one tree, right ids, whatever each analysis called its own nodes."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.model_policy import Policy, analysis_block
from tests.fakes.openai_server import OpenAIServer

pytestmark = pytest.mark.long

STATEMENT = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
RUN = ("analyze", STATEMENT, "--cutoff", "2018-06-30", "--model", "openai/x", "--json")


@dataclass(slots=True, kw_only=True)
class Splitting(Policy):
    """Breaks any root into propositions of its own, named after it; refuses those that are split twice."""

    width: int = 8

    def _analyze(self, asked: Any) -> dict[str, Any]:
        root = re.findall(r"^ *- P0: (.+)$", asked.last, re.MULTILINE)[0]
        if "P1:" in asked.last or root.count(" part ") >= 2:
            return {"role": "assistant", "content": "<END_OF_ANALYSIS>"}
        children = {f"P{k}": (f"{root} part {k}", "Positive") for k in range(1, self.width + 1)}
        return {"role": "assistant", "content": analysis_block({"P0": children})}


def leaves(document: dict[str, Any]) -> list[str]:
    parents = {node["parent"] for node in document["nodes"]}
    return [node["id"] for node in document["nodes"] if node["id"] not in parents]


def check_ids(document: dict[str, Any]) -> None:
    for node in document["nodes"]:
        head, _, _ = node["id"].rpartition(".")
        assert node["parent"] == (None if node["id"] == "P0" else head or "P0")
    statements = {node["id"]: node["statement"] for node in document["nodes"]}
    assert statements["P3.2"] == f"{STATEMENT} part 3 part 2"


@pytest.mark.parametrize("width", [3, pytest.param(8, marks=pytest.mark.soak)])
def test_a_run_of_depth_two_grounds_the_leaves_of_every_analysis_in_one_tree(
    tmp_path: Path, width: int
) -> None:
    policy = Splitting(width=width, steps=1, fetch="print(40 + 2)")
    with OpenAIServer(policy) as server:
        done = run_cli(tmp_path, *RUN, "--api-base", server.url, "--depth", "2")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["status"] == "done"
    assert len(leaves(document)) == document["n_leaves"] == width**2
    check_ids(document)
    # Every analysis saw its own root and no other proposition of the tree.
    for asked in server.by_stage("analyze"):
        roots = set(re.findall(r"^ *- P0: (.+)$", asked.everything, re.MULTILINE))
        assert len(roots) == 1
