"""What was changed in a run's records is found by ``verify``: journals written anew, and numbers above the proofs that do not follow from them."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.record.journal import GENESIS, Journal, ends_at, read_head, read_journal, read_lines
from sandbox.record.session_notebook import render_notebook, write_notebook
from tests.command_line import run_cli, run_ok
from tests.engine.test_signatures import in_log
from tests.fakes.small_run import RUN, make_small_run
from workbench.store import Store


def written_anew(folder: Path, node: str, old: str, new: str) -> None:
    """Replace a text in a proof, in its journal and its notebook, and recompute every hash of the chain."""
    path = folder / "sessions" / f"{node}.1.1.jsonl"
    lines = read_lines(path)
    assert any(old in json.dumps(line) for line in lines)
    path.unlink()
    journal = Journal(path)
    for line in lines:
        fields = json.loads(json.dumps(line).replace(old, new))
        kind = fields.pop("kind")
        for name in ("seq", "at", "prev", "hash"):
            del fields[name]
        journal.append(kind, sync=False, **fields)
    journal.close()
    write_notebook(folder / "proofs" / f"{node}.ipynb", render_notebook(read_journal(path), title=node))


def verified(place: Path, *words: str) -> tuple[int, dict[str, Any]]:
    done = run_cli(place, "verify", RUN, *words, "--json")
    return done.returncode, json.loads(done.stdout)


def test_a_journal_written_anew_is_found_and_nothing_of_the_run_is_executed(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    written_anew(tmp_path / "home" / "runs" / RUN, "P1", "# P1", "# Another argument")
    code, document = verified(tmp_path)
    assert code == 6 and document["isolation"] is None
    assert [(row["node"], row["check"]) for row in document["differing"]] == [("P1", "chain")]
    assert "written anew" in document["differing"][0]["what"]
    # the honest neighbour of the same run
    code, document = verified(tmp_path, "P2")
    assert code == 0 and document["differing"] == []


def test_a_journal_without_a_head_in_the_log_is_a_difference(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home", anchored=False)
    code, document = verified(tmp_path, "P1")
    assert code == 6 and document["isolation"] is None
    assert [(row["node"], row["check"]) for row in document["differing"]] == [("P1", "chain")]
    assert "the log does not name their last step: P1, P2" in run_cli(tmp_path, "audit", RUN).stdout


@pytest.mark.parametrize("damage", ["gone", "broken"])
def test_an_anchored_journal_that_is_gone_or_broken_is_named_once(tmp_path: Path, damage: str) -> None:
    make_small_run(tmp_path / "home")
    path = tmp_path / "home" / "runs" / RUN / "sessions" / "P1.1.1.jsonl"
    if damage == "gone":
        path.unlink()
    else:
        path.write_text(path.read_text().replace("# P1", "# P9"))
    code, document = verified(tmp_path, "P1")
    assert code == 6 and {row["check"] for row in document["differing"]} == {"chain"}
    assert len({row["what"] for row in document["differing"]}) == len(document["differing"])


def test_a_head_is_the_journals_own_and_stamps_may_follow(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    assert read_head(path) is None
    journal = Journal(path)
    assert read_head(path) == GENESIS and ends_at(path, GENESIS)
    first = journal.append("markdown", id="cell-001", source="one")
    head = journal.append("close")
    assert read_head(path) == head and ends_at(path, head) and not ends_at(path, first)
    journal.append("stamp", facts={"verified": True})
    assert ends_at(path, head)
    journal.append("markdown", id="cell-002", source="more")
    journal.close()
    assert not ends_at(path, head)
    assert not ends_at(path, GENESIS)


#: What is changed in the log, the node of the difference, and its kind.
CHANGES = {
    "a trial's number": ("leaf.grounded", "$.p", 0.9, "P1", "conclusion"),
    "a leaf's number": ("leaf.pooled", "$.p", 0.9, "P1", "pooled"),
    "a leaf's trials": ("leaf.pooled", "$.trials", "[0.9]", "P1", "pooled"),
    "a leaf's words": ("leaf.pooled", "$.key_factor", "'another'", "P1", "pooled"),
    "a node's number": ("node.synthesized", "$.p", 0.9, "P0", "rule"),
    "the number at the end": ("run.finished", "$.p", 0.9, "P0", "root"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_number_above_the_proofs_that_was_changed_is_found_by_verify_and_audit(
    change: str, tmp_path: Path
) -> None:
    kind, path, value, node, check = CHANGES[change]
    make_small_run(tmp_path / "home")
    run_ok(tmp_path, "audit", RUN)
    written = f"json({value!r})" if path == "$.trials" else value
    place = f"kind = '{kind}' AND coalesce(node, '{node}') = '{node}'"
    in_log(tmp_path, f"UPDATE events SET data = json_set(data, '{path}', {written}) WHERE {place}")
    code, document = verified(tmp_path)
    assert code == 6 and document["isolation"] is None, "no cell of it is run"
    assert {"node": node, "check": check} in [
        {name: row[name] for name in ("node", "check")} for row in document["differing"]
    ]
    assert run_cli(tmp_path, "audit", RUN).returncode == 6


def test_an_answer_that_was_replaced_in_the_ledger_under_its_own_hash_is_found(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    with Store(tmp_path / "home") as store, store.transaction() as db:
        (row,) = db.execute("SELECT id, answer, meta FROM api_calls WHERE node = 'P1'").fetchall()
        answer = json.loads(store.body(row[1]))
        answer[-1]["value"] += 1.0
        digest = store.put_body(json.dumps(answer, separators=(",", ":"), sort_keys=True))
        meta = json.dumps(json.loads(row[2]) | {"content_hash": digest})
        db.execute("UPDATE api_calls SET answer = ?, meta = ? WHERE id = ?", (digest, meta, row[0]))
    code, document = verified(tmp_path, "P1")
    assert code == 6 and "ledger" in {row["check"] for row in document["differing"]}
