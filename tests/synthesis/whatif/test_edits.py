import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.propositions.strategies import probabilities, words
from workbench.propositions import EditConflict, Override, Polarity, TreeFormatError
from workbench.synthesis.whatif.edits import (
    AddChild,
    Edit,
    Pin,
    RemoveNode,
    Restate,
    SetPolarity,
    SetReport,
    SetRule,
    SetValue,
    Unpin,
    edit_from_json,
)
from workbench.synthesis.whatif.scenarios import ScenarioRecord, ScenarioSet

ids = st.sampled_from(["P0", "P1", "P1.2", "P10"])
overrides = st.builds(Override, author=words, reason=words, at=words, expires=st.none() | words)
edits: st.SearchStrategy[Edit] = st.one_of(
    st.builds(SetValue, node=ids, p=probabilities, override=st.none() | overrides),
    st.builds(Pin, node=ids),
    st.builds(Unpin, node=ids),
    st.builds(
        AddChild,
        node=ids,
        statement=words,
        polarity=st.none() | st.sampled_from(Polarity),
        child=st.none() | ids,
        p=st.none() | probabilities,
    ),
    st.builds(RemoveNode, node=ids),
    st.builds(Restate, node=ids, statement=words, keep_belief=st.booleans()),
    st.builds(SetPolarity, node=ids, polarity=st.sampled_from(Polarity)),
    st.builds(SetReport, node=ids, report=words, key_factor=words),
    st.builds(SetRule, node=ids, rule=st.just({"name": "vanilla"})),
)


@given(edits)
def test_an_edit_comes_back_from_json(edit: Edit) -> None:
    assert edit_from_json(json.loads(json.dumps(edit.to_json()))) == edit


def record(action: Any, base: int | None = None, edit: Edit | None = None, **more: Any) -> ScenarioRecord:
    return ScenarioRecord(
        action=action,
        scenario="hard",
        author="Ann",
        at="2018-07-01T00:00:00+00:00",
        base_seq=base,
        edit=edit,
        **more,
    )


@given(st.lists(st.one_of(edits, st.sampled_from(["undo", "redo"])), max_size=12))
def test_a_book_is_a_list_with_a_cursor(steps: list[Any]) -> None:
    book = ScenarioSet.fold([(5, record("open", rationale="what if", probability=0.25))])
    done: list[Edit] = []
    undone: list[Edit] = []
    stored = []
    for seq, step in enumerate(steps, start=6):
        base = book["hard"].seq
        if step == "undo" and done:
            undone.append(done.pop())
        elif step == "redo" and undone:
            done.append(undone.pop())
        elif step in ("undo", "redo"):
            with pytest.raises(EditConflict, match=f"nothing to {step}"):
                book.apply(record(step, base), seq)
            continue
        else:
            done, undone = [*done, step], []
        row = record(step, base) if isinstance(step, str) else record("edit", base, step)
        stored.append((seq, ScenarioRecord.from_json(json.loads(json.dumps(row.to_json())))))
        book = book.apply(row, seq)
        assert book["hard"].edits == tuple(done) and book["hard"].undone == tuple(undone)
    again = ScenarioSet.fold([(5, record("open", rationale="what if", probability=0.25)), *stored])
    assert again == book


def test_a_stale_edit_is_a_conflict_and_changes_nothing() -> None:
    book = ScenarioSet.fold([(1, record("open")), (2, record("edit", 1, Pin(node="P1")))])
    with pytest.raises(EditConflict, match="made on record 1, the last is 2"):
        book.apply(record("edit", 1, Unpin(node="P1")), 3)
    with pytest.raises(EditConflict, match="open already"):
        book.apply(record("open"), 3)
    book = book.apply(record("weigh", 2, probability=0.4), 3)
    assert book["hard"].probability == 0.4 and book["hard"].edits == (Pin(node="P1"),)
    assert book.apply(record("close", 3), 4).scenarios == {}
    with pytest.raises(TreeFormatError, match="no scenario 'soft'; there are: hard"):
        book["soft"]
