"""A claim to be asked at many cutoffs: its days move with the cutoff, and ``{median}`` or ``{last}`` are the values known there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from proxies.input_files import MOST_TEXT_BYTES, InputRefused, parse_csv, parse_csv_rows, read_text
from workbench.backtests.past_claims import months_later
from workbench.errors import Option, UsageError
from workbench.formatting import number
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, value_series
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.readings.read import read

_PLACE = re.compile(r"\{(median|last|start|end)(?:\s*([*+-])\s*(\d+(?:\.\d+)?))?\}")
_SPAN = re.compile(r"(\d+)\s*(d|w|m|y)[a-z]*", re.IGNORECASE)
_STAND_IN = {"median": "1", "last": "1", "start": "2000-01-03", "end": "2000-12-29"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A length of time from a cutoff to a claim's last day, in days or in months."""

    days: int = 0
    months: int = 0

    @classmethod
    def parse(cls, text: str) -> "Span":
        """Return the span of ``26d``, ``1w``, ``3m`` or ``1y``; raises ``UsageError``.

        >>> Span.parse("3m"), Span.parse("2 weeks")
        (Span(days=0, months=3), Span(days=14, months=0))
        """
        match = _SPAN.fullmatch(text.strip())
        if match is None or not int(match[1]):
            raise UsageError(f"a horizon is written 26d, 1w, 3m or 1y, not {text!r:.40}")
        count, unit = int(match[1]), match[2].lower()
        if unit in "my":
            return cls(months=count * (12 if unit == "y" else 1))
        return cls(days=count * (7 if unit == "w" else 1))

    def after(self, day: date) -> date:
        """Return the day at this distance after a day."""
        return months_later(day, self.months) + timedelta(days=self.days)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTemplate:
    """One claim of a back-test."""

    #: A sentence of the grammar. ``{end}`` is the last day of its window, ``{start}`` the day of the last value known, ``{last}`` that
    #: value, ``{median}`` the median of all values known; ``{last*1.05}``, ``{median-2}`` are reckoned. Days that are written out give the
    #: length of the window alone.
    text: str
    #: Claims of one family are judged together.
    family: str
    #: From the cutoff to the claim's last day; the length of its own window where it states one.
    horizon: Span | None = None

    def check(self) -> Claim:
        """Read the claim with figures in its places, to see that it can be read; raises ``UsageError``."""
        text = _PLACE.sub(lambda match: _STAND_IN[match[1]], self.text)
        counted = _counted(text, date.fromisoformat(_STAND_IN["start"]))
        claim = counted or read_claim(text)
        if self.horizon is None and claim.start is None and counted is None:
            raise UsageError(
                f"{self.text!r:.120} has no length of time: ",
                Option("horizon", "3m"),
                ", or a claim with a first and a last day",
            )
        if self.horizon is None and ("{end" in self.text or "{start" in self.text):
            raise UsageError(
                f"{self.text!r:.120} has a place for a day: ",
                Option("horizon"),
                " sets the length of time",
            )
        return claim

    def filled(self, last_day: date, rows: Mapping[str, Rows]) -> Claim:
        """Fill in the claim for a cutoff."""
        checked = self.check()
        values = value_series(checked.series, rows)
        start = values.index[-1].date()
        if self.horizon is not None:
            end = self.horizon.after(last_day)
        elif checked.start is None:  # its days are counted from the cutoff
            end = last_day
        else:
            end = last_day + (checked.end - checked.start)
        figures = {"median": float(values.median()), "last": float(values.iloc[-1])}

        def filled(match: re.Match[str]) -> str:
            name, sign, by = match.groups()
            if name in ("start", "end"):
                return (start if name == "start" else end).isoformat()
            value = figures[name]
            amount = float(by or 0)
            value = {None: value, "*": value * amount, "+": value + amount, "-": value - amount}[sign]
            return number(round(value, 4))

        text = _PLACE.sub(filled, self.text)
        counted = _counted(text, last_day)
        if counted is not None and self.horizon is None:
            return counted
        claim = counted or read_claim(text)
        return replace(claim, start=None if claim.start is None else start, end=end)


def _counted(text: str, day: date) -> Claim | None:
    """The claim of a text whose days are counted from a day ("within a month"); None for one whose days are written out, or that is none."""
    try:
        read_claim(text)
    except ClaimRefused:
        best, later = read(text, day).best, read(text, day + timedelta(days=400)).best
        return best.claim if best and later and best.says.end != later.says.end else None
    return None


def read_templates(source: str, horizon: Span | None) -> list[ClaimTemplate]:
    """Read the claims of a file, or the one that a text is.

    A CSV has a column ``claim`` and may have ``family`` and ``horizon``; any other file holds a claim on each line. A claim without a
    family is one by itself.

    Raises `UsageError`: Nothing to ask, or a claim that cannot be read; the line is named.
    """
    path = Path(source)
    try:
        there = path.is_file()
    except (OSError, ValueError):  # a claim may be longer than a file's name, or hold what none does
        there = False
    if not there:
        template = ClaimTemplate(text=source, family=source, horizon=horizon)
        template.check()
        return [template]
    templates = []
    for line, row in _file_rows(path):
        text = row.get("claim", "").strip()
        own_horizon = Span.parse(row["horizon"]) if row.get("horizon", "").strip() else horizon
        template = ClaimTemplate(text=text, family=row.get("family", "").strip() or text, horizon=own_horizon)
        try:
            template.check()
        except UsageError as problem:
            raise UsageError(f"{path.name}, line {line}: {problem}") from None
        templates.append(template)
    if not templates:
        raise UsageError(f"{path} holds no claim: write one on each line, or a CSV with a column claim")
    return templates


def _file_rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        text = read_text(path, most=MOST_TEXT_BYTES)
        if path.suffix == ".csv":
            header = (parse_csv(text, str(path)) or [[]])[0]
            if "claim" not in header:
                raise UsageError(f"{path} has no column claim; it has: {', '.join(header)}")
            return list(enumerate(parse_csv_rows(text, str(path)), 2))
    except InputRefused as error:
        raise UsageError(str(error)) from None
    lines = text.splitlines()
    return [(number, {"claim": line}) for number, line in enumerate(lines, 1) if line.strip()]


def series_of_templates(templates: list[ClaimTemplate]) -> tuple[str, ...]:
    """Return the embedded series that these claims are about."""
    return tuple(sorted({name for template in templates for name in template.check().sources}))
