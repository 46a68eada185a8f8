"""Several people at one run: comments, and estimates beside the model's answer."""

from math import exp, log

import pytest

from tests.fakes.small_run import RUN
from workbench.annotations.estimates import POOLED, estimate_rows, give_estimate, people_scores
from workbench.annotations.outcomes import record_outcome
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.propositions import TreeError
from workbench.store import Store
from workbench.views.run_view import view
from workbench.views.wording import annotation_lines


@pytest.fixture
def store(run_store: Store) -> Store:
    return run_store


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
