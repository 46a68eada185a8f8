"""What people say of a run: events that are shown everywhere, travel with a package, and reach no agent."""

import sqlite3
from contextlib import closing
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.small_run import RUN
from workbench.annotations.entries import CHECKLIST, add_comment, add_note, sign_off, sign_off_rows
from workbench.annotations.estimates import POOLED, estimate_rows, give_estimate, people_scores
from workbench.annotations.outcomes import record_outcome
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.propositions import TreeError
from workbench.questions.worded_answers import share_of
from workbench.store import Store
from workbench.store import events as ev
from workbench.views.run_view import view
from workbench.views.wording import annotation_lines


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


def test_estimates_stand_beside_the_answer_and_are_pooled_in_log_odds(store: Store) -> None:
    before = view(store, RUN).document()
    give_estimate(store, RUN, "P0", "20%", author="Ann", why="first thought")
    give_estimate(store, RUN, "P0", "0.3", author="ann", why="after the release")
    give_estimate(store, RUN, "P0", "0.8", author="Bo")
    give_estimate(store, RUN, "P1", "0.5", author="Bo")
    document = view(store, RUN).document()
    assert document["root"] == before["root"] and "estimates" not in before
    root, driver = document["estimates"]
    assert [(each["author"], each["p"]) for each in root["estimates"]] == [("ann", 0.3), ("Bo", 0.8)]
    odds = (log(0.3 / 0.7) + log(0.8 / 0.2)) / 2
    assert root["pooled"] == pytest.approx(1 / (1 + exp(-odds)), abs=1e-12)
    assert root["model"] == before["root"]["p"] and driver["pooled"] == 0.5
    give_estimate(store, RUN, "P1", None, author="Bo")
    assert [row["node"] for row in estimate_rows(load_state(store, RUN))] == ["P0"]


@pytest.mark.parametrize("p", ["0", "1", "0%", "100%", "120%", "-0.1", "nan", "maybe", "1e-400", ""])
def test_no_certainty_and_no_nonsense(store: Store, p: str) -> None:
    head = store.log_head(RUN)
    with pytest.raises(UsageError, match="between 0 and 1"):
        give_estimate(store, RUN, "P0", p, author="Ann")
    assert store.log_head(RUN) == head


def test_an_estimate_is_somebodys_about_something(store: Store) -> None:
    for author in ("", "  ", POOLED):
        with pytest.raises(UsageError, match=r"needs an author|bracket"):
            give_estimate(store, RUN, "P0", "0.4", author=author)
    with pytest.raises(TreeError):
        give_estimate(store, RUN, "P9", "0.4", author="Ann")
    with pytest.raises(UsageError, match="given no estimate"):
        give_estimate(store, RUN, "P0", None, author="Ann")


def test_people_are_scored_apart_and_nobody_after_the_outcome(store: Store) -> None:
    give_estimate(store, RUN, "P0", "0.2", author="Ann")
    give_estimate(store, RUN, "P0", "0.6", author="Bo")
    give_estimate(store, RUN, "P1", "0.9", author="Bo")
    record_outcome(store, RUN, "no", on="2018-12-31")
    give_estimate(store, RUN, "P0", "0.01", author="Bo")  # too late: shown, and what he said before counts
    give_estimate(store, RUN, "P0", "0.01", author="Cy")
    record_outcome(store, RUN, "yes", on="2018-12-31", node="P1")
    state = load_state(store, RUN)
    model, driver = state.tree.root.p or 0.0, state.tree["P1"].p or 0.0
    rows = {row["author"]: row for row in people_scores([state], live=False)}
    assert list(rows) == [POOLED, "Ann", "Bo"]
    assert rows["Ann"]["brier"] == pytest.approx(0.04)
    assert rows["Ann"]["model_brier"] == pytest.approx(model**2)
    assert (rows["Bo"]["claims"], rows["Bo"]["drivers"]) == (1, 1)
    assert rows["Bo"]["brier"] == pytest.approx((0.36 + 0.01) / 2)
    assert rows["Bo"]["model_brier"] == pytest.approx((model**2 + (1 - driver) ** 2) / 2)
    pooled = 1 / (1 + exp(-(log(0.2 / 0.8) + log(0.6 / 0.4)) / 2))
    assert rows[POOLED]["brier"] == pytest.approx(pooled**2)
    assert people_scores([state], live=True) == [], "given years after its day: nothing of a live record"
    (line,) = [each for each in annotation_lines(view(store, RUN)) if "by Cy" in each]
    assert "not scored" in line
