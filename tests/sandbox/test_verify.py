import asyncio
import base64
import dataclasses
import io
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.hashing import content_hash
from proxies.ledger import Address, Answer, LedgerRow
from sandbox import Sandbox, SessionSpec
from sandbox.record.journal import Journal, read_journal, result_to_json, seal_line
from sandbox.record.session_notebook import render_notebook, write_notebook
from sandbox.record.verify import compare_proof, compare_results, differ_by_rounding, normalise
from sandbox.types import CellResult
from tests.sandbox.conftest import DEFAULT_LEVEL, verify_proof


def printed(text: str) -> CellResult:
    """A cell that printed a text and nothing else."""
    return CellResult(
        cell_id="cell-001",
        status="ok",
        outputs=({"output_type": "stream", "name": "stdout", "text": text},),
        error=None,
        duration_s=0.1,
        api_calls=0,
        limit=None,
        api_hashes=(),
    )


def cut_run(stdout: str, stderr: str, *, order: str, limit: str | None = "output_bytes") -> CellResult:
    """A cell whose two streams reached the limit of 60 characters in an order; "10110" takes six of stderr, then six of stdout ..."""
    left = {"stdout": stdout, "stderr": stderr}
    outputs, room = [], 60
    for turn in order:
        name = "stderr" if turn == "1" else "stdout"
        text, left[name] = left[name][: min(6, room)], left[name][min(6, room) :]
        room -= len(text)
        outputs.append({"output_type": "stream", "name": name, "text": text})
    dropped = len(left["stdout"]) + len(left["stderr"])
    note = f"[output cut: {dropped} more characters are in the journal only]\n"
    outputs.append({"output_type": "stream", "name": "stderr", "text": note})
    return dataclasses.replace(printed(""), outputs=tuple(outputs), limit=limit)


@given(st.text("01", min_size=10, max_size=30), st.text("01", min_size=10, max_size=30))
def test_which_stream_reaches_the_limit_first_is_chance(first: str, second: str) -> None:
    warned, said = "careful " * 20, "[0.] " * 20
    first, second = "01" + first, "10" + second  # something of both streams is shown
    before = cut_run(said, warned, order=first)
    assert compare_results(before, cut_run(said, warned, order=second)) is None
    # another text counts as far as it was shown, and a run that was not cut is compared whole
    assert compare_results(before, cut_run("x" + said[1:], "X" + warned[1:], order=second))
    assert compare_results(before, printed(said))


@given(st.floats(-1e6, 1e6), st.floats(-1e-5, 1e-5))
def test_a_fit_may_come_out_otherwise_in_its_last_digits(value: float, by: float) -> None:
    first, second = value, value + by * max(1.0, abs(value))
    assert differ_by_rounding(printed(f"p = {first:.9f} of 12"), printed(f"p = {second:.9f} of 12"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("p = 0.5300", "p = 0.5301"),
        ("p = 0.53", "p = -0.53"),
        ("n = 1188", "n = 1187"),
        ("2018-05-01 0.5", "2018-05-02 0.5"),
        ("true 0.5", "false 0.5"),
        ("0.5", "0.5 0.5"),
        ("1.5", "nan"),
    ],
)
def test_what_is_more_than_rounding_counts(before: str, after: str) -> None:
    assert not differ_by_rounding(printed(before), printed(after))
    assert differ_by_rounding(printed(before), printed(before))


class Recorder:
    """Answers calls and keeps the rows that a ledger would."""

    def __init__(self):
        self.rows = []

    async def __call__(self, path, params, *, cell, nth):
        data = [{"date": "2018-01-02", "value": 100 + cell}]
        meta = {"content_hash": content_hash(data), "as_of": "2018-06-30"}
        answer = Answer(data=data, meta=meta)
        address = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=cell, retry=nth)
        self.rows.append(
            LedgerRow(
                address=address,
                at_utc="2026-01-01T00:00:00Z",
                path=path,
                asked=dict(params),
                sent=[],
                cutoff="2018-06-30",
                answer=answer,
                refused=None,
                request_hash="x",
            )
        )
        return answer


async def _make_proof(spec: SessionSpec) -> list[LedgerRow]:
    recorder, box = Recorder(), Sandbox()
    session = await box.open(spec, recorder)
    await session.markdown("# Proof")
    bad = await session.execute("v = CALL_API('x', {'a': 1})[0]['value']\n1 / 0")
    await session.execute("v = CALL_API('x', {'a': 1})[0]['value']\nprint(v, object())", fixes=bad.cell_id)
    await session.execute("import matplotlib.pyplot as plt\nplt.plot([1, v]);")
    await session.execute(
        "import random, numpy as np, uuid\nprint(random.random(), np.random.rand(), {'a', 'b', 'c'})"
    )
    await session.close()
    await box.aclose()
    return recorder.rows


@pytest.fixture(scope="module")
def proof_made_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[LedgerRow]]:
    folder = tmp_path_factory.mktemp("proof")
    spec = SessionSpec(
        name="P1.1.1", journal=folder / "j.jsonl", notebook=folder / "n.ipynb", isolation=DEFAULT_LEVEL
    )
    return folder, asyncio.run(_make_proof(spec))


@pytest.fixture
def proof(proof_made_once: tuple[Path, list[LedgerRow]], spec_for: Callable[..., SessionSpec]):
    """A copy of the proof, to be spoilt."""
    made, rows = proof_made_once
    spec = spec_for()
    for path, name in ((spec.journal, "j.jsonl"), (spec.notebook, "n.ipynb")):
        path.parent.mkdir(parents=True)
        shutil.copy(made / name, path)
    return spec, rows


async def _verify(box, proof, rows=None, **more):
    spec, recorded = proof
    return await verify_proof(
        box, journal=spec.journal, notebook=spec.notebook, rows=recorded if rows is None else rows, **more
    )


async def test_an_untouched_proof_is_verified(box, proof):
    outcome = await _verify(box, proof)
    assert outcome.differing == () and outcome.verified and outcome.cells == 5


def _edit_notebook(path: Path, edit) -> None:
    notebook = nbformat.read(path, as_version=4)
    edit(notebook)
    path.write_text(nbformat.writes(notebook))


def _other_image() -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (3, 3)).save(file, "png")
    return base64.b64encode(file.getvalue()).decode()


@pytest.mark.parametrize(
    "edit",
    [
        lambda nb: nb.cells[2].update(source="print('forged')"),
        lambda nb: nb.cells[2].outputs[0].update(text="999\n"),
        lambda nb: nb.cells[3].outputs[-1].data.update({"image/png": _other_image()}),
        lambda nb: nb.cells.insert(0, nb.cells.pop()),
        lambda nb: nb.cells.pop(1),
        lambda nb: nb.cells[0].update(source="# Another question"),
    ],
    ids=["source", "output", "image", "order", "missing cell", "text"],
)
async def test_a_changed_notebook_is_found(box, proof, edit):
    _edit_notebook(proof[0].notebook, edit)
    outcome = await _verify(box, proof)
    assert {d.check for d in outcome.differing} == {"notebook"}


async def test_counts_times_and_front_end_metadata_do_not_matter(box, proof):
    def edit(notebook):
        notebook.cells[2].execution_count = 77
        notebook.cells[2].metadata["scrolled"] = True
        notebook.metadata["language_info"] = {"name": "python"}

    _edit_notebook(proof[0].notebook, edit)
    assert (await _verify(box, proof)).verified


async def test_a_changed_journal_line_is_found(box, proof):
    path = proof[0].journal
    path.write_text(path.read_text().replace("# Proof", "# Prove"))
    outcome = await _verify(box, proof)
    assert [d.check for d in outcome.differing] == ["chain"]


def _seal_anew(spec, text: str) -> None:
    """Give the third cell another output and compute the whole chain again."""
    lines = [json.loads(line) for line in spec.journal.read_text().splitlines()]
    head = "0" * 64
    for line in lines:
        if line["kind"] == "result" and line["id"] == "cell-003":
            line["result"]["outputs"][-1]["text"] = text
        line["prev"] = head
        line["hash"] = head = seal_line(line)
    spec.journal.write_text("".join(json.dumps(line) + "\n" for line in lines))


class Sealed:
    """A sandbox in which no kernel may start."""

    async def open(self, spec, call_api):
        raise AssertionError("a kernel was started for a proof whose records differ")


async def test_nothing_is_run_again_where_the_records_differ(proof):
    spec, rows = proof
    _seal_anew(spec, "999 <object object at 0x7f0000000000>\n")
    outcome = await _verify(Sealed(), proof)
    assert {(d.check, d.cell) for d in outcome.differing} == {("notebook", "cell-003")}
    write_notebook(spec.notebook, render_notebook(read_journal(spec.journal)))
    assert {d.check for d in (await _verify(Sealed(), proof, rows[:1])).differing} == {"ledger"}
    wrong = await _verify(Sealed(), proof, conclusion=lambda: "another p")
    assert {d.check for d in wrong.differing} == {"conclusion"}
    with pytest.raises(AssertionError, match="a kernel was started"):
        await _verify(Sealed(), proof)


async def test_a_journal_sealed_anew_with_its_notebook_is_found_by_the_rerun(box, proof):
    spec, _ = proof
    _seal_anew(spec, "999 <object object at 0x7f0000000000>\n")
    write_notebook(spec.notebook, render_notebook(read_journal(spec.journal)))
    outcome = await _verify(box, proof)
    assert {(d.check, d.cell) for d in outcome.differing} == {("rerun", "cell-003")}
    advisory = await _verify(box, proof, same_packages=False)
    assert {d.check for d in advisory.advisory} == {"rerun"}


async def test_a_sealed_line_without_what_its_kind_needs_is_no_journal(box, proof):
    spec, _ = proof
    lines = [json.loads(line) for line in spec.journal.read_text().splitlines()]
    head = "0" * 64
    for line in lines:
        line.pop("source", None)
        line["prev"] = head
        line["hash"] = head = seal_line(line)
    spec.journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [d.check for d in (await _verify(box, proof)).differing] == ["chain"]


@pytest.mark.parametrize("value", [5, [1], {"a": 1}, None])
@pytest.mark.parametrize("part", ["text/plain", "image/png"])
def test_an_output_that_no_notebook_holds_is_a_difference(part, value, tmp_path):
    output = {"output_type": "display_data", "data": {part: value}, "metadata": {}}
    path, book = small_journal(tmp_path, output)
    assert [d.check for d in compare_proof(journal=path, notebook=book, rows=[]).differing] == ["chain"]


@pytest.mark.parametrize("part", ["text/plain", "application/json"])
def test_one_that_a_notebook_holds_is_none(part, tmp_path):
    path, book = small_journal(tmp_path, {"output_type": "display_data", "data": {part: "1"}, "metadata": {}})
    write_notebook(book, render_notebook(read_journal(path)))
    assert compare_proof(journal=path, notebook=book, rows=[]).verified


def small_journal(folder: Path, *outputs) -> tuple[Path, Path]:
    journal = Journal(folder / "j.jsonl")
    journal.append("open", sync=False, name="j", title="", metadata={})
    journal.append("markdown", sync=False, id="cell-000", source="# why")
    journal.append("code", sync=False, id="cell-001", source="1", fixes=None)
    result = dataclasses.replace(printed("1"), outputs=outputs)
    journal.append("result", sync=False, id="cell-001", result=result_to_json(result))
    journal.close()
    return journal.path, folder / "j.ipynb"


STREAM = {"output_type": "stream", "name": "stdout", "text": "1"}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda book: [book],
        lambda book: "book",
        lambda book: book | {"cells": [1]},
        lambda book: book | {"cells": {}},
        lambda book: book | {"cells": [book["cells"][0] | {"id": ["cell-000"]}, book["cells"][1]]},
        lambda book: book | {"cells": [book["cells"][0] | {"outputs": [1]}, book["cells"][1]]},
        lambda book: book | {"cells": [book["cells"][0] | {"metadata": []}, book["cells"][1]]},
        lambda book: book | {"cells": [book["cells"][0], book["cells"][1] | {"outputs": 5}]},
        lambda book: book | {"nbformat": 3},
        lambda book: book | {"nbformat": [4]},
        lambda book: book | {"nbformat": 99},
    ],
)
def test_a_notebook_of_any_other_shape_is_a_difference_of_the_notebook(spoil, tmp_path):
    path, book = small_journal(tmp_path, STREAM)
    write_notebook(book, render_notebook(read_journal(path)))
    assert compare_proof(journal=path, notebook=book, rows=[]).verified
    book.write_text(json.dumps(spoil(json.loads(book.read_text()))))
    found = {d.check for d in compare_proof(journal=path, notebook=book, rows=[]).differing}
    assert found == {"notebook"}


@pytest.mark.parametrize("recompute", [False, True])
async def test_a_changed_ledger_answer_is_found(box, proof, recompute):
    rows = list(proof[1])
    data = [{"date": "2018-01-02", "value": 5}]
    old = rows[1].answer
    meta = {**old.meta, "content_hash": content_hash(data)} if recompute else old.meta
    rows[1] = dataclasses.replace(rows[1], answer=Answer(data=data, meta=meta))
    outcome = await _verify(box, proof, rows)
    assert {d.check for d in outcome.differing} == {"ledger"}


async def test_a_missing_ledger_answer_is_found(box, proof):
    outcome = await _verify(box, proof, proof[1][:1])
    assert {d.check for d in outcome.differing} == {"ledger"}


async def test_the_conclusion_is_the_callers_to_check(box, proof):
    outcome = await _verify(box, proof, conclusion=lambda: "p is 0.4 in the text and 0.6 in the tree")
    assert [d.what for d in outcome.differing] == ["p is 0.4 in the text and 0.6 in the tree"]


_TELLS_THE_TIME = """
from datetime import datetime
import time
import pandas as pd
print(datetime.now().isoformat(timespec='seconds'))
print(time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime()))
print(pd.Timestamp.now().floor('s'), pd.date_range(end=pd.Timestamp.now().floor('s'), periods=2))
"""


async def _proof_at(box: Sandbox, spec, source: str):
    recorder = Recorder()
    session = await box.open(spec, recorder)
    told = await session.execute(source)
    assert told.status == "ok", told.text()
    await session.execute("v = CALL_API('x', {'a': 1})[0]['value']\nprint(v)")
    await session.close()
    return told.text(), (spec, recorder.rows)


async def test_a_cell_that_prints_the_time_is_verified_only_with_the_clock_at_the_cutoff(box, spec_for):
    cutoff = datetime(2018, 6, 30, 4, tzinfo=UTC)
    frozen = dataclasses.replace(spec_for("P1.1.1"), clock=cutoff)
    told, proof = await _proof_at(box, frozen, _TELLS_THE_TIME)
    assert told.count("2018-06-30") >= 3 and told.count("04:00:0") >= 3
    _, plain = await _proof_at(box, spec_for("P2.1.1"), _TELLS_THE_TIME)
    await asyncio.sleep(1.1)  # so that the wall clock shows another second
    outcome = await _verify(box, proof)
    assert outcome.verified, outcome.differing
    outcome = await _verify(box, plain)
    # two re-runs within one second of each other show the same
    assert [d.cell for d in (*outcome.differing, *outcome.unrepeatable)] == ["cell-001"]


def test_text_is_compared_without_addresses_durations_and_temporary_paths():
    one = "<f at 0x7f12ab34cd> took 12.5 ms, see /tmp/abc/x.csv"
    other = "<f at 0x7fffffff00> took 3 s, see /tmp/q/y.csv"
    assert normalise(one) == normalise(other)
    assert normalise("p = 0.41") != normalise("p = 0.42")
