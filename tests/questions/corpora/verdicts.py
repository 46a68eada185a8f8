"""Whether what was read of a claim is what a fair reader reads: two corpora, one written by somebody who had not seen the reader."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

from workbench.questions.claims import ON_A_DAY
from workbench.questions.readings.calendar_days import exchange_holiday
from workbench.questions.readings.lexicon import lexicon
from workbench.questions.readings.read import read
from workbench.questions.readings.slots import ClaimReading, Readings
from workbench.questions.series.embedded_series import SERIES as EMBEDDED

HERE = Path(__file__).parent
#: Names that the blind corpus has for series, and those of this product.
SERIES = {
    "S&P 500": "embedded:SP500", "Nasdaq Composite": "embedded:NASDAQ", "VIX": "embedded:VIX", "WTI crude oil": "embedded:WTI",
    "core CPI": "embedded:CORE_CPI", "Moody's Baa corporate yield": "embedded:BAA", "Moody's Aaa corporate yield": "embedded:AAA",
    "CPI": "US headline CPI", "unemployment rate": "US unemployment rate", "EURUSD": "EUR/USD", "GBPUSD": "GBP/USD", "USDJPY": "USD/JPY",
    "fed funds target rate": "federal funds rate", "effective fed funds rate": "effective federal funds rate", "bitcoin": "Bitcoin",
    "30-year fixed mortgage rate": "30-year mortgage rate", "nonfarm payrolls monthly change": "US nonfarm payrolls",
    "US high yield option-adjusted spread": "US high-yield spread", "US investment grade option-adjusted spread": "US investment-grade spread",
    "Amazon share price": "AMZN", "Apple share price": "AAPL", "Netflix share price": "NFLX", "Tesla share price": "TSLA",
    "Google share price": "GOOGL", "Walmart share price": "WMT", "Microsoft share price": "MSFT", "JPMorgan share price": "JPM",
    "Facebook share price": "FB", "Goldman Sachs share price": "GS", "Bank of America share price": "BAC", "Nasdaq-100": "NASDAQ-100",
    "industrial production": "US industrial production", "real GDP": "US real GDP", "core PCE price index": "US core PCE",
    "PCE price index": "US PCE inflation", "housing starts": "US housing starts", 
    "US retail gasoline price": "US gasoline price", "initial jobless claims": "US initial jobless claims", "SPY ETF": "SPY",
    "retail sales": "US retail sales",
    "Case-Shiller 20-city home price index": "Case-Shiller home prices", "average hourly earnings": "US average hourly earnings",
    "ISM manufacturing index": "ISM manufacturing PMI", "University of Michigan consumer sentiment": "Michigan consumer sentiment",
    "Henry Hub natural gas": "natural gas", "German 10-year Bund yield": "German 10-year yield", "new home sales": "US home sales",
    "3-month LIBOR": "3-month rate", "3-month Treasury bill yield": "3-month rate",
}  # fmt: skip
#: Two series whose difference is one by itself here.
SPREADS = {
    ("embedded:BAA", "embedded:AAA"): "embedded:SPREAD",
    ("10-year Treasury yield", "2-year Treasury yield"): "10-year minus 2-year Treasury spread",
    ("10-year Treasury yield", "3-month rate"): "10-year minus 3-month Treasury spread",
    ("5-year Treasury yield", "2-year Treasury yield"): "5-year minus 2-year Treasury spread",
    ("3-month rate", "3-month rate"): "TED spread",
}
_UP, _DOWN = ("above", "at_least", "toward"), ("below", "at_most", "toward")
_SCALES = {"basis_points": 0.01, "thousand": 1e3, "million": 1e6}


@dataclass(frozen=True)
class Verdict:
    text: str
    cutoff: str
    #: read, suggested, refused (rightly, where the label says so), misread, or "wrong" suggestions
    verdict: str
    readings: Readings
    label: Any


@dataclass(frozen=True)
class Said:
    """A claim in the words of the corpora: which of them has what series, and how it stands to what level over what days."""

    series: tuple[str, ...]
    relation: str
    comparison: str
    level: float | None
    upper: float | None
    window: str
    start: date | None
    end: date
    times: int
    never: bool
    statement: str


_RELATIONS = {
    "range": "level", "inside": "stay", "points": "change", "average": "average_gap", "cross": "average_cross", "relative": "beats",
    "highest": "maximum", "lowest": "minimum", "move": "move_by", "step": "any_step", "peak": "from_peak", "first_move": "first",
    "trough": "from_trough",
}  # fmt: skip
_GROWTH = {"year": "growth_yoy", "month": "growth_mom", "quarter": "growth_qoq", None: "growth_annualized"}
_ON_A_DAY = (*ON_A_DAY, "growth")


def said(reading: ClaimReading) -> list[Said]:
    """Return what a reading says; of a change since a month or a year before also as growth."""
    claim = reading.says
    names = tuple(name.lower() for name in (claim.series, claim.other) if name)
    relation, comparison, never = (
        _RELATIONS.get(claim.pattern, claim.pattern),
        str(claim.comparison),
        claim.never,
    )
    if claim.pattern == "record":
        relation = "new_high" if claim.side == "above" else "new_low"
    if claim.pattern.startswith("growth"):
        relation = _GROWTH[claim.every]
    if claim.pattern == "touch" and never and claim.side != "toward":
        relation, never = "stay", False
        comparison = "below" if claim.side == "above" else "above"
    if claim.upper is not None and relation != "first":
        comparison = "between"
    window = {"release": "next_release", "meeting": "next_meeting"}.get(claim.event) or ("on" if claim.pattern in _ON_A_DAY else "by")  # fmt: skip
    plain = Said(names, relation, comparison, claim.level, claim.upper, window, claim.start, claim.end, claim.times, never, reading.statement)  # fmt: skip
    if claim.pattern != "change" or claim.start is None:
        return [plain]
    months = (claim.end.year - claim.start.year) * 12 + claim.end.month - claim.start.month
    grown = {12: "growth_yoy", 1: "growth_mom"}.get(months)
    return [plain, replace(plain, relation=grown)] if grown else [plain]


@cache
def _sources() -> dict[str, str]:
    """What claims name series by, by the names that the corpora have for them."""
    known = lexicon()
    tickers = {ticker.upper(): known.listed.get(ticker) or f"yahoo:{ticker.upper()}" for ticker in known.companies.values()}  # fmt: skip
    series = {ref: str(row["source"]) for ref, row in known.series.items() if "source" in row}
    return {**{f"embedded:{name}": name for name in EMBEDDED}, **tickers, **series}


def source_of(name: str) -> str:
    """What a claim names a series of the corpora by."""
    return _sources().get(name, name).lower()


def fits(reading: ClaimReading, label: dict[str, Any]) -> bool:
    return any(_fits(each, label) for each in said(reading))


def _fits(reading: Said, label: dict[str, Any]) -> bool:
    return (
        _same_series(reading, label)
        and _same_relation(reading, label["relation"])
        and _same_level(reading, label)
        and _same_window(reading, label)
    )


def _same_series(reading: Said, label: dict[str, Any]) -> bool:
    named = [SERIES.get(each, each) for each in (label["series"], label["second"]) if each]
    spread = SPREADS.get(tuple(named))  # type: ignore[call-overload]
    return reading.series in ((source_of(spread or ""),), tuple(map(source_of, named)))


_SIDES = {
    "up": _UP,
    "down": _DOWN,
    "strictly up": _UP[:2],
    "strictly down": _DOWN[:2],
    "between": ("between",),
    "toward": ("toward",),
}


@cache
def _rows() -> dict[tuple[str, str], list[list[str]]]:
    rows: dict[tuple[str, str], list[list[str]]] = {}
    for line in (HERE / "relations.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            of, relation, *has = line.split("\t")
            rows.setdefault((of, relation), []).append([*has, ""])
    return rows


def same_relation(reading: Said, of: str, wanted: str) -> bool | None:
    """Whether a reading says what ``relations.tsv`` has of a label's relation; None where it has no row."""
    rows, level = _rows().get((of, wanted)), reading.level or 0.0
    holds = {
        "": True,
        "+": level > 0,
        "-": level < 0,
        "not +": level <= 0,
        "never": reading.never,
        "not never": not reading.never,
        "not never in a window": not reading.never and reading.window != "on",
    }
    return rows and any(
        reading.relation in names.split(",")
        and (not side or reading.comparison in _SIDES[side])
        and holds[rest[0]]
        for names, side, *rest in rows
    )


def _same_relation(reading: Said, wanted: str) -> bool:
    name, side = reading.relation, reading.comparison
    if name.startswith("growth") and side == "between":
        return wanted == "growth_between"
    if name.startswith("growth"):
        base, _, tail = wanted.rpartition("_")
        on_the_way = base.startswith(("first", "touches")) and reading.window != "on"
        return (wanted.startswith("growth") or on_the_way) and side in {"above": _UP, "below": _DOWN}.get(tail, ())  # fmt: skip
    found = same_relation(reading, "blind", wanted)
    return name == wanted if found is None else found


def _same_level(reading: Said, label: dict[str, Any]) -> bool:
    wanted, scale = label["level"], _SCALES.get(label["unit"] or "", 1.0)
    if label["count"] and reading.times != label["count"][0]:
        return False
    if wanted is None:
        return True
    if isinstance(wanted, list):
        return reading.upper is not None and _near(reading.level, wanted[0] * scale) and _near(reading.upper, wanted[1] * scale)  # fmt: skip
    if reading.relation == "beats" and not wanted:
        return True
    if label["unit"] == "other":  # pips, cents: the label does not say of what
        return reading.level is not None
    return _near(abs(reading.level or 0.0), abs(wanted * scale))


def _closed_before(end: date, days: int | None) -> bool:
    return any(exchange_holiday(end - timedelta(days=i)) for i in range(2 * (days or 0)))


def _near(a: float | None, b: float) -> bool:
    return a is not None and abs(a - b) <= 1e-6 * max(1.0, abs(b))


def _same_window(reading: Said, label: dict[str, Any]) -> bool:
    window = label["window"]
    if window["kind"] in ("next_release", "next_meeting"):
        return reading.window == window["kind"]
    if window["end"] is None:
        return True
    if reading.end is None:
        return False
    # Two days without a weekday between them are one day of a market.
    first, last = sorted((reading.end, date.fromisoformat(window["end"])))
    if label["count"] and _closed_before(last, label["count"][1]) and (last - first).days <= 3:
        return True  # days of trading, which some count by the exchange's calendar and some by weekdays
    return all((first + timedelta(days=i)).weekday() >= 5 for i in range(1, (last - first).days + 1))


def blind_verdicts(path: Path = HERE / "blind.jsonl") -> Iterator[Verdict]:
    for line in path.read_text(encoding="utf-8").splitlines():
        label = json.loads(line)
        found = read(label["text"], date.fromisoformat(label["cutoff"]))
        yield Verdict(label["text"], label["cutoff"], verdict_of(found, label), found, label)


def verdict_of(found: Readings, label: dict[str, Any]) -> str:
    kind, wanted = label["kind"], label["readings"]
    if kind == "refuse":
        return judged_none(found)
    if kind == "no_series" and not wanted:
        return "misread" if found.best else "suggested" if found.missing or found.leftover else "wrong"
    if kind == "hole":
        if found.best:
            return "misread"
        named = set(label["missing"]) & set(found.missing)
        return "suggested" if named or any(fits(each, one) for each in found.others for one in wanted) else "refused"  # fmt: skip
    return judged(found, lambda reading: any(fits(reading, one) for one in wanted))


def judged(found: Readings, right: Callable[[ClaimReading], bool]) -> str:
    if found.best:
        return "read" if right(found.best) else "misread"
    return "suggested" if any(map(right, found.others)) else "wrong" if found.others else "refused"


def judged_none(found: Readings) -> str:
    """Of a text that is no claim."""
    return "misread" if found.best else "wrong" if found.others else "refused rightly"


def own_verdicts(path: Path = HERE / "own.tsv") -> Iterator[Verdict]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        text, cutoff, *label = line.split("\t")
        found = read(text, date.fromisoformat(cutoff))
        none = label[0] == "refuse"
        verdict = judged_none(found) if none else judged(found, partial(_own_fits, label))
        yield Verdict(text, cutoff, verdict, found, label)


def _own_fits(label: list[str], reading: ClaimReading) -> bool:
    return any(_own_says(label, each) for each in said(reading))


def _own_says(label: list[str], reading: Said) -> bool:
    series, relation, level, end = label
    named, either = reading.series, tuple(map(source_of, series.split(",")))
    right = named == either or (len(named) == 1 and named[0] in either)
    value = None if level == "-" else float(level)
    same = value is None or (reading.level is not None and _near(abs(reading.level), abs(value)))
    signed = value is None or value >= 0 or (reading.level or 0) < 0
    return right and reading.relation in relation.split(",") and same and signed and (end == "-" or str(reading.end) in end.split(","))  # fmt: skip


def table(verdicts: Iterable[Verdict]) -> Counter[str]:
    return Counter(each.verdict for each in verdicts)


def described(each: Verdict) -> str:
    """One line for a person who mends the reader."""
    says = "; ".join(re.sub(r"\s+", " ", choice.statement) for choice in each.readings.choices)
    return f"{each.verdict}: {each.text!r} at {each.cutoff}: {says or each.readings.leftover or each.readings.missing}"
