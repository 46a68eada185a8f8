"""A series by its name, its id at a source or its file: its values known at a cutoff, and those known by now."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from workbench.errors import UsageError
from workbench.forecasts.series.series_history import History
from workbench.offline.visible_past import source_answer
from workbench.questions.decision import value_series
from workbench.questions.errors import ClaimRefused
from workbench.questions.readings.names import reachable, take_series
from workbench.questions.readings.tokens import text_of
from workbench.questions.series.embedded_series import KNOWN, SERIES
from workbench.questions.series.series_quantity import Quantity
from workbench.questions.series.series_reference import SeriesRef, series_mentioned
from workbench.questions.series.series_registry import going_on, series_named
from workbench.questions.series.value_states import SeriesStates, states_of, untold
from workbench.science.errors import ScienceError
from workbench.science.tables import read_series


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesSource:
    """The origin of a series."""

    #: name, unit: For people.
    name: str
    unit: str = ""
    #: Asked of the broker; two for a spread.
    refs: tuple[SeriesRef, ...] = ()
    #: Its key among the embedded series, "" for another.
    embedded: str = ""
    #: A file instead of a source.
    file: Path | None = None

    @classmethod
    def of(cls, text: str, day: date | None = None) -> "SeriesSource":
        """Find the series that a text names: an embedded one, a reference (``yahoo:AAPL``), a name ("Bitcoin"), or a file.

        A file has a date and a value column. An embedded series that has ended by ``day`` is the one under which it goes on, as
        in claims. Raises ``UsageError`` with what can be named.
        """
        named = _named(text)
        key = named or text.strip().upper()
        if key in SERIES and day is not None:
            key = going_on(key, day)
        if key in SERIES:
            info = SERIES[key]
            refs = tuple(SeriesRef(source="embedded", id=name) for name in info.sources)
            return cls(name=info.article.removeprefix("the "), unit=info.unit, refs=refs, embedded=key)
        ref = _reference(key if named else text)
        if ref is not None:
            return cls(name=ref.reference, unit=series_named(ref.reference).unit, refs=(ref,))
        try:
            if Path(text).is_file():
                return cls(name=Path(text).name, file=Path(text))
        except (OSError, ValueError):  # no file has such a name
            pass
        raise UsageError(
            f"{text!r:.80} is not a known series: {KNOWN}; a reference such as yahoo:AAPL, fred:UNRATE or own:NAME; or a "
            "file with the columns date and value"
        )

    async def history(self, broker: Broker, cutoff: Cutoff) -> History:
        """Return the values known at a cutoff; of a file, those of days before it.

        Raises `UsageError`: Nothing was known. Raises `ProxyError`: The source failed, or its key is missing.
        """
        return (await self.known(broker, cutoff))[0]

    async def known(self, broker: Broker, cutoff: Cutoff) -> tuple[History, SeriesStates | None]:
        """Return `history`, with the dated states of its values where the source revises them; raises likewise."""
        try:
            if self.file is not None:
                days, values = read_series(self.file)
                return History.of(days, values).before(cutoff.last_moment_day + timedelta(days=1)), None
            answers = {ref.id: await source_answer(broker, ref, cutoff, states=True) for ref in self.refs}
            rows = {ref.id: ref.rows(answers[ref.id]) for ref in self.refs}
            if self.embedded:
                series = value_series(self.embedded, rows)
                return History.of(series.index.to_numpy(), series.to_numpy()), None
            (ref,) = self.refs
            if (states := states_of(ref, answers[ref.id])) is not None:
                return states.newest(), states
            days = np.array([row["date"] for row in rows[ref.id]], dtype="datetime64[D]")
            return History.of(days, [row["value"] for row in rows[ref.id]]), None
        except (ClaimRefused, ScienceError) as problem:
            raise UsageError(f"{self.name} at {cutoff.text}: {problem}") from None


def _reference(text: str) -> SeriesRef | None:
    """Find the series that a text names by reference or by address; None for another text."""
    try:
        ref = SeriesRef.of(text)
    except ClaimRefused as problem:
        raise UsageError(str(problem)) from None
    if ref is not None:
        return ref
    by_address = series_mentioned(text)
    return by_address[0] if len(by_address) == 1 else None


def _named(text: str) -> str:
    """The one series that a whole text names as claims do ("Oil", "the S&P"), as a claim has it; "" for another text."""
    named = text_of(text)
    take_series(named)
    whole = [
        piece
        for piece in named.pieces
        if named.plain[: piece.start] in ("", "the ") and piece.end == len(named.plain)
    ]
    sources = {each.source for piece in whole for each in reachable(piece.value, ("embedded",))}
    return sources.pop() if len(sources) == 1 else ""


async def read_quantity(
    text: str, day: date, cutoff: Cutoff, broker: Broker, *, extremes: bool
) -> tuple[Quantity, History | None]:
    """Return the quantity with its values known at the cutoff, and those known by now where the day has come.

    Raises `UsageError`: No such series, nothing known of it, or a day that is known already.
    """
    source = SeriesSource.of(text, day)
    history, states = await source.known(broker, cutoff)
    last = history.days[-1].item()
    if day <= last:
        raise UsageError(
            f"{source.name} on {day} is known at this cutoff (the last value is of {last}): choose a later day or an earlier cutoff"
        )
    later = None
    if not cutoff.live and day <= datetime.now(UTC).date():
        later, since = await source.known(broker, Cutoff.parse("now"))
        # As it was first published, like the outcomes of the record.
        later = later if since is None else since.settled(day)
    quantity = Quantity(
        name=source.name,
        unit=source.unit,
        history=history,
        day=day,
        extremes=extremes,
        states=states,
        no_record="; ".join(filter(None, map(untold, source.refs))),
    )
    return quantity, later
