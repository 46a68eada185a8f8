"""The grid and the checks across questions, as pure functions."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.questions.question import Link, Question, QuestionError, event_id, events_of
from workbench.studies.rounds.round_coherence import coherent, set_findings
from workbench.studies.rounds.triage import closer_look_gain, expected_gain, triage

NOW = datetime(2026, 1, 1, tzinfo=UTC)
shares = st.floats(0, 1, allow_subnormal=False)


@given(shares, st.floats(0, 1000), st.floats(0.01, 1))
def test_a_gain_never_passes_what_the_crowd_leaves_open(q: float, days: float, skill: float) -> None:
    gain = expected_gain(q, days, skill=skill)
    assert 0 <= gain <= skill * q * (1 - q) + 1e-15
    assert gain == pytest.approx(expected_gain(1 - q, days, skill=skill))
    assert gain <= expected_gain(q, days + 10, skill=skill) + 1e-15  # more time, more to gain


@given(st.lists(shares, min_size=1, max_size=6), shares)
def test_a_closer_look_gains_nothing_only_where_all_agree(trials: list[float], crowd: float) -> None:
    mean = sum(trials) / len(trials)
    gain = closer_look_gain(trials, mean, crowd)
    assert gain >= ((mean - crowd) / 2) ** 2 - 1e-12
    assert closer_look_gain([mean] * len(trials), mean, mean) == pytest.approx(0, abs=1e-12)


def question(name: str, **fields: object) -> Question:
    return Question(id=name, title=f"Will {name} come?", **fields)  # type: ignore[arg-type]


def test_the_grid_orders_by_gain_for_a_dollar_and_names_what_it_leaves_out() -> None:
    entries = [
        question("open", crowd={"open": 0.5}, closes_on="2026-12-31"),
        question("sure", crowd={"sure": 0.97}, closes_on="2026-12-31"),
        question("soon", crowd={"soon": 0.5}, closes_on="2026-01-02"),
        question("many", kind="options", options=("a", "b", "c"), closes_on="2026-12-31"),
        question("done", outcomes={"done": 1.0}),
        question("over", closes_on="2025-12-30"),
        question("shapeless", kind="threshold"),
    ]
    rows, left_out = triage({each.id: each for each in entries}, NOW, usd_per_event=0.01, size=3)
    assert [(row.question, row.events) for row in rows] == [("many", 3), ("open", 1), ("sure", 1)]
    assert rows[0].usd == pytest.approx(0.03) and rows[0].per_usd == pytest.approx(rows[0].gain / 0.03)
    assert dict(left_out) == {
        "done": "resolved",
        "over": "closed 2025-12-30",
        "shapeless": "a threshold question without levels has no event to forecast",
        "soon": "number 4 by expected gain, 3 are taken",
    }
    # no price: by the gain itself, and nobody divides by nothing
    free, _ = triage({each.id: each for each in entries}, NOW, usd_per_event=0.0)
    assert [row.per_usd for row in free] == [None] * 4 and free[0].question == "many"
    with pytest.raises(QuestionError, match="skill is a share"):
        triage({}, NOW, usd_per_event=None, skill=0)


OPTIONS = question("who", kind="options", options=("Ann", "Bo", "Cy"))
LEVELS = question("level", kind="threshold", levels=(10.0, 20.0), side="above")
BELOW = question("low", kind="threshold", levels=(10.0, 20.0), side="below")
DAYS = question("when", kind="date", days=("2026-03-01", "2026-06-01"))


def test_each_kind_of_question_is_checked_within_itself() -> None:
    p = {
        "who#Ann": 0.5, "who#Bo": 0.4, "who#Cy": 0.3, "level#10": 0.3, "level#20": 0.5,
        "low#10": 0.5, "low#20": 0.6, "when#2026-03-01": 0.7, "when#2026-06-01": 0.4,
    }  # fmt: skip
    findings = set_findings([OPTIONS, LEVELS, BELOW, DAYS], p)
    assert [(finding.kind, finding.ids) for finding in findings] == [
        ("exclusive", ("who#Ann", "who#Bo", "who#Cy")),
        ("nested", ("level#20", "level#10")),
        ("nested", ("when#2026-03-01", "when#2026-06-01")),
    ]
    mended = coherent([OPTIONS, LEVELS, BELOW, DAYS], p)
    assert set_findings([OPTIONS, LEVELS, BELOW, DAYS], mended) == []
    assert mended["level#10"] == mended["level#20"] == pytest.approx(0.4)
    assert (mended["low#10"], mended["low#20"]) == (0.5, 0.6)


def test_links_and_like_statements_are_checked_across_questions() -> None:
    entries = [
        question("rate", links=(Link(kind="implies", to="cut"), Link(kind="excludes", to="hold"))),
        question("cut"),
        question("hold"),
        Question(id="v20", title="VIX closes above 20 on 2026-03-01"),
        Question(id="v15", title="VIX closes above 15 on 2026-03-01"),
        question("war"),
        question("oil"),
        question("if-war", links=(Link(kind="given-yes", to="war"), Link(kind="part-of", to="oil"))),
        question("if-not", links=(Link(kind="given-no", to="war"), Link(kind="part-of", to="oil"))),
    ]
    p = {
        "rate": 0.7,
        "cut": 0.5,
        "hold": 0.4,
        "v20": 0.5,
        "v15": 0.3,
        "war": 0.5,
        "oil": 0.9,
        "if-war": 0.8,
        "if-not": 0.4,
    }
    assert [(finding.kind, finding.ids) for finding in set_findings(entries, p)] == [
        ("linked", ("rate", "cut")),
        ("linked", ("rate", "hold")),
        ("linked", ("oil", "war", "if-war", "if-not")),
        ("nested", ("v20", "v15")),
    ]
    good = {**p, "rate": 0.4, "v15": 0.6, "oil": 0.6}
    assert set_findings(entries, good) == []


@given(
    st.dictionaries(
        st.sampled_from([e.id for q in (OPTIONS, LEVELS, BELOW, DAYS) for e in events_of(q)]), shares
    )
)
def test_what_is_in_order_stays_a_probability_and_is_left_alone_the_second_time(p: dict[str, float]) -> None:
    entries = [OPTIONS, LEVELS, BELOW, DAYS]
    mended = coherent(entries, p)
    assert set(mended) == set(p) and all(0 <= value <= 1 for value in mended.values())
    assert coherent(entries, mended) == pytest.approx(mended)
    assert not [f for f in set_findings(entries, mended) if f.kind == "nested"]
    assert event_id("who", "Ann") == "who#Ann"
