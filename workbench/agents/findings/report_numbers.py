"""Numbers of a report that nothing holds up: neither printed nor said in the claim, nor reckoned from such numbers in sight of the reader.

Complained of is a number of three digits and more, and a share or count of cases with fewer ("71 % of the windows"). Days, what a sentence
supposes and what it says to come from elsewhere are no evidence.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, permutations

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
#: Words before a number that is rounded further, or only a bound.
_ROUGHLY = re.compile(
    r"(?:about|around|roughly|approximately|nearly|almost|some|near|close to|ca\.?|~|≈|just|rund|etwa|over|above|under|below|than|least|most|up to|within|[<>≥≤])[ $€£~]*$",
    re.IGNORECASE,
)
_NO_EVIDENCE = re.compile(
    r"\b(?:if|must|needs?|would|could|might|suppos\w+|assum\w+|let's|imagine|hypothetical\w*|memory|I recall|as I remember|unverified|general knowledge"
    r"|background knowledge|rule of thumb|illustrat\w+|not (?:loaded|fetched|printed|checked)|outside (?:of )?(?:the|this) notebook)\b",
    re.IGNORECASE,
)
_OF_CASES = re.compile(
    r"[ \u00a0-]?(?:%|per ?cent)?(?: of (?:the|all|these))? ?(?:\w+ )?(?:windows?|cases?|instances?|times|observations?|samples?|paths?|episodes?|periods?|of (?:the time|\d))",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"[ -](?:\w+ )?-?(?:hours?|days?|weeks?|months?|years?|quarters?|sessions?|tage?|monate?)\b",
    re.IGNORECASE,
)
_SHOWN_STEP = re.compile(r"(?<!\b[nN] )(?<!\b[nN])=|[×*≈→√]|\b(?:i\.e\.|that is|that's|which is|mak(?:es?|ing)|hence|so|thus|times|equals?|gives?|impl(?:y|ies|ied)|leav\w+|mid-?point|together)\b")  # fmt: skip
_SPELLED = {
    "half": 0.5, "third": 1 / 3, "quarter": 0.25, "fifth": 0.2, "tenth": 0.1, "twice": 2, "double": 2, "doubled": 2, "one": 1, "two": 2, "three": 3,
    "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "dozen": 12, "twenty": 20,
    "annual": 12, "monthly": 12, "quarterly": 4, "weekly": 52,
}  # fmt: skip
#: So many are named in a complaint; numbers of a report that are looked up; printed ones that are combined.
_NAMED, _READ, _COMBINED = 6, 400, 120
_SHARES = (1.0, 100.0, 0.01)
_UNITS = (*_SHARES, 1e3, 1e-3, 1e6, 1e-6, 1e9, 1e-9, 1e4)


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
    def within(self) -> float:
        """How far a number may lie from it that it stands for: it is rounded, or said to be rough."""
        mantissa, _, power = self.spelling.lower().partition("e")
        decimals = len(mantissa.partition(".")[2])
        step = 10.0 ** (int(power or 0) - decimals)
        bare = mantissa.lstrip("+-−").replace(",", "")
        if not decimals and abs(self.value) >= 1000:
            step = 10.0 ** min(len(bare) - len(bare.rstrip("0")), len(bare) - 2)
        rough = 0.1 * abs(self.value) if _ROUGHLY.search(self.before) else 0.0
        return max(0.5 * step, rough) * (1 + 1e-9) + 1e-12

    @property
    def is_evidence(self) -> bool:
        """Whether it is used as something that was counted or measured; a length of time follows from a calendar."""
        if _NO_EVIDENCE.search(self.sentence) or _TIME.match(self.after):
            return False
        return self.digits >= 3 or (_OF_CASES.match(self.after) is not None and abs(self.value) >= 20)


class KnownNumbers:
    """Numbers that may be quoted, for looking up what a quoted one stands for."""

    def __init__(self, values: Iterable[float]) -> None:
        self.values = sorted({abs(value) for value in values if math.isfinite(value)})

    def hold(self, quoted: QuotedNumber, scales: Sequence[float] = _SHARES, slack: float = 0.0) -> bool:
        """Whether one of them, in some unit, is what is quoted; ``slack`` is a share by which it may be off."""
        size = abs(quoted.value)
        within = max(quoted.within, slack * size)
        for scale in scales:
            place = bisect_left(self.values, (size - within) / scale * (1 - 1e-12))
            if place < len(self.values) and self.values[place] * scale <= size + within:
                return True
        return False


def unprinted(
    report: str,
    printed: Iterable[str],
    level: str = "",
    *,
    sources: Iterable[str] = (),
    stated: Sequence[float] = (),
) -> list[str]:
    """Return the numbers of a report that are used as evidence and that nothing holds up, as it spells them; the first few.

    `sources`: Sources of cells. Their parameters may be quoted (a horizon, a number of paths), not what their comments and texts say.

    `stated`: Probabilities that are the writer's own.

    >>> unprinted("In 61.3% of 38 windows it rose, by 4.71 on average.", ["share 0.6129 of 38"])
    ['4.71']
    """
    missing = (
        number.spelling
        for number in _held_and_left(report, printed, level, sources, stated)[1]
        if number.is_evidence
    )
    return list(dict.fromkeys(missing))[:_NAMED]


def follows(
    value: float, report: str, printed: Iterable[str], level: str = "", *, sources: Iterable[str] = ()
) -> bool:
    """Return whether a report quotes a share and shows how it follows from what was printed."""
    held, _ = _held_and_left(report, printed, level, sources, ())
    within = 0.5 * 10.0 ** -(len(repr(value).partition(".")[2])) + 1e-9
    return any(abs(number.value / scale - value) <= within for number in held for scale in (1.0, 100.0))


def takes(value: float, sources: Iterable[str]) -> bool:
    """Return whether a source of a cell has a number as its parameter, such as the paths that it simulates."""
    return any(value in _parameters(source) for source in sources)


def _held_and_left(
    report: str, printed: Iterable[str], level: str, sources: Iterable[str], stated: Sequence[float]
) -> tuple[list[QuotedNumber], list[QuotedNumber]]:
    texts = list(printed)
    direct = KnownNumbers(
        [value for text in (*texts, level) for value in values_of(text)]
        + [value for text in sources for value in _parameters(text)]
        + [value for p in stated for value in (p, 1 - p)]
    )
    made = KnownNumbers([*_one_step(direct.values), *(value for text in texts for value in _sums(text))])
    pairs = KnownNumbers(_pairs(direct.values[:_COMBINED]))
    held: list[QuotedNumber] = []
    left: list[QuotedNumber] = []
    for number in islice(quoted_numbers(as_spelled_here(_CODE.sub(" ", report))), _READ):
        # as long as it is no coincidence, any two printed numbers may be compared
        telling = 6 * len(direct.values) ** 2 <= 10**number.digits
        is_known = direct.hold(number, _UNITS) or made.hold(number) or (telling and pairs.hold(number))
        (held if is_known else left).append(number)
    for _ in range(3):  # a step may rest on the one before it, or on what is supposed
        operands = [
            *held,
            *(number for number in left if not number.is_evidence or _TIME.match(number.after)),
        ]
        newly = [number for number in left if _is_reckoned(number, operands, [*values_of(level), *stated])]
        held += newly
        left = [number for number in left if number not in newly]
    return held, left


def quoted_numbers(report: str) -> Iterator[QuotedNumber]:
    """Yield the numbers of a report that are more than words of it."""
    masked = _DATE.sub(lambda match: " " * len(match[0]), report)
    cuts = [0, *(match.end() for match in _SENTENCE.finditer(masked)), len(masked)]
    for match in NUMBER.finditer(masked):
        value = number_spelled(match[0])
        if not math.isfinite(value) or is_word(value, match[0]):
            continue
        place = bisect_left(cuts, match.start() + 1) - 1
        before = masked[max(cuts[place], match.start() - 30) : match.start()]
        sentence = report[cuts[place] : cuts[place + 1]]
        yield QuotedNumber(value, match[0], before, masked[match.end() : match.end() + 40], sentence, place)


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
        for whole in (1, 100):
            if 0 < value < whole:
                yield from (whole - value, value / (whole - value), (whole - value) / value)
        if value:
            yield 1 / value


@lru_cache(maxsize=512)
def _sums(text: str) -> tuple[float, ...]:
    """Sums, means, medians, ranges and counts of the lines and columns of an output, and what the few numbers of one line make."""
    lines = [values_of(line) for line in text.splitlines()[:400]]
    columns = [
        tuple(values[place] for values in lines if len(values) == width)
        for width in {len(values) for values in lines if values}
        for place in range(min(width, 8))
    ]
    made = [step for values in lines if 2 <= len(values) <= 4 for step in _pairs(values)]
    for several in (*lines, *columns, values_of(text)):
        if 2 <= len(several) <= 400:
            ordered, total = sorted(several), sum(several)
            middle = (ordered[(len(several) - 1) // 2] + ordered[len(several) // 2]) / 2
            made += [total, total / len(several), middle, ordered[-1] - ordered[0], float(len(several))]
    return tuple(made)


def _pairs(values: Sequence[float]) -> list[float]:
    made: list[float] = []
    for first, second in permutations(values, 2):
        made += [first - second, first + second]
        if second:
            made += [first / second, 1 - first / second]
    return made


def _is_reckoned(number: QuotedNumber, operands: Sequence[QuotedNumber], marks: Sequence[float]) -> bool:
    """Whether it follows in one or two steps from numbers of its sentence and the two before."""
    near = [abs(other.value) for other in operands if number.place - 2 <= other.place <= number.place]
    shown = _SHOWN_STEP.search(number.sentence) is not None
    small = [
        abs(value)
        for match in NUMBER.finditer(_DATE.sub(" ", number.sentence))
        if is_word(value := number_spelled(match[0]), match[0])
    ]
    small += [_SPELLED[word] for word in re.findall(r"[a-z]+", number.sentence.lower()) if word in _SPELLED]
    values = [*dict.fromkeys([*near, *small, *marks])][-16:]
    values = [value for value in values if value != abs(number.value) or value < 20]
    made: list[float] = []
    for first, second in permutations(values, 2):
        made += [first - second, first + second, first * second, (first + second) / 2]
        if second:
            made += [first / second, (first - second) / second, first / (1 + second / 100)]
        made += [first * (1 - second / 100), first * (1 + second / 100)]
        if 1 <= second <= 1000 and first < 1e9:
            made += [first * math.sqrt(second), first / math.sqrt(second)]
            made += [min(first / scale, 1.0) ** second for scale in (1, 100)]
    made += [scale - value for value in values for scale in (1, 100) if 0 < value < scale]
    made += [chance for value in values if value < 20 for chance in (math.exp(-value), 1 - math.exp(-value))]
    if number.digits >= 3 or shown:
        for first, second, third in permutations(values[-9:], 3):
            made += [
                first + second + third,
                first * second * third,
                first + second - third,
                first - second * third,
                first + second * third,
            ]
            if third:
                made += [(first - second) / third, first * second / third, (first + second) / third]
    # people reckon with what they have rounded
    return KnownNumbers(made).hold(number, _UNITS, slack=0.04 if shown and number.digits < 4 else 0.0)


def number_spelled(spelling: str) -> float:
    """Return what a number is that is spelled with thousands and signs as people write them."""
    return float(spelling.replace(",", "").replace("−", "-"))


def is_word(value: float, spelling: str) -> bool:
    """Return whether a number is as good as a word of a text: small and whole, an even chance, or a hundred."""
    return "." not in spelling and (abs(value) < 20 or abs(value) in (50, 100))
