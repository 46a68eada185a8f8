"""What people say of a run: events that are shown everywhere, travel with a package, and reach no agent."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.small_run import RUN
from workbench.annotations.entries import CHECKLIST, add_comment, add_note, sign_off, sign_off_rows
from workbench.annotations.outcomes import record_outcome
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.packages.export import export_run
from workbench.packages.package import import_package
from workbench.propositions import TreeError
from workbench.questions.worded_answers import share_of
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import view


@pytest.fixture
def store(run_store: Store) -> Store:
    return run_store


def test_what_is_no_comment_and_no_note_is_refused(store: Store) -> None:
    before = store.log_head(RUN)
    with pytest.raises(UsageError, match="needs a text"):
        add_comment(store, RUN, "P1", "  ")
    with pytest.raises((UsageError, TreeError)):
        add_comment(store, RUN, "P9", "where?")
    with pytest.raises(UsageError, match="nothing to note"):
        add_note(store, RUN)
    with pytest.raises(UsageError, match="has no tag"):
        add_note(store, RUN, untagged=["none"])
    with pytest.raises(UsageError, match="without commas"):
        add_note(store, RUN, tags=["a,b"])
    assert store.log_head(RUN) == before


@given(text=st.text(max_size=80))
def test_a_text_that_is_taken_steers_no_terminal(text: str) -> None:
    from workbench.annotations.entries import checked_text

    try:
        plain = checked_text(text, "a note")
    except UsageError:
        return
    assert plain and plain.replace("\n", " ").isprintable()


def test_an_outcome_is_scored_and_can_be_revised(store: Store) -> None:
    record_outcome(store, RUN, "no", on="2018-12-31", author="Ann")
    p = load_state(store, RUN).tree.root.p or 0.0
    outcome = view(store, RUN).document()["outcome"]
    # Brier (1950): the squared distance of the forecast from what happened.
    assert outcome["brier"] == pytest.approx(p**2) and outcome["revised"] == 0
    record_outcome(store, RUN, "30%", on="2019-01-02")
    outcome = view(store, RUN).document()["outcome"]
    assert (outcome["p"], outcome["day"], outcome["revised"]) == (0.3, "2019-01-02", 1)
    assert outcome["brier"] == pytest.approx((p - 0.3) ** 2)


@pytest.mark.parametrize("text", ["maybe", "1.2", "-0.1", "120%", "", "nan"])
def test_an_outcome_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="an outcome is yes, no or a share"):
        share_of(text)


def test_a_run_without_a_probability_is_neither_resolved_nor_signed(store: Store) -> None:
    started = next(item.event for item in store.events(RUN) if isinstance(item.event, ev.RunStarted))
    store.append("20180630-120000-0bed", started)
    for refused in (
        lambda: record_outcome(store, "20180630-120000-0bed", "yes"),
        lambda: sign_off(store, "20180630-120000-0bed", author="Ann", done=["all"]),
    ):
        with pytest.raises(UsageError, match="has no probability yet"):
            refused()


def test_an_outcome_of_a_day_that_has_not_come_is_refused(store: Store) -> None:
    for node in (None, "P1"):
        with pytest.raises(UsageError, match="an outcome of 2999-01-01 is not known yet"):
            record_outcome(store, RUN, "yes", on="2999-01-01", node=node)
    assert load_state(store, RUN).annotations.outcome is None


def test_annotations_move_no_address_of_a_request(store: Store) -> None:
    """A full what-if asks at the number of the last change: were it moved, the same what-if would be bought again."""
    before = load_state(store, RUN)
    add_comment(store, RUN, "P1", "why?")
    add_note(store, RUN, "mine", tags=["a"])
    record_outcome(store, RUN, "yes", on="2018-12-31")
    sign_off(store, RUN, author="Ann", done=["all"])
    after = load_state(store, RUN)
    assert after.seq == before.seq + 4
    assert (after.changed_seq, after.worked_seconds) == (before.changed_seq, before.worked_seconds)
    assert after.tree == before.tree


# --- sign-off -----------------------------------------------------------------------------------------------------------


def test_a_sign_off_attests_log_tree_comments_and_checklist(store: Store) -> None:
    add_comment(store, RUN, "P1", "why?", author="Ann")
    attested = sign_off(store, RUN, author="Bo", done=["all"])
    (row,) = sign_off_rows(store, load_state(store, RUN))
    assert row["attested"] == attested and row["fault"] is None and row["later"] == []
    assert row["checklist"] == dict.fromkeys(CHECKLIST, True)
    add_comment(store, RUN, "P2", "one more", author="Ann")
    (row,) = sign_off_rows(store, load_state(store, RUN))
    assert row["fault"] is None and row["later"] == ["comment.added"]


def test_an_acceptance_needs_every_point_and_a_return_does_not(store: Store) -> None:
    with pytest.raises(UsageError, match="--done leaks"):
        sign_off(store, RUN, author="Bo", done=["verified"])
    with pytest.raises(UsageError, match="not on the checklist"):
        sign_off(store, RUN, author="Bo", done=["everything"])
    with pytest.raises(UsageError, match="needs a name"):
        sign_off(store, RUN, author=" ", done=["all"])
    with pytest.raises(UsageError, match="accept or return"):
        sign_off(store, RUN, author="Bo", verdict="perhaps", done=["all"])
    sign_off(store, RUN, author="Bo", verdict="return", done=["verified"])
    (row,) = sign_off_rows(store, load_state(store, RUN))
    assert row["verdict"] == "return" and not row["checklist"]["leaks"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("UPDATE events SET data = replace(data, 'why?', 'fine') WHERE kind = 'comment.added'", "the log"),
        ("DELETE FROM events WHERE kind = 'comment.added'", "the log"),
        ("UPDATE events SET data = replace(data, 'Bo', 'Al') WHERE kind = 'review.signed'", "its hash"),
        (
            "UPDATE events SET data = replace(data, 'accept', 'return') WHERE kind = 'review.signed'",
            "its hash",
        ),
    ],
)
def test_a_sign_off_does_not_hold_over_what_was_changed(store: Store, change: str, fault: str) -> None:
    add_comment(store, RUN, "P1", "why?", author="Ann")
    sign_off(store, RUN, author="Bo", done=["all"])
    with closing(sqlite3.connect(store.home / "workbench.db")) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(
                f"DROP TRIGGER {name}"
            )  # the log is append-only; whoever alters it takes these off first
        assert db.execute(change).rowcount == 1
        db.commit()
    (row,) = sign_off_rows(store, load_state(store, RUN))
    assert fault in row["fault"]


def test_a_review_travels_with_the_package_and_still_holds(store: Store, tmp_path: Path) -> None:
    add_comment(store, RUN, "P1", "why?", author="Ann")
    add_note(store, RUN, "mine", tags=["macro"])
    record_outcome(store, RUN, "yes", on="2018-12-31")
    sign_off(store, RUN, author="Bo", done=["all"])
    package = tmp_path / "x.zip"
    package.write_bytes(export_run(store, RUN, "zip")[0])
    here = view(store, RUN).document()
    with closing(Store(tmp_path / "other")) as other:
        assert import_package(other, package) == RUN
        there = view(other, RUN).document()
        assert there["sign_offs"][0]["fault"] is None and there["sign_offs"][0]["later"] == []
        for name in ("outcome", "tags", "manifest_id"):
            assert there[name] == here[name]
        assert [row["text"] for row in there["comments"] + there["notes"]] == ["why?", "mine"]
