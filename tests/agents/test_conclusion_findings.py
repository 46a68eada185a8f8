"""What a model says is held to what it showed: each check with its positive control, over every kind of run, and 275 honest reports."""

import itertools
import json
import random
from collections import Counter
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.score_reports import STRANGERS, findings_of, reports_in, score
from workbench.agents.findings.check_table import ReplyFinding, RunKind, sent_back
from workbench.agents.findings.conclusion_checks import (
    CONCLUSION_CHECKS,
    NotebookRecord,
    case_finding,
    conclusion_findings,
)
from workbench.agents.replies.stage_replies import Accounting, Case, parse_conclusion

FLAGS = tuple(item.name for item in fields(RunKind))
KINDS = [
    RunKind(**dict(zip(FLAGS, held, strict=True)))
    for held in itertools.product((False, True), repeat=len(FLAGS))
]
SHOWED = NotebookRecord(
    proposition="P1: The S&P 500 closes above 2700 on 2018-12-31",
    printed={"cell-1": "share 0.093 of 614 windows", "cell-2": "2018-06-12 2786.85", "cell-3": "inside 0.57"},
    data_calls=1,
)
SOUND: dict[str, Any] = {"p_true": 0.12, "key_factor": "k"}
#: Each check, what is wrong in the reply or the notebook, and words of the finding.
FAULTS: dict[str, tuple[str, dict[str, Any], NotebookRecord, str]] = {
    "quoted numbers": ("It held in 71.4 % of them.", {}, SHOWED, "quotes 71.4"),
    "figures from no cell": ("Report.", {"base_rate": 0.22, "n": 88}, SHOWED, "base_rate 0.22, n 88 stand in no output"),
    "counted cases": ("Report.", {"cases": [{"case": f"Cut {n}", "source": f"S1.{n}", "came_true": n == 1} for n in range(3)], "base_rate": 0.093, "n": 3}, SHOWED, "1 of the 3 listed cases came true, (k + 1) / (n + 2) = 0.40"),
    "bounds": ("Report.", {"low": 0.57, "high": 0.57}, SHOWED, "p 0.12 with low 0.57"),
    "far from base rate": ("Report.", {"base_rate": 0.57, "p_true": 0.02}, SHOWED, "far from the base rate of 0.57"),
    "certain without a row": ("It cannot fail any more.", {"p_true": 1}, SHOWED, "names no row that settles it"),
    "report and number": ("I put the probability at 12 %. It is very unlikely.", {"p_true": 0.88}, SHOWED, "arrives at 0.12"),
    "asked for no data": ("Report.", {}, replace(SHOWED, data_calls=0), "asked for data"),
}  # fmt: skip
#: Where a check has nothing to look at or nothing to say.
SILENT = {
    "quoted numbers": {"no_kernel"},
    "figures from no cell": {"no_kernel"},
    "asked for no data": {"no_kernel"},
    "far from base rate": {"clairvoyant"},
}


def found(
    prose: str, said: dict[str, Any], notebook: NotebookRecord, kind: RunKind
) -> tuple[ReplyFinding, ...]:
    text = f"{prose}\n\n```json\n{json.dumps({**SOUND, **said})}\n```"
    return conclusion_findings(parse_conclusion(text), None if kind.no_kernel else notebook, kind)


def test_the_table_has_every_check() -> None:
    assert [check.name for check in CONCLUSION_CHECKS] == list(FAULTS)
    assert all(set(check.where) <= set(FLAGS) for check in CONCLUSION_CHECKS)
    assert {check.name: set(check.where) for check in CONCLUSION_CHECKS if check.where} == SILENT


@pytest.mark.parametrize("name", FAULTS)
def test_each_check_finds_its_fault_and_no_other_in_every_kind_of_run(name: str) -> None:
    prose, said, notebook, words = FAULTS[name]
    for kind in KINDS:
        names = [item.check for item in found(prose, said, notebook, kind)]
        silent = any(getattr(kind, flag) for flag in SILENT.get(name, ()))
        assert names == ([] if silent else [name]), kind.names()
    (only,) = found(prose, said, notebook, RunKind())
    assert words in only.words and only.mend
    assert sent_back([only, only]).count(only.mend) == 2


def test_a_sound_conclusion_has_no_finding_in_any_kind_of_run() -> None:
    said = {
        "base_rate": 0.093,
        "n": 614,
        "inside_view": 0.57,
        "adjustments": "+0.03",
        "low": 0.093,
        "high": 0.57,
    }
    prose = "In 9.3 % of 614 windows it held; I put it at 12 %."
    assert not any(found(prose, said, SHOWED, kind) for kind in KINDS)


@pytest.mark.parametrize(
    ("prose", "said"),
    [
        ("The level was passed on 2018-06-12 at 2786.85.", {"p_true": 1}),  # the row that settles it is named and printed
        ("I put the probability that it fails at 88 %.", {"p_true": 0.12}),
        ("I start at 57 % and end at 12 %.", {"p_true": 0.12}),
        ("Report.", {"base_rate": 0.57, "p_true": 0.02, "adjustments": "-0.55 for the distance"}),
        ("Report.", {"base_rate": 0.093, "inside_view": 0.57, "p_true": 0.5}),
        ("Report.", {"base_rate": 0.093, "p_true": 0.4, "adjustments": [{"why": "a trend of -3.9% a month", "points": 0.307}]}),
    ],
)  # fmt: skip
def test_what_is_explained_is_no_fault(prose: str, said: dict[str, Any]) -> None:
    assert found(prose, said, SHOWED, RunKind()) == ()


def test_adjustments_that_point_the_other_way_do_not_explain_it() -> None:
    said = {"base_rate": 0.57, "p_true": 0.02}
    for adjustments in ("+0.10 for momentum", [{"why": "-3.9% a month", "points": 0.1}]):
        (only,) = found("Report.", {**said, "adjustments": adjustments}, SHOWED, RunKind())
        assert "point the other way" in only.words


@given(st.integers(1950, 2060), st.sampled_from([0, 1]))
def test_a_bare_year_is_no_row_that_settles_it(year: int, p: int) -> None:
    shown = replace(SHOWED, printed={"cell-1": f"{year}-01-01 2786.85"})
    for prose, names in (
        (f"It was passed in {year}.", ["certain without a row"]),
        (f"It was passed on {year}-01-01.", []),
    ):
        assert [item.check for item in found(prose, {"p_true": p}, shown, RunKind())] == names


@given(st.integers(1, 99), st.integers(1, 99))
def test_a_number_for_the_opposite_contradicts_nothing(stated: int, p: int) -> None:
    """A negation may belong to the number or not: such a sentence agrees where it can, and is held against nobody."""
    for who in ("I put the probability", "I estimate the chance"):
        negated = found(f"{who} that it does not hold at {stated} %.", {"p_true": p / 100}, SHOWED, RunKind())
        assert "report and number" not in [item.check for item in negated]
        plain = found(f"{who} that it holds at {stated} %.", {"p_true": p / 100}, SHOWED, RunKind())
        assert ("report and number" in [item.check for item in plain]) == (abs(stated - p) > 3)


@given(st.text(max_size=300), st.floats(0, 1), st.text(max_size=60))
def test_any_prose_is_read(prose: str, p: float, adjustments: str) -> None:
    said = parse_conclusion(
        f"```json\n{json.dumps({**SOUND, 'p_true': p, 'base_rate': 0.5, 'adjustments': adjustments})}\n```"
    )
    conclusion_findings(replace(said, report=prose), SHOWED, RunKind())


@pytest.mark.parametrize(
    ("reports", "count"),
    [("honest_reports.jsonl", 101), (STRANGERS.name, 74), ("blind_reports.jsonl", 100)],
)
def test_at_most_one_in_twenty_honest_reports_is_flagged(reports: str, count: int) -> None:
    """Written one by one, by people who had not seen the checks; the last are of somebody who knew none (docs/use/models.md)."""
    rows = list(reports_in(STRANGERS.with_name(reports)))
    flagged = [found for row in rows if (found := findings_of(row)[0])]
    assert len(rows) == count and len(flagged) <= count / 20, flagged
    assert f"{len(flagged)} of {count} reports sent back" in score(rows)


def test_a_made_up_figure_in_those_reports_is_found() -> None:
    """The more digits a figure has, the less can it be there by chance: of four all are found, of three every second one."""
    rng = random.Random(30)
    put_in: Counter[int] = Counter()
    found: Counter[int] = Counter()
    for row in reports_in(STRANGERS):
        prose, _, block = row["reply"].partition("\n\n```json\n")
        for digits in (3, 4):
            spelling = f"{rng.uniform(20, 99):.{digits - 2}f}"
            reply = f"{prose} The mean of the sample was {spelling}.\n\n```json\n{block}"
            found[digits] += any(spelling in item.words for item in findings_of({**row, "reply": reply})[0])
            put_in[digits] += 1
    assert found[4] >= 0.95 * put_in[4] and found[3] >= 0.5 * put_in[3], (found, put_in)


@pytest.mark.parametrize(
    "report",
    [
        "Of 614 windows 9.3 % ended above it, that is 57 of them, and 90.7 % did not.",
        "The level is 86.85 below the last close, or 3.1 %.",
        "In 9.3 % of the cases, about one in eleven, it held. The 30-year bond and the S&P 500 say little.",
        "I take 40 % for the chance of a hike, 60 % of that for the rest.",
        "From memory, the crisis of 2008 cost 38.49 %.",
        "With 185 days left, half a year, little moves. A 95 % band is wide.",
        "Cell 23 simulates 5,000 paths over 126 days.",
        "Of 1 962 windows 0,093 ended above it; of those like 2009 fewer.",
    ],
)
def test_what_follows_or_is_judged_may_be_quoted(report: str) -> None:
    notebook = replace(SHOWED, sources={"cell-1": "simulate(paths=5_000, days=126)"})
    notebook = replace(notebook, printed={**notebook.printed, "cell-4": "windows 1962"})
    assert found(report, {}, notebook, RunKind()) == ()


@pytest.mark.parametrize(
    "report", ["It held in 88 of 131 windows.", "The mean was 48.73.", "In 71 % of the windows it fell."]
)
def test_what_is_made_up_is_found(report: str) -> None:
    (only,) = found(report, {}, SHOWED, RunKind())
    assert only.check == "quoted numbers"


def test_a_parameter_counts_as_shown_and_a_comment_does_not() -> None:
    said = "It held in 71.4 % of 2,345 windows."
    typed = replace(SHOWED, sources={"cell-1": "run(2345)  # 71.4 %"})
    (only,) = found(said, {}, typed, RunKind())
    assert "71.4" in only.words and "2,345" not in only.words


@pytest.mark.parametrize("slip", ["base_rate", "bounds", "p"])
def test_the_same_reports_with_one_slip_are_found(slip: str) -> None:
    """A check that never speaks would pass the tests above."""
    slipped = caught = 0
    for row in (*reports_in(STRANGERS), *reports_in(STRANGERS.with_name("honest_reports.jsonl"))):
        prose, _, block = row["reply"].rpartition("```json\n")
        said = json.loads(block.partition("\n```")[0])
        if slip == "base_rate" and "base_rate" in said:
            said["base_rate"] = 0.4137
        elif slip == "bounds" and "low" in said:
            said["low"], said["high"] = 0.0, round(said["p_true"] / 2, 3)
        elif slip == "p":
            said["p_true"] = 1.0
        else:
            continue
        slipped += 1
        caught += bool(findings_of({**row, "reply": f"{prose}```json\n{json.dumps(said)}\n```"})[0])
    assert slipped > 50 and caught >= 0.95 * slipped


CASE = st.fixed_dictionaries({"case": st.sampled_from(["Cut of 2001", "Cut of 2019"]), "source": st.sampled_from(["S1.1", ""]), "came_true": st.booleans()})  # fmt: skip


@given(st.lists(CASE, min_size=1, max_size=12), st.sampled_from(["rate", "share", "none"]))
def test_the_base_rate_of_listed_cases_is_counted_again(cases: list[dict[str, Any]], says: str) -> None:
    """Whoever counted right, in either form, is left alone; the count itself stands in the report."""
    k, n = sum(each["came_true"] for each in cases), len(cases)
    stated = {"rate": round((k + 1) / (n + 2), 2), "share": round(k / n, 2), "none": None}[says]
    said = {"cases": cases, "base_rate": stated, "p_true": 0.4, "adjustments": "It differs"}
    assert "counted cases" not in [item.check for item in found("Report.", said, None, RunKind())]
    rate = (k + 1) / (n + 2)
    wrong = {**said, "base_rate": rate + 0.3 if rate < 0.6 else rate - 0.3}
    assert "counted cases" in [item.check for item in found("Report.", wrong, None, RunKind())]
    report = parse_conclusion(f"Report.\n\n```json\n{json.dumps({**SOUND, **said})}\n```").report
    assert f"{k} of {n} came true" in report


SHOWN = {
    "1": "1. Ruritania cut its rate in March 2019 (2019-03-07): by a quarter.",
    "2": "2. Rates held in 2021.",
}


@pytest.mark.parametrize(
    ("case", "source", "stands"),
    [
        ("Ruritania cut in 2019", "1", True),
        ("Ruritania cut in 2019", "source 1", True),
        ("Ruritania cut in 2019", "[1]", True),
        ("Ruritania cut in 2018", "1", False),
        ("Borduria raised", "1", False),
        ("Ruritania cut in 2019", "2", False),
        ("Ruritania cut in 2019", "7", False),
        ("Rates held in 2021", "the news", True),
        ("Anything at all", "", None),
        ("Anything at all", "from memory", None),
    ],
)
def test_a_case_counts_where_its_words_and_days_stand_in_the_source_that_it_names(
    case: str, source: str, stands: bool | None
) -> None:
    numbers = Accounting.model_validate({"cases": [{"case": case, "source": source, "came_true": True}]})
    finding = case_finding(numbers, SHOWN, "\n".join(SHOWN.values()))
    assert (finding is None) is (stands is not False)
    if finding is not None:
        assert "1 of the 1 listed cases count as from memory" in finding.words
        other = Case(case="Rates held in 2021", source="2", came_true=False)
        both = numbers.model_copy(update={"cases": (*numbers.cases, other)})
        counted = case_finding(both, SHOWN)
        assert counted is not None and "0 of the other 1 came true, (k + 1) / (n + 2) = 0.33" in counted.words


@pytest.mark.parametrize(
    "cases", ["many", None, [1], [{"case": ""}], [{"case": "a", "came_true": "perhaps"}], {"a": 1}]
)
def test_cases_that_cannot_be_read_are_left_out(cases: Any) -> None:
    """A weak model's list costs neither its answer nor a second ask."""
    reply = json.dumps({**SOUND, "cases": cases, "yes_if": 3, "no_if": ["a", "b"]})
    said = parse_conclusion(f"Report.\n\n```json\n{reply}\n```")
    assert (said.p, said.numbers.cases, said.numbers.no_if) == (0.12, (), "a; b")
