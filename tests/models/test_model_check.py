"""``make model-check``: its command line, the cut to two leaves, and what it says of runs that came to an end or did not."""

import subprocess
from pathlib import Path

from benchmarks.real_models import check
from tests.fakes.persona_run import run
from workbench.propositions import Polarity, Tree

ROOT = Path(__file__).resolve().parents[2]


def command(**variables: str) -> str:
    words = ["make", "-n", "-C", str(ROOT), "model-check", *(f"{k}={v}" for k, v in variables.items())]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_model_and_its_server_are_handed_on_and_a_file_needs_the_extra() -> None:
    remote = command(MODEL="openai/x", API_BASE="http://127.0.0.1:8/v1")
    assert "--model openai/x --api-base http://127.0.0.1:8/v1" in remote
    assert "local-model" not in remote
    assert "--model-file x.gguf" in command(MODEL_FILE="x.gguf")


def test_two_leaves_are_left_of_any_tree() -> None:
    statements = {f"P{n}": f"The VIX closes above {n} on 2018-12-31" for n in range(1, 5)}
    tree = Tree.root_only("A claim").expand(
        "P0", statements, dict.fromkeys(statements, Polarity.POSITIVE), "c"
    )
    below = {"P1.1": "The VIX closes above 40 on 2018-11-30"}
    tree = tree.expand("P1", below, {"P1.1": Polarity.POSITIVE}, "c")
    assert check.first_leaves(tree).leaves() == ("P1", "P2")


async def test_the_verdict_names_the_cause_of_each_leaf_that_does_not_conclude(tmp_path: Path) -> None:
    _, state, _ = await run("good", tmp_path / "good")
    assert list(check.verdict(state, ""))[-1].startswith("verdict: a whole run, p = 0.348")
    _, state, _ = await run("refusetext", tmp_path / "refusing")
    lines = list(check.verdict(state, "P1 and P2 failed"))
    assert lines[0].startswith("P1: no conclusion: the model's conclude reply stayed unusable")
    assert lines[-1] == "verdict: 0 of 2 leaves concluded, no probability of the claim. P1 and P2 failed"
