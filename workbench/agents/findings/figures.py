"""Figures of a report against what was printed: by value, within the last digit that is written, in whatever unit.

A figure is held up where an output, the claim or a parameter of a cell holds it, or where it follows in a step from such figures: those
of one line or column of an output, or those that stand beside it in the report. Complained of is a figure of three digits and more,
and a share or count of cases with fewer ("71 % of the windows"). Days, what a sentence supposes and what it says to come from
elsewhere are no evidence.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice, pairwise, permutations

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
_DAY = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b")
#: "8 675" with a space that keeps it together, or a plain one, and "0,955".
_SPACED = re.compile(r"(?<![\w.,-])(\d{1,3})[ \u00a0\u202f\u2009](?=\d{3}(?!\d))")
_COMMA = re.compile(r"(?<![\w.,])(0),(?=\d+(?![\d,.]\d))|(?<![\w.,])(\d{1,3}),(?=\d{1,2}(?![\d,]))")
#: Not inside words, ids (P1.2), dates or larger numbers; thousands may be set off by commas, and "1.2m" is a number with its unit.
_NUMBER = re.compile(
    r"(?<![\w.,/-])(?<!\d:)[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?=(?:k|m|bn|bp|tn)\b|(?![\w/]|[:.,-]\d))"
)
#: In outputs a unit may stick to a number, a sign may stand before it, and "297/851" are two numbers.
_PRINTED = re.compile(r"(?<![\w.])[-+−]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?;])[)*\"']*\s+(?=[^\s])|\n+")
_LITERAL = re.compile(r"(?<![\w.])(?:\d+(?:_\d{3})*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_TEXT_OF_CODE = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*", re.DOTALL)
_ROUGHLY = re.compile(
    r"(?:about|around|roughly|approximately|nearly|almost|some|near|close to|ca\.?|~|≈|just|rund|etwa|over|above|under|below|than|least|most|up to|within|[<>≥≤])[ $€£~]*$",
    re.IGNORECASE,
)
#: What a sentence supposes from here on, and what it says to come from elsewhere.
_SUPPOSED = re.compile(
    r"\b(?:if|must|needs?|would|could|can|might|expect|suppos\w+|assum\w+|let's|imagine|without|conditional\w*)\b|'d\b",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:hypothetical\w*|memory|I recall|as I remember|unverified|general knowledge|background knowledge|rule of thumb|illustrat\w+"
    r"|not (?:loaded|fetched|printed|checked)|outside (?:of )?(?:the|this) notebook|said|according to|announced|reportedly)\b",
    re.IGNORECASE,
)
_BOUND = re.compile(r" ?%? or (?:less|more|lower|higher|better|worse|below|above|fewer)\b", re.IGNORECASE)
_PERCENT = re.compile(r"[ \u00a0]?(?:%|per ?cent\b)", re.IGNORECASE)
_N_IS = re.compile(r"\b[nN] ?= ?$")
_PART_OF = re.compile(r" (?:out )?of \d")
_OF_CASES = re.compile(
    r"[ \u00a0-]?(?:%|per ?cent)?(?: of (?:the|all|these))? ?(?:\w+ )?(?:windows?|cases?|instances?|observations?|samples?|paths?|episodes?|periods?|of (?:the time|\d))",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"[ -](?:(?!an? |the |this |last |per )\w+ )?-?(?:hours?|days?|weeks?|months?|years?|quarters?|sessions?|tage?|monate?)\b",
    re.IGNORECASE,
)
_SHOWN_STEP = re.compile(r"(?<!\b[nN] )(?<!\b[nN])=|[×*≈→√]|\b(?:i\.e\.|that is|that's|which is|mak(?:es?|ing)|hence|so|thus|times|equals?|gives?|impl(?:y|ies|ied)|leav\w+|mid-?point|together|twice|half|double|third|blend\w*|weigh\w*)\b")  # fmt: skip
_WEIGHED = re.compile(r"\b(?:[123]/[34]|thirds?|quarters?|weigh\w*|blend\w*)\b", re.IGNORECASE)
_SPELLED = {
    "half": 0.5, "third": 1 / 3, "quarter": 0.25, "fifth": 0.2, "tenth": 0.1, "twice": 2, "double": 2, "doubled": 2, "one": 1, "two": 2, "three": 3,
    "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "dozen": 12, "twenty": 20,
    "annual": 12, "monthly": 12, "quarterly": 4, "weekly": 52,
}  # fmt: skip
_BASIS_POINTS = re.compile(r" ?(?:bps?|basis points?)\b", re.IGNORECASE)
_UNIT = re.compile(
    r"(?<![^\W\d])(?:thousand|k|million|mn|m|billion|bn|trillion|tn|tausend|mio|mrd)s?\b", re.IGNORECASE
)
#: A quoted number may be a printed one as it is, as a percentage, or a percentage as a share.
_SCALES = (1.0, 100.0, 0.01)
_UNITS = (1e3, 1e-3, 1e6, 1e-6, 1e9, 1e-9)
#: So many are named in a complaint; numbers of a report that are looked up; most rows of an output that a reader counts himself.
_NAMED, _READ, _BY_EYE = 6, 400, 30


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of a report: what it is, how it is spelled, and where it stands."""

    value: float
    spelling: str
    before: str
    after: str
    sentence: str
    place: int
    start: int

    @property
    def digits(self) -> int:
        """How many digits say something: 2,700 has two, 0.093 has two, 71.40 has four."""
        mantissa = self.spelling.lower().partition("e")[0].lstrip("+-−").replace(",", "")
        whole = mantissa.replace(".", "").lstrip("0")
        return len(whole if "." in mantissa else whole.rstrip("0")) or 1

    @property
    def within(self) -> float:
        """How far a number may lie from it that it stands for: it is rounded, or said to be rough."""
        step = _step(self.spelling)
        if "." not in self.spelling and abs(self.value) >= 1000:
            bare = self.spelling.lstrip("+-−").replace(",", "")
            step = 10.0 ** min(len(bare) - len(bare.rstrip("0")), len(bare) - 2)
        rough = 0.1 * abs(self.value) if _ROUGHLY.search(self.before) else 0.0
        return max(0.5 * step, rough) * (1 + 1e-9) + 1e-12

    @property
    def is_evidence(self) -> bool:
        """Whether it is used as something that was counted or measured; a length of time follows from a calendar."""
        if _SUPPOSED.search(self.before) or _ELSEWHERE.search(self.sentence) or _BOUND.match(self.after):
            return False
        if _TIME.match(self.after):
            return False
        of_cases = _OF_CASES.match(self.after) is not None or self.is_count
        if self.digits < 3:
            return of_cases and abs(self.value) >= 20
        # Three bare digits are a name as often as a figure: the 737 MAX, 167 seats.
        return self.digits > 3 or of_cases or "." in self.spelling or _PERCENT.match(self.after) is not None

    @property
    def is_word(self) -> bool:
        """Whether it is as good as a word of its text: small and whole, an even chance, or a hundred."""
        return "." not in self.spelling and (abs(self.value) < 20 or abs(self.value) in (50, 100))

    @property
    def is_count(self) -> bool:
        """Whether it counts cases: what follows from counts is whole."""
        if "." in self.spelling or _PERCENT.match(self.after):
            return False
        texts = ((_OF_CASES.match, self.after), (_PART_OF.match, self.after), (_N_IS.search, self.before))
        return any(found(text) for found, text in texts)

    @property
    def scales(self) -> tuple[float, ...]:
        """What a printed number is multiplied by to be this one: 2300000 by a millionth for "2.3 million"."""
        return (*_SCALES, *_UNITS) if self.digits >= 4 or _UNIT.search(self.sentence) else _SCALES

    def matches(self, values: Sequence[float], *, slack: float = 0.0) -> float | None:
        """Return the one of sorted sizes that it stands for, in some unit."""
        size = abs(self.value)
        within = self.within + slack * size
        for scale in self.scales:
            place = bisect_left(values, (size - within) / scale * (1 - 1e-12))
            if place < len(values) and values[place] * scale <= size + within:
                return values[place]
        return None


def unprinted(
    report: str,
    printed: Iterable[str],
    level: str = "",
    *,
    sources: Iterable[str] = (),
    stated: Sequence[float] = (),
) -> list[str]:
    """Return the figures of a report that are used as evidence and that nothing holds up, as it spells them; the first few.

    ``sources`` are of cells: their parameters may be quoted (a horizon, a number of paths), not what their comments and texts say.
    ``stated`` are probabilities that are the writer's own.

    >>> unprinted("In 61.3% of 38 windows it rose, by 4.71 on average.", ["share 0.6129 of 38"])
    ['4.71']
    """
    _, left = _held_and_left(report, printed, level, sources, stated)
    return list(dict.fromkeys(figure.spelling for figure in left if figure.is_evidence))[:_NAMED]


def follows(
    value: float, report: str, printed: Iterable[str], level: str = "", *, sources: Iterable[str] = ()
) -> bool:
    """Return whether a report quotes a share and shows how it follows from what was printed."""
    held, _ = _held_and_left(report, printed, level, sources, ())
    within = 0.5 * _step(repr(value)) + 1e-9
    return any(abs(figure.value / scale - value) <= within for figure in held for scale in (1.0, 100.0))


def takes(value: float, sources: Iterable[str]) -> bool:
    """Return whether a source of a cell has a number as its parameter, such as the paths that it simulates."""
    return any(value in _parameters(source) for source in sources)


def _held_and_left(
    report: str, printed: Iterable[str], level: str, sources: Iterable[str], stated: Sequence[float]
) -> tuple[list[Figure], list[Figure]]:
    texts = list(printed)
    shown = [
        *(value for text in (*texts, level) for value in values_of(text)),
        *_beside(level),
        *(value for text in sources for value in _parameters(text)),
        *(value for p in stated for value in (p, 1 - p)),
    ]
    direct = sorted({abs(value) for value in shown})
    by_sign = {sign: sorted({sign * value for value in shown if sign * value > 0}) for sign in (1, -1)}
    made = sorted(
        {abs(value) for value in (*_one_step(direct), *(step for text in texts for step in _made_of(text)))}
    )
    away = sorted({abs(value - mark) for value in direct for mark in values_of(level)})
    whole = [value for value in made if value == int(value)]
    held: dict[Figure, float] = {}
    left: list[Figure] = []
    words: dict[Figure, float] = {}
    for figure in islice(quoted_figures(as_spelled_here(_CODE.sub(" ", report))), _READ):
        if figure.is_word:
            words[figure] = abs(figure.value)
            continue
        source = figure.matches(direct)
        if source is not None and figure.spelling[0] in "+-−" and figure.digits >= 3:
            # A sign that is written must be that of what was printed.
            source = figure.matches(by_sign[-1 if figure.value < 0 else 1])
        elif source is None:
            source = figure.matches(whole if figure.is_count else made)
            if source is None and figure.digits >= 4:  # how far a printed level is from the claim's
                source = figure.matches(away)
        if source is None:
            left.append(figure)
        else:
            held[figure] = source
    marks = values_of(level)
    for _ in range(3):  # a step may rest on the one before it, or on what is supposed
        supposed = words | {
            figure: abs(figure.value)
            for figure in left
            if not figure.is_evidence or _TIME.match(figure.after)
        }
        newly = {
            figure: step for figure in left if (step := _reckoned(figure, held | supposed, marks)) is not None
        }
        held |= newly
        left = [figure for figure in left if figure not in held]
    return [*held], left


def quoted_figures(report: str) -> Iterator[Figure]:
    """Yield the numbers of a report, without its days."""
    masked = _DATE.sub(lambda match: " " * len(match[0]), report)
    cuts = [0, *(match.end() for match in _SENTENCE.finditer(masked)), len(masked)]
    for match in _NUMBER.finditer(masked):
        value = number_spelled(match[0])
        if not math.isfinite(value):
            continue
        place = bisect_left(cuts, match.start() + 1) - 1
        before = masked[cuts[place] : match.start()]
        sentence = report[cuts[place] : cuts[place + 1]]
        after = masked[match.end() : match.end() + 40]
        yield Figure(value, match[0], before, after, sentence, place, match.start())


def quoted_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Return where the numbers of a text stand that are more than words of it: start, end, and how each is spelled.

    >>> list(quoted_spans("In 61.3% of 38 windows since 1999"))
    [(3, 7, '61.3'), (12, 14, '38')]
    """
    for figure in quoted_figures(text):
        if not figure.is_word:
            yield figure.start, figure.start + len(figure.spelling), figure.spelling


def printed_by(spelling: str, outputs: Sequence[str], scales: Sequence[float] = _SCALES) -> int | None:
    """Return the place of the first output that printed a number which rounds to this one; None if none did.

    >>> printed_by("61.3", ["38 windows", "share 0.6129"])
    1
    """
    quoted = abs(number_spelled(spelling))
    within = 0.5 * _step(spelling) * (1 + 1e-9) + 1e-12
    for place, text in enumerate(outputs):
        # What a line makes is a count or a share already: a count of 57 is no share of 0.6.
        ways = [(value, scale) for value in values_of(text) for scale in scales]
        ways += [(value, scale) for value in _lines(text) for scale in scales if scale >= 1]
        if any(abs(abs(value) * scale - quoted) <= within for value, scale in ways):
            return place
    return None


def figure_sources(figures: Mapping[str, float], outputs: Mapping[str, str]) -> dict[str, str | None]:
    """Return the cell behind each figure of a conclusion's accounting: the first that printed it, None if none did.

    ``outputs`` are the printed texts by cell. A share counts as printed as one and as a percentage, a count only as it is.

    >>> figure_sources({"base rate": 0.093, "n": 214, "low": 0.04}, {"cell-2": "9.3 % of 214"})
    {'base rate': 'cell-2', 'n': 'cell-2', 'low': None}
    """
    cells, texts = list(outputs), list(outputs.values())
    behind: dict[str, str | None] = {}
    for name, value in figures.items():
        place = printed_by(repr(value), texts, (1.0,) if isinstance(value, int) else (1.0, 0.01))
        if place is None and name == "n":
            place = next((number for number, text in enumerate(texts) if value in _counts(text)), None)
        if place is None and name == "base rate":
            within = 0.5 * _step(repr(value)) + 1e-9
            made = (
                any(abs(share - value) <= within for share in _shares(text, figures.get("n")))
                for text in texts
            )
            place = next((number for number, is_made in enumerate(made) if is_made), None)
        behind[name] = None if place is None else cells[place]
    return behind


def as_spelled_here(report: str) -> str:
    """Return a report with thousands and decimals as English spells them, character by character in its place.

    >>> as_spelled_here("8 675 windows, 0,955 of them")
    '8,675 windows, 0.955 of them'
    """
    spaced = _SPACED.sub(r"\1,", report)
    return _COMMA.sub(lambda match: f"{match[1] or match[2]}.", spaced)


@lru_cache(maxsize=512)
def values_of(text: str) -> tuple[float, ...]:
    """Return every number that a text holds, without its dates."""
    masked = _DAY.sub(" ", text.replace("±", " ")).replace("/", " ")
    return tuple(
        value for match in _PRINTED.finditer(masked) if math.isfinite(value := number_spelled(match[0]))
    )


def number_spelled(spelling: str) -> float:
    """Return what a number is that is spelled with thousands and signs as people write them."""
    return float(spelling.replace(",", "").replace("−", "-"))


def _step(spelling: str) -> float:
    mantissa, _, power = spelling.lower().partition("e")
    return 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))


def _beside(level: str) -> Iterator[float]:
    """The last figures on either side of the line of a claim, and where rounding turns."""
    for match in _NUMBER.finditer(_DATE.sub(" ", level)):
        value, step = number_spelled(match[0]), _step(match[0])
        yield from (value - step, value + step, value - step / 2, value + step / 2)


def _parameters(source: str) -> Iterator[float]:
    for match in _LITERAL.finditer(_DATE.sub(" ", _TEXT_OF_CODE.sub(" ", source))):
        yield float(match[0].replace("_", ""))


def _one_step(values: Sequence[float]) -> Iterator[float]:
    for value in values[:5000]:
        for whole in (1, 100):
            if 0 < value < whole:
                yield whole - value
        if 0 < value < 1:
            yield 1 + value
        elif value >= 20:
            yield value // 2 + 1  # a majority


@lru_cache(maxsize=512)
def _lines(text: str) -> tuple[float, ...]:
    """Differences, sums and shares of the few numbers of one line."""
    made: list[float] = []
    for line in text.splitlines()[:400]:
        values = values_of(line)
        if 2 <= len(values) <= 4:
            made += _pairs(values)
            made += [
                round(share * whole) for share in values for whole in values if 0 < share < 1 and whole >= 20
            ]
        elif len(values) <= 12:
            runs = [
                values[start:end] for start in range(len(values)) for end in range(start + 3, len(values) + 1)
            ]
            made += [total for run in runs for total in (sum(run), sum(run) / len(run))]
    return tuple(made)


@lru_cache(maxsize=512)
def _made_of(text: str) -> tuple[float, ...]:
    """What the lines and columns of an output make: sums, means, medians, ranges and counts, and steps from row to row."""
    lines = [values_of(line) for line in text.splitlines()[:400]]
    columns = [
        tuple(values[place] for values in lines if len(values) == width)
        for width in {len(values) for values in lines if values}
        for place in range(min(width, 8))
    ]
    few = values_of(text)
    made = [
        *_lines(text),
        *(_pairs(few) if len(few) <= 6 else ()),
        *(step for column in columns for pair in pairwise(column) for step in _steps(pair)),
    ]
    for several in (*lines, *columns):
        if 2 <= len(several) <= 400:
            ordered, total = sorted(several), sum(several)
            middle = (ordered[(len(several) - 1) // 2] + ordered[len(several) // 2]) / 2
            made += [total, total / len(several), middle, ordered[-1] - ordered[0], float(len(several))]
    return tuple(made)


def _steps(pair: tuple[float, float]) -> Iterator[float]:
    earlier, later = pair
    yield later - earlier
    if earlier:
        yield (later - earlier) / earlier
    if later:
        yield (later - earlier) / later


def _pairs(values: Sequence[float]) -> Iterator[float]:
    for first, second in permutations(values, 2):
        yield from (first - second, first + second)
        if second and (first == int(first)) == (
            second == int(second)
        ):  # no share is made of a percentage and a count
            yield from (first / second, 1 - first / second)


def _counts(text: str) -> frozenset[float]:
    """The counts of cases that an output shows: whole numbers, sums of them, and rows that a reader counts by eye."""
    values = [value for value in dict.fromkeys(values_of(text)) if value >= 0 and value == int(value)][:40]
    rows = [line for line in text.splitlines() if line.strip()]
    most = max([len(rows), *(len(values_of(row)) for row in rows)], default=0)
    by_eye = range(2, most + 1) if most <= _BY_EYE else ()
    pairs = combinations(values, 2) if len(values) <= 8 else ()
    return frozenset({*values, *map(float, by_eye), *map(sum, pairs), float(sum(values))} - {0.0})


def _shares(text: str, whole: float | None) -> Iterator[float]:
    """Shares that an output's counts make, of ``whole`` where it is known, and what is left of a printed share."""
    counts = _counts(text)
    for all_ in counts if whole is None else {whole} - {0}:
        parts = {*counts, 0.0, *(range(int(all_) + 1) if all_ <= _BY_EYE and all_ in counts else ())}
        # also as Laplace counts: one case more on either side
        yield from (
            share
            for part in parts
            if part <= all_
            for share in (part / all_, 1 - part / all_, (part + 1) / (all_ + 2))
        )
    for value in values_of(text):
        if value > 0:
            yield from (1 - value, 1 - value / 100)
        if value > 1:  # odds, and odds after a margin
            yield from (1 / value, *(1 / (value * margin) for margin in values_of(text) if 1 < margin < 1.5))


def _reckoned(figure: Figure, operands: Mapping[Figure, float], marks: Sequence[float]) -> float | None:
    """Return what follows in a step or two from figures beside it, as written or as printed, if that is it."""
    shown, weighed = (pattern.search(figure.sentence) is not None for pattern in (_SHOWN_STEP, _WEIGHED))
    reach = 4 if weighed else 2
    near = [
        (value, other)
        for other, source in operands.items()
        if figure.place - reach <= other.place <= figure.place and other is not figure
        if shown or not other.is_word or other.place == figure.place
        for value in {
            abs(other.value),
            source,
            *((abs(other.value) / 100,) if _BASIS_POINTS.match(other.after) else ()),
        }
    ][-16:]
    spelled = [_SPELLED[word] for word in re.findall(r"[a-z]+", figure.sentence.lower()) if word in _SPELLED]
    small = [*spelled, *(value for value, other in near if other.is_word)]
    close = [value for value, other in near if shown or weighed or other.place >= figure.place - 1]
    values = [
        value
        for value in dict.fromkeys([*close, *spelled, *marks])
        if value != abs(figure.value) or value < 20
    ]
    made = [scale - value for value in values for scale in (1, 100) if 0 < value < scale]
    # Sums and differences are of numbers that are written alike.
    alike = [value for value, other in near if _step(other.spelling) == _step(figure.spelling)]
    for first, second in permutations([*dict.fromkeys([*alike, *(values if shown else marks)])], 2):
        made += [first - second, first + second]
    for first, second in permutations(values, 2):
        if second:
            made += [first / second, (first - second) / second]
        if shown:
            made += [first * second, (first + second) / 2]
            made += [min(first / scale, 1.0) ** second for scale in (1, 100) if 1 <= second <= 1000]
    if figure.is_count:
        made = [value for value in made if value == int(value)]
    else:
        made += [value * factor for value in values for factor in small]
        percents = [*small, *(value for value, other in near if _PERCENT.match(other.after))]
        made += [
            first * (1 + sign * second / 100) for first in values for second in percents for sign in (1, -1)
        ]
        days = [
            abs(other.value) for other in operands if _TIME.match(other.after) and other.place <= figure.place
        ]
        made += [
            value * math.sqrt(day / year)
            for value in values
            for day in (*days, *small)
            for year in (252, 365)
        ]
        made += [
            chance for value in values if value < 20 for chance in (math.exp(-value), 1 - math.exp(-value))
        ]
        if weighed:
            made += [
                first * part + second * (1 - part)
                for first, second in permutations(values, 2)
                for part in (1 / 3, 1 / 4)
            ]
    # People reckon with what they have rounded: 1.7 may be 3 % off.
    rounded = [_step(other.spelling) / 2 / value for value, other in near if value and not other.is_word]
    slack = min(max(rounded, default=0.0), 0.04) if shown and figure.digits < 4 else 0.0
    return figure.matches(sorted({abs(value) for value in made if math.isfinite(value)}), slack=slack)
