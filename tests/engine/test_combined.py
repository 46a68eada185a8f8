"""What stands above the proofs follows from them: leaves count as their trials concluded, nodes as their rules give."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.engine.test_signatures import in_log
from tests.fakes.small_run import RUN, make_small_run
from workbench.engine.leaves.aggregation import Aggregation
from workbench.engine.proof_check import combined_faults
from workbench.engine.record.fold import load_state
from workbench.store import Store
from workbench.store import events as ev

#: What is changed in the log, the node of the difference, and its kind.
CHANGES = {
    "a leaf's number": ("leaf.pooled", "$.p", 0.9, "P1", "pooled"),
    "a leaf's trials": ("leaf.pooled", "$.trials", "[0.9]", "P1", "pooled"),
    "a leaf's words": ("leaf.pooled", "$.key_factor", "'another'", "P1", "pooled"),
    "a node's number": ("node.synthesized", "$.p", 0.9, "P0", "rule"),
    "the number at the end": ("run.finished", "$.p", 0.9, "P0", "root"),
}


def verified(place: Path, *words: str) -> tuple[int, dict[str, Any]]:
    done = run_cli(place, "verify", RUN, *words, "--json")
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("change", CHANGES)
def test_a_number_above_the_proofs_that_was_changed_is_found_by_verify_and_audit(
    change: str, tmp_path: Path
) -> None:
    kind, path, value, node, check = CHANGES[change]
    make_small_run(tmp_path / "home")
    assert run_cli(tmp_path, "audit", RUN).returncode == 0
    written = f"json({value!r})" if path == "$.trials" else value
    place = f"kind = '{kind}' AND coalesce(node, '{node}') = '{node}'"
    in_log(tmp_path, f"UPDATE events SET data = json_set(data, '{path}', {written}) WHERE {place}")
    code, document = verified(tmp_path)
    assert code == 6 and document["isolation"] is None, "no cell of it is run"
    assert {"node": node, "check": check} in [
        {name: row[name] for name in ("node", "check")} for row in document["differing"]
    ]
    assert run_cli(tmp_path, "audit", RUN).returncode == 6


def test_of_one_leaf_its_own_differences_count(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    in_log(
        tmp_path,
        "UPDATE events SET data = json_set(data, '$.p', 0.9) WHERE kind = 'leaf.pooled' AND node = 'P1'",
    )
    assert verified(tmp_path, "P1")[0] == 6
    assert verified(tmp_path, "P2")[0] == 0


@pytest.mark.parametrize("concluded", [{1: 0.2, 2: 0.6, 3: 0.7}, {1: 0.2, 3: 0.7}], ids=["all", "one dead"])
def test_several_trials_count_as_their_logit_mean_and_a_dead_one_is_left_out(
    concluded: dict[int, float], tmp_path: Path
) -> None:
    run = "20180101-000000-feed"
    make_small_run(tmp_path, run)
    store = Store(tmp_path)
    try:
        common: dict[str, Any] = {"node": "P1", "key_factor": "it holds", "report": store.put_body("Said.")}
        counts: dict[str, Any] = {
            "steps": 1,
            "failed_cells": 0,
            "evidence": ev.EvidenceRecord(kind="notebook"),
        }
        for trial, p in concluded.items():
            store.append(run, ev.LeafStarted(node="P1", trial=trial, attempt=1))
            store.append(run, ev.LeafGrounded(trial=trial, attempt=1, p=p, **common, **counts))
        values = list(concluded.values())
        for p, faults in (
            (Aggregation().combine(values), []),
            (Aggregation().combine(values) + 1e-6, ["P1"]),
        ):
            store.append(run, ev.LeafPooled(p=p, trials=tuple(values), dead=3 - len(values), **common))
            differing = combined_faults(store, load_state(store, run))
            assert [item.node for item in differing if item.check == "pooled"] == faults
    finally:
        store.close()
