"""Numbers that a report quotes or accounts with: where they stand, and which output printed them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations

from workbench.agents.findings.report_numbers import DAY, NUMBER, is_word, number_spelled, values_of

_DATE = re.compile(r"\b\d{4}-\d{2}(-\d{2})?\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|(?<![\w.,])(19|20|21)\d\d\b")
_OF = re.compile(r"(?<![\w.,])(\d+) ?(?:of|/|out of|in|from) ?(\d+)(?![\w]|[.,]\d)")
#: Most numbers of a line of which shares and differences are made.
_COUNTS = 4
#: Most counts of a cell that are combined, and most rows of an output that a reader counts himself.
_COUNTS_OF_A_CELL, _BY_EYE = 40, 30
#: A quoted number may be a printed one as it is, as a percentage, or a percentage as a share.
_SCALES = (1.0, 100.0, 0.01)


def quoted_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Return where the numbers of a text stand that are more than words of it: start, end, and how each is spelled.

    >>> list(quoted_spans("In 61.3% of 38 windows since 1999"))
    [(3, 7, '61.3'), (12, 14, '38')]
    """
    masked = _DATE.sub(lambda match: " " * len(match[0]), text)
    for match in NUMBER.finditer(masked):
        if not is_word(number_spelled(match[0]), match[0]):
            yield match.start(), match.end(), match[0]


def printed_by(spelling: str, outputs: Sequence[str], scales: Sequence[float] = _SCALES) -> int | None:
    """Return the place of the first output that printed a number which rounds to this one; None if none did.

    >>> printed_by("61.3", ["38 windows", "share 0.6129"])
    1
    """
    quoted = number_spelled(spelling)
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
    cells_behind: dict[str, str | None] = {}
    for name, value in figures.items():
        place = printed_by(repr(value), texts, (1.0,) if isinstance(value, int) else (1.0, 0.01))
        if place is None and name in ("n", "base rate"):
            place = next(
                (number for number, text in enumerate(texts) if _says(text, name, value, figures.get("n"))),
                None,
            )
        cells_behind[name] = None if place is None else cells[place]
    return cells_behind


def _says(text: str, name: str, value: float, whole: float | None) -> bool:
    """Whether an output's counts make a figure that it does not print as such."""
    if name == "n":
        return value in _counted(text)
    return any(_rounds_to(share, value, repr(value), (1.0,)) for share in _shares_made(text, whole))


@lru_cache(maxsize=256)
def _counted(text: str) -> frozenset[float]:
    values = _whole_numbers(text)
    rows = [line for line in text.splitlines() if line.strip()]
    most = max([len(rows), *(len(values_of(row)) for row in rows)], default=0)
    by_eye = range(2, most + 1) if most <= _BY_EYE else ()
    sums = {first + second for first, second in permutations(values, 2)} | (
        {sum(values)} if values else set()
    )
    return frozenset(float(count) for count in (*by_eye, *sums) if count)


def _shares_made(text: str, whole: float | None) -> Iterator[float]:
    """Shares that the counts of an output make: of ``whole`` where it is known, else of one another; and complements of printed ones."""
    values = _whole_numbers(text)
    wholes = [*values, *_counted(text)] if whole is None else [whole]
    for all_ in wholes:
        parts = [*values, *(range(int(all_) + 1) if 0 < all_ <= _BY_EYE and all_ in _counted(text) else ())]
        for part in parts:
            if 0 <= part <= all_ and all_:
                # also as Laplace counts: one case more on either side
                yield from (part / all_, 1 - part / all_, (part + 1) / (all_ + 2))
    for value in values_of(text):
        if 0 < value < 1:
            yield 1 - value
        elif 1 < value <= 100:
            yield 1 - value / 100
        if value > 1:
            # odds, and odds after a margin
            yield 1 / value
            yield from (1 / (value * margin) for margin in values_of(text) if 1 < margin < 1.5)


def _whole_numbers(text: str) -> list[float]:
    return [value for value in dict.fromkeys(values_of(text)) if value >= 0 and value == int(value)][
        :_COUNTS_OF_A_CELL
    ]


@lru_cache(maxsize=256)  # a report quotes dozens of numbers, each looked for in the same outputs
def _values(text: str) -> tuple[float, ...]:
    # "297/851" is two printed numbers; in a report it may be a day of a month.
    printed = [value for value, _ in _numbers(text.replace("/", " "))]
    return (*printed, *(share for line in text.splitlines() for share in _from_counts(line)))


def _from_counts(line: str) -> Iterator[float]:
    printed = [value for value, _ in _numbers(line.replace("/", " "))]
    pairs = {(float(part), float(whole)) for part, whole in _OF.findall(line)}
    if len(printed) <= _COUNTS:  # not a table's row: any share could be made of it
        counts = [value for value in printed if value >= 0 and value == int(value)]
        pairs |= set(permutations(counts, 2))
        yield from (first - second for first, second in permutations(printed, 2))
    for part, whole in pairs:
        if part <= whole and whole:
            yield from (part / whole, 1.0 - part / whole, whole - part)


def _numbers(text: str) -> Iterable[tuple[float, str]]:
    for match in NUMBER.finditer(DAY.sub(" ", text)):
        value = number_spelled(match[0])
        if math.isfinite(value):
            yield value, match[0]


def _rounds_to(printed: float, quoted: float, spelling: str, scales: Sequence[float] = _SCALES) -> bool:
    decimals = len(spelling.partition(".")[2]) if "e" not in spelling.lower() else 6
    within = 0.5 * 10.0**-decimals * (1 + 1e-9) + 1e-12
    # whole thousands are often rounded further: 2,700 for 2718 is not, 1.2e6 is
    return any(abs(abs(printed) * scale - abs(quoted)) <= within for scale in scales)
