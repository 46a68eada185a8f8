"""Long or short over a year, from price histories: paper A's financial tasks (section 5, App. C.2), made out of a file of prices.

One question per asset: at the start, is a dollar long or a dollar short worth more at the horizon? The values of both stand in its
``payoffs``, by a rule of `workbench.science.scoring.payoffs`. As in the paper's last check, what cannot be evaluated is left out and
named: a history with a gap at either end, a span that is none, options whose values cannot be told apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from math import isfinite

import pandas as pd

from workbench.forecasts.series.series_history import realised_volatility
from workbench.questions.formats.base import QuestionFile, collect, number_of
from workbench.questions.question import Question, QuestionError, check_day, event_id
from workbench.science.scoring.payoffs import payoff_rule

LONG, SHORT = "long", "short"
#: Days that the price of a day may be older than that day: weekends and holidays.
_STALE = 7
#: Values closer than this, of a dollar, cannot be told apart.
_SAME = 0.001


def read_price_history(
    rows: Sequence[Mapping[str, str]], start: str, *, days: int = 365, payoff: str = "analytica-paper"
) -> QuestionFile:
    """Long-short questions of a price history.

    Raises `QuestionError`: A missing column, or a span that is none.

    >>> rows = [{"symbol": "A", "date": "2024-01-01", "close": "100"}, {"symbol": "A", "date": "2024-12-31", "close": "150"}]
    >>> question = read_price_history(rows, "2024-01-02").questions[0]
    >>> question.options, question.outcomes
    (('long', 'short'), {'A@2024-01-02#long': 1.0, 'A@2024-01-02#short': 0.0})
    """
    begin = date.fromisoformat(check_day(start, of="--start"))
    if days < 1:
        raise QuestionError(f"the horizon is at least 1 day, not {days}")
    rule = payoff_rule(payoff)
    if rows and (lacking := {"symbol", "date", "close"} - set(rows[0])):
        raise QuestionError(
            f"prices need the columns symbol, date and close; {sorted(lacking)[0]!r} is missing"
        )
    table = pd.DataFrame(
        [*rows], columns=["symbol", "date", "close", "volume", "name", "category"], dtype=str
    )
    table = table.fillna("").apply(lambda column: column.str.strip())
    table[["close", "volume"]] = table[["close", "volume"]].apply(lambda column: column.map(number_of)).astype(float)  # fmt: skip
    end = begin + timedelta(days=days)

    def question(own: pd.DataFrame) -> Question | str:
        known = own.dropna(subset="close").sort_values(["date", "close"]).set_index("date")
        for day in known.index:
            check_day(day, of=f"a date of {own['symbol'].iloc[0]}")
        # The start's own close is not known at its cutoff; the horizon's own close is what counts there.
        before = known[: (begin - timedelta(days=1)).isoformat()]
        first, last = _price_on(before, begin - timedelta(days=1)), _price_on(known, end)
        if first is None:
            return f"no price in the {_STALE} days before {begin}"
        if last is None:
            return f"no price in the {_STALE} days before {end}: the history is too short, or the horizon is not over"
        if first <= 0 or last < 0:
            return f"prices of {first:g} and {last:g} have no return"
        long, short = (float(values[0]) for values in rule.asset([first], [last], [days]))
        if abs(long - short) < _SAME:
            return f"long and short are both worth {long:.3f}: they cannot be told apart"
        asset = _price_question(own.iloc[0], begin, end, first, {LONG: long, SHORT: short})
        year = before[(begin - timedelta(days=365)).isoformat() :]
        volatility = realised_volatility(year.index.tolist(), year["close"].tolist())
        traded = (year["close"] * year["volume"]).dropna()
        return replace(
            asset,
            volume=float(traded.mean()) if len(traded) else None,
            extra={"volatility": f"{volatility:.6g}"} if isfinite(volatility) else {},
        )

    return collect(((str(symbol), own) for symbol, own in table.groupby("symbol", sort=False)), question)


def _price_on(prices: pd.DataFrame, day: date) -> float | None:
    """The close of a day, or the last one before it that is not stale."""
    recent = prices[(day - timedelta(days=_STALE - 1)).isoformat() : day.isoformat()]
    return float(recent["close"].iloc[-1]) if len(recent) else None


def _price_question(
    row: "pd.Series[str]", begin: date, end: date, price: float, payoffs: Mapping[str, float]
) -> Question:
    symbol, label = row["symbol"], row["name"] or row["symbol"]
    name = f"{symbol}@{begin}"
    better = LONG if payoffs[LONG] > payoffs[SHORT] else SHORT
    return Question(
        id=name,
        title=f"Over the {(end - begin).days} days from {begin}, is it better to be long or short of {label}?",
        kind="options",
        options=(LONG, SHORT),
        propositions=(
            f"Going long {label} pays more than going short from {begin} to {end}",
            f"Going short {label} pays more than going long from {begin} to {end}",
        ),
        source="prices",
        source_id=symbol,
        category=row["category"].lower(),
        question_type="market",
        asked_on=begin.isoformat(),
        closes_on=end.isoformat(),
        criteria=f"The close of {label} on or last before {end}, against {price:g} at the start, after costs.",
        payoffs=dict(payoffs),
        outcomes={event_id(name, option): float(option == better) for option in (LONG, SHORT)},
        resolved_on=end.isoformat(),
    )
