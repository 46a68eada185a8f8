"""Numbers of a report that nothing holds up: neither printed nor said in the claim, nor one simple step away from such numbers.

A number is complained of only where it is used as evidence. Names ("the 30-year rate", "Article 50"), days, conventions (a 95 % band, 25
basis points) and what the writer judges himself ("I add 5 points", "if it fell by 40 %") are no evidence. A share or a count of two digits
must stand in a sentence that speaks of cases or measurements; a number of three digits and more counts wherever it stands.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import combinations, islice, permutations

from proxies.asof.mentions import mentions

_MONTH = r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zä]*\.?"
_DATE = re.compile(
    r"\b\d{4}-\d{2}(?:-\d{2})?\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|(?<![\w.,])(?:19|20|21)\d\d(?![\d,.]\d)(?:\b|(?=s\b))"
    r"|(?<![\w.,])(?:19|20)\d\d[-/–]\d{2,4}\b"
    r"|\b(?:since|in|from|of|until|after|before|to|year) 1[5-9]\d\d\b(?![.,]\d)"
    # The 9 of "141.9 may" is no day.
    rf"|(?<![\w.,])\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? {_MONTH}(?!\w)|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?![\d.,%]\d|\d| ?%)",
    re.IGNORECASE,
)
#: Days as they are printed; a plain 1962 may be a count there.
DAY = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b")
#: "8 675" with a space that keeps it together, or a plain one, and "0,955".
_SPACED = re.compile(r"(?<![\w.,-])(\d{1,3})[ \u00a0\u202f\u2009](?=\d{3}(?!\d))")
_COMMA = re.compile(r"(?<![\w.,])(0),(?=\d+(?![\d,.]\d))|(?<![\w.,])(\d{1,3}),(?=\d{1,2}(?![\d,]))")
#: Not inside words, ids (P1.2), dates or larger numbers; thousands may be set off by commas.
NUMBER = re.compile(
    r"(?<![\w.,/-])(?<!\d:)[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w/]|[:.,-]\d)"
)
#: In outputs a unit may stick to a number, a sign may stand before it, and "297/851" are two numbers.
_PRINTED = re.compile(r"(?<![\w.])[-+−]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?;])[)*\"']*\s+(?=[^\s])|\n+")
_LITERAL = re.compile(r"(?<![\w.])(?:\d+(?:_\d{3})*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_TEXT_OF_CODE = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*", re.DOTALL)

_HEDGE = re.compile(
    r"(?:about|around|roughly|approximately|nearly|almost|some|near|close to|approx\.?|ca\.?|circa|~|≈|perhaps|maybe|say|just|not quite"
    r"|something like|a bit|order of|rund|etwa|knapp|say,)[ $€£~]*$",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?:more than|over|above|at least|upwards of|exceeds?|better than|well over|fewer than|less than|under|below|at most|up to|within"
    r"|beyond|north of|south of|>|<|≥|≤|mehr als|unter|über) ?[$€£]?$",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"[ \u00a0-]?(?:%|per ?cent\b|pct\b|percentage points?\b|pp\b|points?\b|pts?\b|prozent|punkte)", re.IGNORECASE)  # fmt: skip
#: A writer's own steps and suppositions.
_JUDGED = re.compile(
    r"\b(?:I|we)(?:'d|'ll| would| will| might| could| can|'ve)? (?:\w+ ){0,2}?(?:put|add|subtract|take|give|shade|trim|cut|lower|raise|move|go|end|arrive|land|settle"
    r"|say|choose|stay|keep|weigh|weight|assign|conclude|estimate|judge|set|discount|widen|double|halve|reduce|knock|shave|allow|call|think|assume|nudge|adjust|bump"
    r"|reckon|guess|suppose|treat|place|come|pull|blend|average|use|lean|hold|see|bet|want|need|get)\w*\b"
    r"|\b(?:my|our|ich|mein)\b|\b(?:if|would|could|might|should|suppose|supposing|assum\w+|say|let's|perhaps|maybe|unless|thinkable|conceivabl\w+"
    r"|plausibl\w+|hypothetical\w*|imagine|even at|judg\w+|guess\w*|adjust\w*|haircut|shad\w+|weight\w*|bounds?|band|low end|high end|interval"
    r"|final|overall|net|all in|so|hence|therefore|probability|odds|bet|estimate|credence|belief)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|would|could|might|suppos\w+|assum\w+|let's|imagine|hypothetical\w*)\b", re.IGNORECASE
)
#: Words of a sentence that reports what was counted or measured.
_EVIDENCE = re.compile(
    r"\b(?:windows?|cases?|instances?|occasions?|share of|frequency|histor\w+|record|count(?:ed|s)?|observ\w+|measur\w+|print\w*|cells?|outputs?|sample"
    r"|average[ds]?|mean|median|sd|sigma|standard|deviations?|base rate|happened|occurred|held|rose|fell|ended|closed|paths?|simulat\w+|episodes?|periods?"
    r"|of the time|times|spans|comparable|n ?=|of \d+|out of|correlation|hit)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"[ -](?:\w+[ -]){0,3}?(?:windows?|cases?|instances?|occasions?|times|observations?|samples?|events?|paths?|spans?|episodes?|periods?|months|quarters|meetings|"
    r"days|weeks|years|polls|readings|releases|draws)\b",
    re.IGNORECASE,
)
#: The writer says himself that it comes from elsewhere.
_DISCLAIMED = re.compile(
    r"\b(?:from memory|I recall|as I remember|not from (?:the|a|any) (?:cells?|outputs?|notebook)|outside (?:of )?(?:the|this) notebook|not (?:loaded|fetched|printed|checked|in the outputs)"
    r"|did not (?:load|fetch|print|check)|unverified|general knowledge|background knowledge|no (?:cell|output) (?:shows|holds|printed)|rule of thumb|illustrat\w+)\b",
    re.IGNORECASE,
)
#: A number that is part of a name, or says which row, cell or clause is meant.
_NAME = re.compile(
    r"(?:\b(?:S&P|Nasdaq|Russell|FTSE|CAC|DAX|MDAX|Nikkei|Stoxx|Euro Stoxx|TSX|ASX|IBEX|SMI|Topix|CSI|Dow|MSCI|Fortune|Top|Group of|Article|Section|Rule|Chapter|Resolution"
    r"|Title|Boeing|Airbus|Cells?|Python cell|Table|Figure|Rows?|Step|Output|Note|Page|Paragraph|Item|No\.?|Nr\.?|Number|Week|Day|Round|Act|Bill|Proposition|Basel|Model|"
    r"Form|Version|Highway|Route|Flight|aged?|Lag|Seed|Game|Matchday|Stage|COVID|Agenda|Area|Platform|Level)(?:s|\.)?[ -]?|[#§\[])$",
    re.IGNORECASE,
)
_CONFIDENCE = re.compile(
    r"[ \u00a0-]?(?:%|per ?cent|th|st|nd|rd)?[ -]?(?:\w+[ -])?(?:intervals?|confidence|bands?|CI\b|percentiles?|quantiles?|credible|range|level of confidence|significance|quantil)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"[ -](?:\w+ )?-?(?:seconds?|minutes?|hours?|(?:trading |calendar |business |working )?days?|weeks?|months?|years?|quarters?|sessions?|tage?|monate?)\b|[ -]odd",
    re.IGNORECASE,
)
_COMPOUND = re.compile(r"[-‑](?!percent|per-cent|pct|point)[A-Za-z]{2,}|-(?=and-)")
_LARGE = re.compile(r"\b(?:thousand|million|billion|trillion|bn|mn)\b|000\b", re.IGNORECASE)
_BASIS = re.compile(r"[ -]?(?:bps?\b|basis[ -]points?)", re.IGNORECASE)
_SHOWN_STEP = re.compile(r"(?<!\bn )(?<!\bN )(?<!\b[nN])=|[×*≈→^√Φ]|\b(?:i\.e\.|that is|that's|which is|makes?|making|hence|so|thus|times|equals?|gives?|impl(?:y|ies|ied)|leav\w+|mid-?point|averag(?:es|ing)|together)\b")  # fmt: skip
_CALENDAR = {24, 26, 28, 30, 31, 36, 40, 45, 48, 52, 60, 80, 90, 100, 120, 125, 126, 130, 150, 180, 182, 183, 200, 250, 252, 260, 270, 360, 364, 365, 366, 500, 504, 730}  # fmt: skip
_CONFIDENCES = {25, 50, 66, 68, 75, 80, 90, 95, 98, 99, 97.5, 2.5, 99.9, 99.5}
_SPELLED = {
    "half": 0.5, "halve": 0.5, "halves": 0.5, "third": 1 / 3, "quarter": 0.25, "fifth": 0.2, "sixth": 1 / 6, "tenth": 0.1, "twice": 2, "double": 2,
    "doubling": 2, "doubled": 2, "treble": 3, "triple": 3, "tripled": 3, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "annual": 12, "annually": 12, "yearly": 12, "quarterly": 4,
    "monthly": 12, "weekly": 52, "dozen": 12, "hundred": 100, "none": 0,
}  # fmt: skip
_WORD = re.compile(r"[a-z]+")
#: So many are named in a complaint.
_NAMED = 6
#: Numbers of a report that are looked up, and characters of it in which days are read.
_READ, _LONGEST = 400, 20_000
#: Numbers of outputs beyond these are looked up as they are, not combined.
_COMBINED = 120
_SHARES = (1.0, 100.0, 0.01)
_LARGE_UNITS = (1e3, 1e-3, 1e6, 1e-6, 1e9, 1e-9)


@dataclass(frozen=True, slots=True)
class QuotedNumber:
    """A number of a report: what it is, how it is spelled, and where it stands."""

    value: float
    spelling: str
    before: str
    after: str
    sentence: str
    place: int

    @property
    def digits(self) -> int:
        """How many digits say something: 2,700 has two, 0.093 has two, 71.40 has four."""
        mantissa = self.spelling.lower().partition("e")[0].lstrip("+-−").replace(",", "")
        whole = mantissa.replace(".", "").lstrip("0")
        return len(whole if "." in mantissa else whole.rstrip("0")) or 1

    @property
    def percent(self) -> bool:
        """Whether it is given in per cent or in points."""
        return _PERCENT.match(self.after) is not None

    def within(self) -> tuple[float, float]:
        """How far below and above it a number may lie that it stands for: rounded, hedged, or said to be a bound."""
        mantissa, _, power = self.spelling.lower().partition("e")
        decimals = len(mantissa.partition(".")[2])
        step = 10.0**-decimals * 10.0 ** int(power or 0)
        bare = mantissa.lstrip("+-−").replace(",", "")
        if not decimals and abs(self.value) >= 1000:
            step = 10.0 ** min(len(bare) - len(bare.rstrip("0")), max(len(bare) - 2, 0))
        low = high = 0.5 * step
        size = abs(self.value)
        if _HEDGE.search(self.before):
            low, high = max(low, 0.08 * size), max(high, 0.08 * size)
        if _BOUND.search(self.before) or self.after.startswith(("+", "-odd", " odd", " or more", " or so")):
            low, high = max(low, 0.25 * size), max(high, 0.25 * size)
        return low * (1 + 1e-9) + 1e-12, high * (1 + 1e-9) + 1e-12


class KnownNumbers:
    """Numbers that may be quoted, for looking up what a quoted one stands for."""

    def __init__(self, values: Iterable[float]) -> None:
        self.values = sorted({abs(value) for value in values if math.isfinite(value)})

    def hold(self, quoted: QuotedNumber, scales: Sequence[float], slack: float = 0.0) -> bool:
        """Whether one of them, in some unit, is what is quoted; ``slack`` is a share by which it may be off."""
        size = abs(quoted.value)
        low, high = (max(bound, slack * size) for bound in quoted.within())
        for scale in scales:
            place = bisect_left(self.values, (size - low) / scale * (1 - 1e-12))
            if place < len(self.values) and self.values[place] * scale <= size + high:
                return True
        return False


def unprinted(
    report: str,
    printed: Iterable[str],
    level: str = "",
    *,
    sources: Iterable[str] = (),
    cutoff: str = "",
    stated: Sequence[float] = (),
) -> list[str]:
    """Return the numbers of a report that are used as evidence and that nothing holds up, as it spells them; the first few.

    `sources`: Sources of cells. Their parameters may be quoted (a horizon, a number of paths), not what their comments and texts say.

    >>> unprinted("In 61.3% of 38 windows it rose, by 4.71 on average.", ["share 0.6129 of 38"])
    ['4.71']
    """
    printed = list(printed)
    missing = (number.spelling for number in unheld(report, printed, level, sources, cutoff, stated)[0])
    return list(dict.fromkeys(missing))[:_NAMED]


def follows(
    value: float,
    report: str,
    printed: Iterable[str],
    level: str = "",
    *,
    sources: Iterable[str] = (),
    cutoff: str = "",
) -> bool:
    """Return whether a report quotes a share and shows how it follows from what was printed, without what the writer judges."""
    _, held = unheld(report, list(printed), level, sources, cutoff, ())
    return any(
        abs(number.value / scale - value) <= 0.5 * 10.0 ** -(len(repr(value).partition(".")[2])) + 1e-9
        for number in held
        for scale in (1.0, 100.0)
    )


def takes(value: float, sources: Iterable[str]) -> bool:
    """Return whether a source of a cell has a number as its parameter, such as the paths that it simulates."""
    return any(value in _parameters(source) for source in sources)


def unheld(
    report: str,
    printed: Sequence[str],
    level: str,
    sources: Iterable[str],
    cutoff: str,
    stated: Sequence[float],
) -> tuple[list[QuotedNumber], list[QuotedNumber]]:
    """Return the numbers of a report that nothing holds up, and those of more than a word that something does."""
    report = as_spelled_here(_CODE.sub(" ", report))
    numbers = list(islice(quoted_numbers(report), _READ))
    outputs = [value for text in printed for value in values_of(text)]
    marks = list(_levels(level))
    literals = [value for text in sources for value in _parameters(text)]
    direct = KnownNumbers([*outputs, *marks, *literals])
    steps = KnownNumbers(
        [
            *_one_step(direct.values),
            *(value for text in printed for value in _lines_say(text)),
            *_from_marks(marks, direct.values),
        ]
    )
    spans = KnownNumbers(_spans(report, level, cutoff, printed))
    large = _LARGE.search(level) is not None
    own = KnownNumbers([value for p in stated for value in (p, 1 - p)] + _between(stated, outputs))
    held: list[QuotedNumber] = []
    left: list[QuotedNumber] = []
    aside: list[QuotedNumber] = []  # judged, or a length of time: no evidence, but one may reckon with it
    pairs: dict[int, KnownNumbers] = {}
    for number in numbers:
        if own.hold(number, _SHARES) and _share_like(number):
            aside.append(number)
        elif direct.hold(number, _units(number, large)) or steps.hold(number, _SHARES):
            held.append(number)
        elif (_TIME.match(number.after) and spans.hold(number, (1.0,))) or (
            (number.percent or 0 < abs(number.value) < 1) and spans.hold(number, (100.0, 1.0))
        ):
            aside.append(number)
        elif 3 * len(direct.values) ** 2 <= 10**number.digits / 2:
            # as long as it is no coincidence, any two printed numbers may be compared
            near = pairs.setdefault(0, KnownNumbers(_pairs(direct.values)))
            (held if near.hold(number, _SHARES) else left).append(number)
        else:
            left.append(number)
    aside += [number for number in left if not _is_evidence(number)]
    for _ in range(3):  # a step may rest on the one before it, or on what is supposed
        newly = [number for number in left if _shown_here(number, [*held, *aside], marks, stated)]
        held += newly
        left = [number for number in left if number not in newly]
        if not newly:
            break
    return [number for number in left if _is_evidence(number)], held


def quoted_numbers(report: str) -> Iterator[QuotedNumber]:
    """Yield the numbers of a report that are more than words of it."""
    masked = _DATE.sub(lambda match: " " * len(match[0]), report)
    cuts = [0, *(match.end() for match in _SENTENCE.finditer(masked)), len(masked)]
    for match in NUMBER.finditer(masked):
        value = number_spelled(match[0])
        if not math.isfinite(value) or is_word(value, match[0]):
            continue
        place = bisect_left(cuts, match.start() + 1) - 1
        sentence = report[cuts[place] : cuts[place + 1]]
        yield QuotedNumber(
            value,
            match[0],
            masked[max(cuts[place], match.start() - 30) : match.start()],
            masked[match.end() : match.end() + 40],
            sentence,
            place,
        )


def as_spelled_here(report: str) -> str:
    """Return a report with thousands and decimals as English spells them, character by character in its place.

    >>> as_spelled_here("8 675 windows, 0,955 of them")
    '8,675 windows, 0.955 of them'
    """
    spaced = _SPACED.sub(r"\1,", report)
    return _COMMA.sub(lambda match: f"{match[1] or match[2]}.", spaced)


# --- what may be quoted ------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def values_of(text: str) -> tuple[float, ...]:
    """Return every number that a text holds, without its dates."""
    # A plain 1962 may be a count here; in a report it is a year, and not looked up.
    masked = DAY.sub(" ", text.replace("±", " ")).replace("/", " ")
    return tuple(
        value for match in _PRINTED.finditer(masked) if math.isfinite(value := number_spelled(match[0]))
    )


def _parameters(source: str) -> Iterator[float]:
    for match in _LITERAL.finditer(_DATE.sub(" ", _TEXT_OF_CODE.sub(" ", source))):
        yield float(match[0].replace("_", ""))


def _one_step(values: Sequence[float]) -> Iterator[float]:
    for value in values[:5000]:
        if 0 < value < 1:
            yield from (1 - value, value / (1 - value), (1 - value) / value)
        elif 1 < value < 100:
            yield from (100 - value, value / (100 - value), (100 - value) / value)
        if value:
            yield 1 / value


@lru_cache(maxsize=512)
def _lines_say(text: str) -> tuple[float, ...]:
    lines = text.splitlines()
    groups = [values_of(line) for line in lines[:400]]
    steps_made: list[float] = []
    for values in groups:
        if 2 <= len(values) <= 4:
            steps_made += _pairs(values)
        for start, stop in combinations(range(len(values[:16]) + 1), 2):
            steps_made += [sum(values[start:stop]), sum(values[start:stop]) / (stop - start)]
    whole = values_of(text)
    columns = [
        [values[place] for values in groups if len(values) == width]
        for width in {len(values) for values in groups if values}
        for place in range(min(width, 8))
    ]
    for several in (*groups, whole, *map(tuple, columns)):
        if 2 <= len(several) <= 400:
            ordered = sorted(several)
            steps_made += [
                sum(several), sum(several) / len(several), ordered[-1] - ordered[0], ordered[(len(several) - 1) // 2],
                (ordered[(len(several) - 1) // 2] + ordered[len(several) // 2]) / 2, float(len(several)),
            ]  # fmt: skip
    if len(whole) <= 8:
        counts = [value for value in whole if value >= 0 and value == int(value)]
        steps_made += [
            step
            for part, all_ in permutations(counts, 2)
            if part <= all_ and all_
            for step in (part / all_, 1 - part / all_, all_ - part, part + all_)
        ]
    return tuple(steps_made)


def _levels(claim: str) -> Iterator[float]:
    for value, _ in _numbers_said(claim):
        yield value
        if _LARGE.search(claim):
            yield from (value * 1e3, value * 1e6)


def _from_marks(marks: Sequence[float], values: Sequence[float]) -> Iterator[float]:
    for mark in marks:
        yield mark / 1000.0  # "below 200" of a line at 200,000
        for value in values[:5000]:
            if value:
                yield from (mark - value, (mark - value) / value, mark / value, value / mark if mark else 0.0)
                yield (value - mark) / mark if mark else 0.0


def _pairs(values: Sequence[float]) -> list[float]:
    steps_made: list[float] = []
    for first, second in permutations(values[:_COMBINED], 2):
        steps_made += [first - second, first + second]
        if second:
            steps_made += [first / second, (first - second) / second]
        if abs(first) <= 1 or abs(second) <= 1:
            steps_made.append(first * second)
    return steps_made


def _between(stated: Sequence[float], outputs: Sequence[float]) -> list[float]:
    shares = [value if value <= 1 else value / 100 for value in outputs[:200] if 0 <= value <= 100]
    return [abs(p - other) for p in stated for other in (*stated, *shares)]


def _spans(report: str, level: str, cutoff: str, printed: Sequence[str]) -> Iterator[float]:
    texts = [level, cutoff, *(text[-2000:] for text in printed), report[:_LONGEST]]
    days: dict[date, None] = {}
    for text in texts:
        for item in mentions(text):
            written = text[item.start : item.end]
            for shift in (0, 31, 365) if len(written) < 9 and written[:1].isdigit() else (0, 30):
                days.setdefault(item.day + timedelta(days=shift))
            if len(days) > 40:
                break
    for first, second in permutations(list(days)[:40], 2):
        gap = (second - first).days
        if gap > 0:
            for near in range(gap - 3, gap + 4):
                yield from (near, near * 252 / 365, near * 5 / 7)
            yield from (round(gap / 7), gap / 7, round(gap / 30.44), gap / 365.25)


# --- what a report shows itself ----------------------------------------------------------------------------------


def _shown_here(
    number: QuotedNumber, held: Sequence[QuotedNumber], marks: Sequence[float], rates: Sequence[float]
) -> bool:
    near = [other for other in held if number.place - 2 <= other.place <= number.place]
    words = [*_small(number.sentence)]
    if not near and len(words) + bool(marks) < 2:
        return False
    shown = _SHOWN_STEP.search(number.sentence) is not None
    operands = [*(abs(other.value) for other in near), *words, *rates]
    operands = list(dict.fromkeys(operands))[-12:]
    if number.digits >= 3 or shown:
        operands = list(dict.fromkeys([*operands, *marks]))
    operands = [value for value in operands if value != abs(number.value) or value < 20]
    steps: list[float] = []
    for first, second in permutations(operands, 2):
        steps += [first - second, first + second, first * second, (first + second) / 2]
        if second:
            steps += [first / second, (first - second) / second, first / (1 + second / 100)]
            steps += [first * (1 - second / 100), first * (1 + second / 100)]
        if 0 < first < 1 and 1 <= second <= 1000:
            steps += [first**second, 1 - (1 - first) ** second, first * math.sqrt(second)]
        elif 1 <= second <= 1000 and first < 1e9:
            steps += [
                first * math.sqrt(second),
                100 * min(first / 100, 1.0) ** second,
                first / math.sqrt(second),
            ]
    for value in operands:
        if 0 < value < 1:
            steps += [1 - value, math.exp(-value), 1 - math.exp(-value)]
        if 0 < value < 100:
            steps.append(100 - value)
        if value < 6 and shown:
            tail = 0.5 * math.erfc(value / math.sqrt(2))
            steps += [tail, 1 - tail, 2 * tail]
    values = [other.value for other in near if other.place == number.place]
    if len(values) > 2:
        steps += [sum(values), sum(values) / len(values)]
    if number.digits >= 3 or shown:
        for first, second, third in permutations(operands[-9:], 3):
            steps += [first + second + third, first * second * third, first + second - third]
            steps += [first - second * third, first + second * third]
            if third:
                steps += [(first - second) / third, first * second / third, (first + second) / third]
    units = [1e4] if _BASIS.match(number.after) else []
    if _LARGE.search(number.sentence):
        units += [1e3, 1e-3, 1e6, 1e-6]
    # people reckon with what they have rounded
    return KnownNumbers(steps).hold(
        number, (*_SHARES, *units), slack=0.04 if shown and number.digits < 4 else 0.0
    )


def _small(sentence: str) -> Iterator[float]:
    for value, spelling in _numbers_said(sentence):
        if is_word(value, spelling):
            yield abs(value)
    for word in _WORD.findall(sentence.lower()):
        if word in _SPELLED:
            yield _SPELLED[word]
        elif word.endswith("s") and word[:-1] in _SPELLED:
            yield _SPELLED[word[:-1]]


def _units(number: QuotedNumber, large: bool) -> tuple[float, ...]:
    basis = (1e4,) if _BASIS.match(number.after) else ()
    return (*_SHARES, *basis, *(_LARGE_UNITS if large or _LARGE.search(number.sentence) else ()))


def _share_like(number: QuotedNumber) -> bool:
    return number.percent or abs(number.value) <= 1


def _is_evidence(number: QuotedNumber) -> bool:
    sentence, size = number.sentence, abs(number.value)
    if _DISCLAIMED.search(sentence) or _NAME.search(number.before):
        return False
    whole = size == int(size)
    if whole and not number.percent and _COMPOUND.match(number.after):
        return False
    if size in _CONFIDENCES and _CONFIDENCE.match(number.after):
        return False
    if whole and size in _CALENDAR and _TIME.match(number.after):
        return False
    if _BASIS.match(number.after) and size % 25 == 0 and size <= 100:
        return False
    if number.digits >= 3:
        judged = _JUDGED if _share_like(number) else _SUPPOSED
        return judged.search(sentence) is None or _EVIDENCE.search(sentence) is not None
    counted = _COUNTED.match(number.after) or re.match(r" ?(?:of|/|out of|in|from) ?\d", number.after)
    if number.percent or 0 < size < 1:
        return _EVIDENCE.search(sentence) is not None and _JUDGED.search(sentence) is None
    if _JUDGED.search(sentence) and not counted:
        return False
    return counted is not None or ("." in number.spelling and _EVIDENCE.search(sentence) is not None)


def _numbers_said(text: str) -> Iterator[tuple[float, str]]:
    masked = _DATE.sub(" ", text)
    for match in NUMBER.finditer(masked):
        value = number_spelled(match[0])
        if math.isfinite(value) and not _NAME.search(masked[: match.start()][-30:]):
            yield value, match[0]


def number_spelled(spelling: str) -> float:
    """Return what a number is that is spelled with thousands and signs as people write them."""
    return float(spelling.replace(",", "").replace("−", "-"))


def is_word(value: float, spelling: str) -> bool:
    """Return whether a number is as good as a word of a text: small and whole, an even chance, or a hundred."""
    return "." not in spelling and (abs(value) < 20 or abs(value) in (50, 100))
