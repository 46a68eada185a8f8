"""What resolved forecasts teach a night: only what was known by its cutoff, only where it would have helped, raw values beside."""

import csv
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.command_line import run_cli
from workbench.questions.formats.base import QuestionFile, Resolution
from workbench.questions.question import Question
from workbench.questions.sets.question_sets import add_questions, load_set, record_resolutions
from workbench.store import Store
from workbench.store import events as ev
from workbench.studies.rounds.round_page import write_round
from workbench.studies.rounds.round_record import (
    OwnRecord,
    ResolvedForecast,
    learn,
    own_record,
    resolved_forecasts,
)
from workbench.studies.rounds.round_state import RoundRules, load_round, round_facts, step_plan
from workbench.studies.rounds.round_work import RoundWork, open_round

shares = st.floats(0.01, 0.99)
RULES = RoundRules(quick="zero-shot", model="openai/x", trials=2, promote=0)
MARCH = Cutoff.parse("2026-03-01")


def overconfident(count: int, *, seed: int = 0) -> list[ResolvedForecast]:
    """Forecasts of 95 % or 5 % that are right in seven of ten cases; a crowd that says 70 % or 30 %."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        yes = draw.random() < 0.5
        p, crowd = (0.95, 0.7) if yes else (0.05, 0.3)
        outcome = float(yes if draw.random() < 0.7 else not yes)
        rows.append(ResolvedForecast(question=f"q{number}", trials=(p, p), p=p, crowd=crowd, outcome=outcome))
    return rows


def test_overconfidence_is_taken_back_and_a_handful_teaches_nothing() -> None:
    record = learn(overconfident(200), "2026-01-01")
    assert record.corrects and record.brier_raw is not None and record.brier is not None
    assert record.brier < record.brier_raw - 0.02 and record.calibration_slope < 0.6
    assert 0.6 < record.calibrated(record.shrunk(0.95, (0.95, 0.95), 0.7)) < 0.8
    few = learn(overconfident(19), "2026-01-01")
    assert not few.corrects and "fewer than 20" in few.line()
    # 190 forecasts of 19 questions are no more questions
    many = learn(overconfident(19) * 10, "2026-01-01")
    assert not many.corrects and "fewer than 20" in many.line() and many.forecasts == 190
    assert not learn([], "2026-01-01").corrects
    alike = learn(
        [
            ResolvedForecast(question=f"q{n}", trials=(0.9,), p=0.9, crowd=None, outcome=1.0)
            for n in range(40)
        ],
        "",
    )
    assert not alike.corrects and "too few to use" in alike.reason


@given(shares, st.lists(shares, min_size=0, max_size=4), st.none() | shares, st.floats(0, 1), st.floats(0, 2))
def test_a_shrunk_forecast_lies_between_itself_and_its_prior(
    p: float, trials: list[float], crowd: float | None, floor: float, slope: float
) -> None:
    record = OwnRecord(forecasts=30, questions=30, until="", base_rate=0.3, floor=floor, slope=slope)
    prior = 0.3 if crowd is None else crowd
    value = record.shrunk(p, trials, crowd)
    assert min(p, prior) - 1e-9 <= value <= max(p, prior) + 1e-9
    if len(set(trials)) <= 1:  # nothing disagrees
        assert value == pytest.approx(p)
    assert record.calibrated(p) == pytest.approx(p)


def test_trials_that_disagree_pull_a_forecast_to_the_crowd() -> None:
    record = OwnRecord(forecasts=30, questions=30, until="", floor=0.2, slope=1.0)
    assert record.shrunk(0.9, (0.9, 0.9), 0.5) == pytest.approx(0.9)
    assert 0.5 < record.shrunk(0.9, (0.99, 0.4), 0.5) < record.shrunk(0.9, (0.93, 0.86), 0.5) < 0.9


def question(number: int, **fields: object) -> Question:
    return Question(
        id=f"q{number}", title=f"Will it happen, number {number}?", crowd={f"q{number}": 0.5}, **fields
    )  # type: ignore[arg-type]


def past_night(
    store: Store, ids: Sequence[str], p: Sequence[float], *, name: str = "q.1", cutoff: str = "2026-01-01"
) -> None:
    """A night over these questions, two equal trials each, as its stream would hold it."""
    facts = round_facts(
        set_name="q", cutoff=Cutoff.parse(cutoff), rules=RULES, questions=ids, left_out=(), contexts={},
        gathered=True, crowd={each: 0.5 for each in ids}, own_record=None,
    )  # fmt: skip
    plan = step_plan(store, name, facts, "quick", budget_usd=None, concurrency=1)
    store.append(
        f"night:{name}", ev.StudyOpened(study=json.loads(json.dumps(plan.spec.to_json())), manifest=facts)
    )
    forecast(store, name, ids, p)


def forecast(store: Store, night: str, ids: Sequence[str], p: Sequence[float]) -> None:
    for each, value in zip(ids, p, strict=True):
        for trial in (1, 2):
            store.append(
                f"night:{night}", ev.ForecastMade(node=each, trial=trial, arm="quick", seed=0, p=value)
            )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "home")
    rows = overconfident(80)
    entries = [question(number) for number in range(80)] + [question(80, closes_on="2099-01-01")]
    add_questions(
        opened, "q", QuestionFile(questions=tuple(entries), left_out=()), form="json", origin="test"
    )
    past_night(opened, [f"q{n}" for n in range(80)], [row.p for row in rows])
    outcomes = {f"q{number}": row.outcome for number, row in enumerate(rows)}
    # half of them decided in January, the others after the cutoff that the tests use
    days = {each: "2026-01-31" if number < 40 else "2026-03-01" for number, each in enumerate(outcomes)}
    came = [Resolution(event, p, days[event]) for event, p in outcomes.items()]
    record_resolutions(opened, "q", came, source="file")
    yield opened
    opened.close()


def test_only_what_was_decided_by_the_cutoff_counts(store: Store) -> None:
    assert len(list(resolved_forecasts(store, MARCH))) == 40
    assert len(list(resolved_forecasts(store, Cutoff.parse("2026-03-02")))) == 80
    assert list(resolved_forecasts(store, Cutoff.parse("2026-01-31"))) == []
    # a night of a later cutoff knew more than this one may
    assert list(resolved_forecasts(store, Cutoff.parse("2025-12-31"))) == []
    record = own_record(store, MARCH)
    assert (record.forecasts, record.until) == (40, "2026-02-28") and record.corrects


def test_what_was_decided_before_a_night_began_teaches_nothing(store: Store) -> None:
    """Two worlds: outcomes of before the night's own cutoff may have been read by it, and change nothing."""
    before = own_record(store, MARCH)
    record_resolutions(
        store, "q", [Resolution(f"q{n}", 0.0, "2025-12-31") for n in range(40, 80)], source="file"
    )
    assert own_record(store, MARCH) == before
    record_resolutions(
        store, "q", [Resolution(f"q{n}", 1.0, "2026-01-01") for n in range(40, 80)], source="file"
    )
    assert own_record(store, MARCH).forecasts == 80


def test_a_later_night_does_not_stand_in_front_of_an_earlier_one(store: Store) -> None:
    """Two worlds: a night that knew more than this one may is asked the same events; what may teach stays what it was."""
    before = list(resolved_forecasts(store, MARCH))
    past_night(store, [f"q{n}" for n in range(40)], [0.5] * 40, name="q.2", cutoff="2026-06-01")
    assert list(resolved_forecasts(store, MARCH)) == before


async def test_a_night_keeps_the_record_it_was_opened_with_and_the_raw_values(
    store: Store, tmp_path: Path
) -> None:
    sitting = RoundWork(environ={})
    night = await open_round(store, "q", RULES, MARCH, sitting)
    assert night.questions == ("q80",) and night.crowd == {"q80": 0.5}
    forecast(store, night.name, ["q80"], [0.95])
    results, folder = write_round(store, load_round(store, night.name))
    (row,) = results.rows
    assert results.record is not None and results.record.corrects
    assert row.raw == pytest.approx(0.95) and row.shrunk is not None and row.p is not None and row.p < 0.9
    rows = {
        (each["method"], each["trial"]): float(each["p"])
        for each in csv.DictReader((folder / "forecasts.csv").read_text().splitlines())
    }
    assert rows["raw", "1"] == pytest.approx(0.95) and rows["final", "1"] == pytest.approx(row.p)
    assert (
        "own record: 40 resolved forecasts of 40 questions up to 2026-02-28"
        in (folder / "night.html").read_text().lower()
    )
    # what resolves later, and a crowd that is fetched later, changes nothing of it
    moved = question(80, closes_on="2099-01-01")
    add_questions(
        store,
        "q",
        QuestionFile(questions=(Question(**{**_fields(moved), "crowd": {"q80": 0.99}}),), left_out=()),
        form="json",
        origin="x",
    )
    record_resolutions(store, "q", [Resolution(f"q{n}", 1.0, "2026-02-01") for n in range(40)])
    again, _ = write_round(store, load_round(store, night.name))
    assert (again.rows[0].p, again.rows[0].crowd) == (row.p, 0.5) and load_set(store, "q")["q80"].crowd == {
        "q80": 0.99
    }
    for words, p in (((), row.p), (("--method", "raw"), 0.95)):
        done = run_cli(
            tmp_path, "submit", "prophet", "q", "--night", night.name, "--partial", "-o", "a.json", *words
        )
        assert done.returncode == 0 and "own record: 40 resolved" in done.stderr, done.stderr
        answer = json.loads((tmp_path / "a.json").read_text())
        assert answer["predictions"][0]["p_yes"] == pytest.approx(p)
    raw = await open_round(store, "q", replace(RULES, own_record=False), MARCH, sitting)
    forecast(store, raw.name, ["q80"], [0.95])
    plain, _ = write_round(store, load_round(store, raw.name))
    assert plain.record is None and plain.rows[0].p == plain.rows[0].raw


def _fields(entry: Question) -> dict[str, object]:
    return {"id": entry.id, "title": entry.title, "closes_on": entry.closes_on}
