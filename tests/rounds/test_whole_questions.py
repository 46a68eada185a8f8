"""A choice and a number are each one question: one request a trial, one distribution, and a number's CRPS once it came."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command_line import run_cli, run_json, run_ok
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from workbench.agents.errors import MalformedReply
from workbench.agents.grounders.thought_replies import parse_outcomes, parse_percentiles
from workbench.questions.formats.format_registry import OWN
from workbench.science.scoring.quantile_curve import PERCENTILES, Scale, chance_below, metaculus_cdf

QUESTIONS: list[dict[str, Any]] = [
    {"id": "cut", "title": "Will the bank cut its rate before 2027-03-01?", "background": "It held since June."},
    {"id": "party", "title": "Which party leads on 2027-03-01?", "kind": "options", "options": ["D66", "CDA", "VVD", "Other"]},
    {"id": "oil", "title": "What does Brent close at on 2027-02-26?", "kind": "numeric", "low": 30, "high": 150,
     "open_low": True, "open_high": True, "unit": "USD", "levels": [50, 70, 90, 110], "source": "metaculus"},
]  # fmt: skip


def quick_pass(home: Path, server: OpenAIServer, *, trials: int) -> None:
    """A round of the set ``s`` without contexts and trees."""
    words = ("--model", "openai/x", "--set", f"api_base={server.url}", "--contexts", "none", "--promote", "0", "--trials", str(trials))  # fmt: skip
    run_ok(home, "tournament", "run", "s", *words, OPENAI_API_KEY="none")


def test_a_round_asks_each_question_once_a_trial_and_scores_the_number(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(json.dumps({"format": OWN, "questions": QUESTIONS}))
    run_ok(tmp_path, "questions", "import", "q.json", "--as", "s")
    with OpenAIServer(Policy()) as server:
        words = ("--model", "openai/x", "--set", f"api_base={server.url}", "--contexts", "none", "--promote", "0", "--trials", "3", "--set", "quick=zero-shot")  # fmt: skip
        plan = run_cli(tmp_path, "tournament", "run", "s", *words, "--plan-only", OPENAI_API_KEY="none")
        assert "quick pass (zero-shot): 9 runs, about 9 calls" in plan.stdout + plan.stderr, plan.stderr
        assert not server.asked
        run_ok(tmp_path, "tournament", "run", "s", *words, OPENAI_API_KEY="none")
        asked = list(server.asked)
    assert len(asked) == 9
    document = run_json(tmp_path, "tournament", "show", "s.1")
    rows = {row["event"]: row for row in document["forecasts"]}
    options = [rows[f"party#{name}"] for name in QUESTIONS[1]["options"]]
    assert sum(row["p"] for row in options) == pytest.approx(1) and all(
        len(row["trials"]) == 3 for row in options
    )
    levels = [rows[f"oil#{level}"]["p"] for level in (50, 70, 90, 110)]
    assert levels == sorted(levels, reverse=True)
    shown = run_json(tmp_path, "questions", "show", "s/oil")
    assert list(shown["quantiles"]) == ["0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95"]
    assert shown["quantiles"]["0.5"] == pytest.approx(90)
    run_ok(tmp_path, "submit", "metaculus", "s", "--night", "s.1", "-o", "m.md", "--partial")
    sent = json.loads((tmp_path / "m.json").read_text())
    by_id = {entry["question"]: entry for entry in sent}
    assert 0.01 <= by_id["cut"]["probability_yes"] <= 0.99
    assert len(by_id["oil"]["continuous_cdf"]) == 201 and set(
        by_id["party"]["probability_yes_per_category"]
    ) == set(QUESTIONS[1]["options"])
    check = (
        "submit",
        "metaculus",
        "s",
        "-o",
        "m.json",
        "--check",
    )  # either name means the comments and the forecasts beside them
    run_ok(tmp_path, *check)
    for place, bad, says in (
        ("cut", {"probability_yes": 1.2}, "less than or equal to 1"),
        ("cut", {"probability_yes": None}, "probability_yes is missing"),
        ("cut", {"probability_yes": 0.0004}, "from 0.001 to 0.999"),
        ("party", {"probability_yes_per_category": {QUESTIONS[1]["options"][0]: 1.0}}, "a share for each of"),
        ("oil", {"continuous_cdf": [0.0] * 201}, "above the one before"),
        ("oil", {"continuous_cdf": by_id["oil"]["continuous_cdf"][:200]}, "201 values"),
        ("oil", {"question": "gone"}, "not in the set"),
        ("oil", {"continuous": []}, "unknown keys"),
    ):
        changed = [{**entry, **(bad if entry["question"] == place else {})} for entry in sent]
        (tmp_path / "m.json").write_text(json.dumps(changed))
        refused = run_cli(tmp_path, *check)
        assert refused.returncode == 6 and says in refused.stdout, (bad, refused.stdout)
    run_ok(tmp_path, "questions", "resolve", "s", "oil", "90")
    table = tmp_path / "home" / "nights" / "s.1" / "quantiles.csv"
    scored = run_json(tmp_path, "questions", "score", "s", "--quantiles", str(table))
    by_unit = scored["methods"]["final"]["crps"]
    assert [score["mean"] > 0 for score in by_unit.values()] == [True], by_unit


#: What has no levels of its own: (fields of the question, its answer); with a range it is asked at the range's tenths too.
UNDIVIDED: list[tuple[dict[str, Any], str]] = [
    ({"kind": "numeric", "low": 30, "high": 150, "unit": "USD"}, "90"),
    ({"kind": "numeric", "low": 1, "high": 1000, "zero_point": 0, "open_high": True}, "17"),
    ({"kind": "numeric", "low": 0, "unit": "votes"}, "42"),
    ({"kind": "numeric"}, "42"),
    ({"kind": "numeric", "horizons": ["2027-02-26", "2027-03-26"]}, "42"),
    ({"kind": "date", "earliest": "2027-01-10", "latest": "2027-05-20", "open_high": True}, "2027-03-02"),
    ({"kind": "date", "days": ["2027-02-01", "2027-04-01"]}, "2027-03-02"),
    ({"kind": "date", "closes_on": "2027-12-31"}, "2027-03-02"),
]


@pytest.fixture(scope="module")
def undivided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which one night asked every number and date, each in one request."""
    home = tmp_path_factory.mktemp("undivided")
    questions = [
        {"id": f"q{place}", "title": f"Quantity {place}?", **fields}
        for place, (fields, _) in enumerate(UNDIVIDED)
    ]
    (home / "q.json").write_text(json.dumps({"format": OWN, "questions": questions}))
    run_ok(home, "questions", "import", "q.json", "--as", "s")
    with OpenAIServer(Policy()) as server:
        quick_pass(home, server, trials=1)
        assert len(server.asked) == len(questions) + 1  # one has two horizons
        run_ok(home, "forecast", "s/q5", "s/q3", OPENAI_API_KEY="none")
        assert len(server.asked) == len(questions) + 3
    run_ok(home, "submit", "metaculus", "s", "--night", "s.1", "-o", "m.md", "--partial")
    return home


@pytest.mark.parametrize("place", range(len(UNDIVIDED)))
def test_a_number_or_date_without_levels_is_asked_shown_and_scored(undivided: Path, place: int) -> None:
    fields, answer = UNDIVIDED[place]
    dated = fields["kind"] == "date"
    shown = run_json(undivided, "questions", "show", f"s/q{place}")
    quantiles = list(shown["quantiles"].values())
    assert len(quantiles) == 7 and quantiles == sorted(quantiles)
    assert all(isinstance(value, str if dated else float) for value in quantiles)
    drawn = run_cli(undivided, "questions", "show", f"s/q{place}").stdout
    assert all(mark in drawn for mark in "░▒▓█")
    page = (undivided / "home" / "nights" / "s.1" / "night.html").read_text()
    assert page.count('class="fan"') == len(UNDIVIDED) + 1 and str(quantiles[3]) in page
    if dated:
        assert "2027-01-01" <= quantiles[0] <= quantiles[-1] <= "2027-12-31"
    horizon = ("--set", f"horizon={fields['horizons'][0]}") if "horizons" in fields else ()
    run_ok(undivided, "questions", "resolve", "s", f"q{place}", answer, *horizon)
    table = undivided / "home" / "nights" / "s.1" / "quantiles.csv"
    scored = run_json(undivided, "questions", "score", "s", "--quantiles", str(table))
    unit = "days" if dated else fields.get("unit", "")
    by_unit = scored["methods"]["final"]["crps"]
    assert by_unit[unit]["mean"] > 0 or by_unit[unit]["n"], by_unit
    document = run_json(undivided, "questions", "show", f"s/q{place}")
    assert str(document["numbers"][0]["value"]) in (answer, f"{answer}.0")


def test_a_date_leaves_as_a_curve_over_its_range(undivided: Path) -> None:
    entries = json.loads((undivided / "m.json").read_text())
    cdfs = {entry["question"]: entry["continuous_cdf"] for entry in entries if "continuous_cdf" in entry}
    assert set(cdfs) == {"q0", "q1", "q5"}
    # The fake spreads its days evenly over the range, whose upper end is open.
    days = np.array(cdfs["q5"])
    assert days[0] == 0 and days[100] == pytest.approx(0.5, abs=0.02) and 0.9 < days[-1] <= 0.999


quantiles_of = st.lists(st.floats(-50, 250), min_size=7, max_size=7).map(sorted)


@given(quantiles_of, st.booleans(), st.booleans(), st.sampled_from([None, -1.0, -100.0]))
def test_a_cdf_is_what_metaculus_takes(
    values: list[float], open_low: bool, open_high: bool, zero: float | None
) -> None:
    scale = Scale(low=0.0, high=200.0, open_low=open_low, open_high=open_high, zero_point=zero)
    inside = [value if open_low else max(value, 0.0) for value in values]
    quantiles = dict(
        zip(PERCENTILES, (value if open_high else min(value, 200.0) for value in inside), strict=True)
    )
    cdf = np.array(metaculus_cdf(quantiles, scale))
    steps = np.diff(cdf)
    assert len(cdf) == 201 and steps.min() >= 5e-5 - 1e-12 and steps.max() <= 0.2
    assert cdf[0] >= 0.001 if open_low else cdf[0] == 0
    assert cdf[-1] <= 0.999 if open_high else cdf[-1] == pytest.approx(1, abs=1e-9)
    below = chance_below(quantiles, scale, np.linspace(-300, 500, 99))
    assert (np.diff(below) >= -1e-12).all() and below[0] >= 0 and below[-1] <= 1


@pytest.mark.parametrize("broken", [{"95": 1.0}, {"5": -5.0}, {"60": 3.0}])
def test_percentiles_that_fall_or_leave_closed_bounds_go_back(broken: dict[str, float]) -> None:
    good = {level: float(level) for level in PERCENTILES}
    scale = Scale(low=0, high=100)
    assert (
        parse_percentiles(f"```json\n{json.dumps({'percentiles': good})}\n```", scale).probabilities == good
    )
    with pytest.raises(MalformedReply):
        parse_percentiles(f"```json\n{json.dumps({'percentiles': {**good, **broken}})}\n```", scale)


@pytest.mark.parametrize(("total", "fits"), [(1.0, True), (1.04, True), (1.3, False), (0.8, False)])
def test_options_that_do_not_come_to_one_go_back(total: float, fits: bool) -> None:
    reply = f"```json\n{json.dumps({'probabilities': {'a': total / 2, 'b': total / 2}})}\n```"
    if fits:
        assert sum(parse_outcomes(reply, ("a", "b"), exclusive=True).probabilities.values()) == total
    else:
        with pytest.raises(MalformedReply, match="instead of 1"):
            parse_outcomes(reply, ("a", "b"), exclusive=True)
    assert parse_outcomes(reply, ("a", "b")).probabilities["a"] == total / 2  # the paper's task takes any sum


@pytest.mark.parametrize("exclusive", [True, False])
def test_markets_of_a_venue_that_exclude_each_other_are_asked_as_one_choice(
    tmp_path: Path, exclusive: bool
) -> None:
    markets = [
        {
            "ticker": f"K-{name}",
            "event_ticker": "K",
            "yes_sub_title": name,
            "result": "",
            "close_time": "2027-03-01T00:00:00Z",
        }
        for name in ("Ann", "Bo", "Cy")
    ]
    event = {"event_ticker": "K", "title": "Who leads?", "mutually_exclusive": exclusive, "markets": markets}
    (tmp_path / "k.json").write_text(json.dumps({"events": [event]}))
    run_ok(tmp_path, "questions", "import", "k.json", "--as", "s")
    with OpenAIServer(Policy()) as server:
        quick_pass(tmp_path, server, trials=2)
        asked = [one.last for one in server.asked]
    assert len(asked) == 2 and all("- Ann\n- Bo\n- Cy" in one for one in asked)
    assert ["exactly one does" in one for one in asked] == [exclusive] * 2
    rows = run_json(tmp_path, "tournament", "show", "s.1")["forecasts"]
    assert (sum(row["p"] for row in rows) == pytest.approx(1)) == exclusive
