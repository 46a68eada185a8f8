"""Numbers that a report quotes: which output printed them, and those that no output holds, so that none is made up."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations

# Not inside words, ids (P1.2), dates or larger numbers; thousands may be set off by commas.
_NUMBER = re.compile(
    r"(?<![\w.,/-])(?<!\d:)[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w/]|[:.,-]\d)"
)
_DATE = re.compile(r"\b\d{4}-\d{2}(-\d{2})?\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|(?<![\w.,])(19|20|21)\d\d\b")
_CODE = re.compile(r"```.*?```", re.DOTALL)
_OF = re.compile(r"(?<![\w.,])(\d+) ?(?:of|/|out of|in|from) ?(\d+)(?![\w]|[.,]\d)")
#: Most numbers of a line of which shares and differences are made.
_COUNTS = 4
#: So many are named in a complaint.
_NAMED = 6
#: A quoted number may be a printed one as it is, as a percentage, or a percentage as a share.
_SCALES = (1.0, 100.0, 0.01)


def unprinted(report: str, printed: Iterable[str], level: str = "") -> list[str]:
    """Return the numbers of a report that stand in none of the texts, as the report spells them; the first few.

    Counts below 20, 50, 100 and years are left out: they are words of the argument. A number counts as printed if a printed one rounds to
    it, as it is, as a percentage, or without its sign; or if it follows from printed ones as people count: the share or
    the difference of two counts of a line, the distance of a printed number from one of ``level`` (the proposition), or that distance in per cent.

    >>> unprinted("In 61.3% of 38 windows it rose, by 4.71 on average.", ["share 0.6129 of 38"])
    ['4.71']
    """
    known = [value for text in printed for value in _values(text)]
    marks = _values(level)
    known += [
        distance
        for mark in marks
        for value in known
        if value
        for distance in (mark - value, 100.0 * (mark - value) / value)
    ]
    known += [mark / 1000.0 for mark in marks]  # "below 200" of a line at 200,000
    missing: dict[str, None] = {}
    for value, spelling in _numbers(_CODE.sub(" ", report)):
        if _is_word(value, spelling) or any(_rounds_to(other, value, spelling) for other in known):
            continue
        missing.setdefault(spelling)
    return list(missing)[:_NAMED]


def quoted_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Return where the numbers of a text stand that are more than words of it: start, end, and how each is spelled.

    >>> list(quoted_spans("In 61.3% of 38 windows since 1999"))
    [(3, 7, '61.3'), (12, 14, '38')]
    """
    masked = _DATE.sub(lambda match: " " * len(match[0]), text)
    for match in _NUMBER.finditer(masked):
        if not _is_word(_number_of(match[0]), match[0]):
            yield match.start(), match.end(), match[0]


def printed_by(spelling: str, outputs: Sequence[str], scales: Sequence[float] = _SCALES) -> int | None:
    """Return the place of the first output that printed a number which rounds to this one; None if none did.

    >>> printed_by("61.3", ["38 windows", "share 0.6129"])
    1
    """
    quoted = _number_of(spelling)
    for place, text in enumerate(outputs):
        if any(_rounds_to(value, quoted, spelling, scales) for value in _values(text)):
            return place
    return None


def sources(figures: Mapping[str, float], outputs: Mapping[str, str]) -> dict[str, str | None]:
    """Return the cell behind each figure of a conclusion's accounting: the first that printed it, None if none did.

    ``outputs`` are the printed texts by cell. A share counts as printed as one and as a percentage, a count only as it is.

    >>> sources({"base rate": 0.093, "n": 214, "low": 0.04}, {"cell-2": "9.3 % of 214"})
    {'base rate': 'cell-2', 'n': 'cell-2', 'low': None}
    """
    cells, texts = list(outputs), list(outputs.values())
    places = {
        name: printed_by(repr(value), texts, (1.0,) if isinstance(value, int) else (1.0, 0.01))
        for name, value in figures.items()
    }
    return {name: None if place is None else cells[place] for name, place in places.items()}


@lru_cache(maxsize=256)  # a report quotes dozens of numbers, each looked for in the same outputs
def _values(text: str) -> tuple[float, ...]:
    # "297/851" is two printed numbers; in a report it may be a day of a month.
    printed = [value for value, _ in _numbers(text.replace("/", " "))]
    return (*printed, *(share for line in text.splitlines() for share in _from_counts(line)))


def _from_counts(line: str) -> Iterator[float]:
    """What two counts of one line say together: who prints "4 of 15" has printed 0.267, 0.733 and 11."""
    printed = [value for value, _ in _numbers(line.replace("/", " "))]
    pairs = {(float(part), float(whole)) for part, whole in _OF.findall(line)}
    if len(printed) <= _COUNTS:  # not a table's row: any share could be made of it
        counts = [value for value in printed if value >= 0 and value == int(value)]
        pairs |= set(permutations(counts, 2))
        yield from (first - second for first, second in permutations(printed, 2))
    for part, whole in pairs:
        if part <= whole and whole:
            yield from (part / whole, 1.0 - part / whole, whole - part)


def _number_of(spelling: str) -> float:
    return float(spelling.replace(",", "").replace("−", "-"))


def _numbers(text: str) -> Iterable[tuple[float, str]]:
    for match in _NUMBER.finditer(_DATE.sub(" ", text)):
        value = _number_of(match[0])
        if math.isfinite(value):
            yield value, match[0]


def _is_word(value: float, spelling: str) -> bool:
    # an even chance and a hundred are words too
    return "." not in spelling and (abs(value) < 20 or abs(value) in (50, 100))


def _rounds_to(printed: float, quoted: float, spelling: str, scales: Sequence[float] = _SCALES) -> bool:
    decimals = len(spelling.partition(".")[2]) if "e" not in spelling.lower() else 6
    within = 0.5 * 10.0**-decimals * (1 + 1e-9) + 1e-12
    # whole thousands are often rounded further: 2,700 for 2718 is not, 1.2e6 is
    return any(abs(abs(printed) * scale - abs(quoted)) <= within for scale in scales)
