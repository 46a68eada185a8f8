"""What any door writes survives its package, and shows the same in the home that takes it in."""

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.fakes.small_run import RUN, make_small_run
from tests.fakes.stored_run import CUTOFF, RunWriter
from workbench.annotations.entries import add_comment, add_note, sign_off, sign_off_rows
from workbench.annotations.outcomes import record_outcome
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import put_tree
from workbench.engine.run_settings import RunSettings
from workbench.errors import WorkbenchError
from workbench.packages.export import export_run
from workbench.packages.package import import_package
from workbench.propositions import Polarity, Tree
from workbench.propositions.values import Override
from workbench.store import ApiLedger, Store
from workbench.store import events as ev
from workbench.synthesis.whatif.edits import AddChild, Restate, SetValue
from workbench.terminal import shown_line, shown_text
from workbench.views.run_view import view
from workbench.views.wording import sign_off_line
from workbench.whatif.saved_scenarios import save_scenario, scenario_set

BIDI, ESCAPE = "a\u202eb", "\x1b]0;x\x07"
#: Any text: control characters, turned directions, halves of pairs and characters of no width among ordinary ones.
TEXTS = st.text(
    st.one_of(st.characters(), st.sampled_from("a \n\t\x1b\x9b\u202e\u200b\ud800\u00a0\u2028\u3000")),
    min_size=1,
    max_size=30,
)


def texts_in(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for item in value.values() for text in texts_in(item)]
        case list() | tuple():
            return [text for item in value for text in texts_in(item)]
        case _:
            return []


def taken_in(store: Store, run_id: str, folder: Path) -> Store:
    package = folder / f"{run_id}.zip"
    package.write_bytes(export_run(store, run_id, "zip")[0])
    other = Store(folder / "other")
    assert import_package(other, package) == run_id
    return other


def document(store: Store, run_id: str) -> dict[str, Any]:
    shown = view(store, run_id).document()
    return {
        name: value
        for name, value in shown.items()
        if name not in ("imported", "nodes", "notebook", "checks", "findings", "folder")
    }


def knock(store: Store, text: str) -> list[str]:
    """Bring a text through every door that takes one; return the doors that let it in."""
    edits = (SetValue(node="P1", p=0.2, override=Override(author=text, at="2018-07-01T00:00:00Z", reason=text)),
             Restate(node="P1", statement=text), AddChild(node="P0", statement=f"more {text}", polarity=Polarity.POSITIVE, p=0.5))  # fmt: skip
    doors: dict[str, Any] = {
        "comment": lambda: add_comment(store, RUN, "P1", text, author=text),
        "note": lambda: add_note(store, RUN, text, tags=(text,), author=text),
        "outcome": lambda: record_outcome(store, RUN, "yes", on="2018-12-31", author=text),
        "scenario": lambda: save_scenario(store, RUN, text, edits[:1], author=text, rationale=text),
        "statement": lambda: save_scenario(store, RUN, f"s {text}", edits[1:], author=text),
        "sign-off": lambda: sign_off(store, RUN, author=text, verdict="return"),
        "reopened": lambda: store.append(RUN, ev.LeafReopened(node="P1", author=text, reason=text)),
        "audit": lambda: store.append(RUN, ev.LeaksAudited(model=text, findings=store.put_body("[]"))),
        "stopped": lambda: store.append(RUN, ev.RunStopped(why="interrupt", detail=text)),
        "waiting": lambda: store.append(RUN, ev.RunWaiting(provider=text, reason=text)),
    }
    let_in = []
    for name, door in doors.items():
        try:
            door()
        except (WorkbenchError, ValueError):
            continue
        let_in.append(name)
    return let_in


@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
@given(st.lists(TEXTS, min_size=1, max_size=3))
@example([BIDI, "a\u202db", ESCAPE])
@example(["0\x1f", "0\x1f"])  # \x1f is white space to Python: the second one was taken for another statement
def test_every_event_that_a_door_accepts_survives_its_package_and_shows_the_same(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("law")
    make_small_run(folder / "home")
    with closing(Store(folder / "home")) as store:
        for text in texts:
            assert "waiting" in knock(store, text)
        with closing(taken_in(store, RUN, folder)) as other:
            here, there = store.events(RUN), other.events(RUN)[:-1]  # the last one is the mark of the import
            for ours, theirs in zip(here, there, strict=True):
                left, right = ours.event.model_dump(), theirs.event.model_dump()
                for side in (left, right):
                    side.get("record", {}).pop("base_seq", None)  # counts by place: each home numbers its own
                assert left == right
            assert document(store, RUN) == document(other, RUN)
            assert [row["fault"] for row in sign_off_rows(other, load_state(other, RUN))] == [None] * sum(
                each.event.kind == "review.signed" for each in here
            )
        written = [
            text
            for item in here
            if item.event.kind != "run.started"
            for text in texts_in(item.event.model_dump())
        ]
        assert all(text.replace("\n", " ").isprintable() for text in written)


@given(TEXTS)
def test_what_is_shown_is_written_once_and_two_texts_stay_two(text: str) -> None:
    shown = shown_text(text)
    assert (
        shown_text(shown) == shown
        and shown_line(shown) == shown_line(text)
        and shown.replace("\n", " ").isprintable()
    )
    assert shown_text(BIDI) != shown_text("a\u202db")


@pytest.mark.parametrize(
    "words", ["no\u00a0break", "a\u200bb", f"x {BIDI}", "caf\u00e9 \U0001f468\u200d\U0001f4bb"]
)
def test_a_claim_and_a_models_words_are_shared_whatever_they_hold(tmp_path: Path, words: str) -> None:
    with closing(Store(tmp_path / "home")) as store:
        run_id = new_run(store, f"It {words} by 2018-12-31", Cutoff.parse(CUTOFF), RunSettings())
        statement = load_state(store, run_id).statement
        up = {"P1": Polarity.POSITIVE}
        tree = Tree.root_only(statement).expand("P0", {"P1": f"reason {words}\nand more"}, up)
        store.append(run_id, ev.TreePlanned(tree=put_tree(store, tree)))
        with closing(taken_in(store, run_id, tmp_path)) as other:
            state = load_state(other, run_id)
            assert state.statement == statement and state.tree.to_json() == tree.to_json()
            assert all(each.statement.isprintable() for each in state.tree.propositions())


def test_a_path_that_a_cell_asked_in_vain_does_not_shut_the_run_in(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    with closing(Store(tmp_path / "home")) as store:
        asked = RunWriter(store, RUN).call(
            "P1", path=f"{BIDI}\n{'y' * 400}", refused="no such path", stage="tool", step=1, retry=7
        )
        with closing(taken_in(store, RUN, tmp_path)) as other:
            assert ApiLedger(other).rows(RUN)[-1].path == asked.path


def test_a_run_that_could_not_be_shared_is_mended_on_reading_and_its_bytes_stay(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    with closing(Store(tmp_path / "home")) as store:
        record = {
            "action": "open",
            "scenario": "NAME",
            "author": "mcp",
            "at": "2026-01-01T00:00:00Z",
            "rationale": "WHY",
        }
        store.append(RUN, ev.ScenarioRecorded(record=record))
    with closing(sqlite3.connect(tmp_path / "home" / "workbench.db", isolation_level=None)) as db:
        (guard,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'events_keep'").fetchone()
        db.execute("DROP TRIGGER events_keep")
        raw = orjson.dumps({"record": {**record, "scenario": BIDI, "rationale": ESCAPE}}).decode()
        db.execute(
            "UPDATE events SET data = ? WHERE kind = 'scenario.recorded'", (raw,)
        )  # as an older workbench wrote it
        db.execute(guard)
    with closing(Store(tmp_path / "home")) as store:
        assert list(scenario_set(store, RUN).scenarios) == ["a\\u202eb"]
        sign_off(store, RUN, author="Ann", verdict="return")
        with closing(taken_in(store, RUN, tmp_path)) as other:
            rows = other.query("SELECT data FROM events WHERE kind = 'scenario.recorded'")
            assert [row["data"] for row in rows] == [raw]
            (row,) = sign_off_rows(other, load_state(other, RUN))
            assert row["fault"] is None and row["mended"] == 1
            assert (
                "covers a record as written, which screens show without control characters"
                in sign_off_line(row)
            )
            assert document(store, RUN) == document(other, RUN)


def test_the_settings_of_a_run_are_as_bounded_as_those_of_a_package() -> None:
    for name in ("depth", "trials", "concurrency", "max_proof_retries"):
        with pytest.raises(WorkbenchError):
            dataclasses.replace(RunSettings(), **{name: 10_000})
