"""Read dated values from an answer in its source's own shape; read alike here and in the cells of a leaf's notebook."""

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Any

Pair = tuple[Any, Any]
#: Squares and sums of what is below it stay finite in every forecast.
LARGEST = 1e100


def source_rows(source: str, data: Any, through: date | None = None) -> list[dict[str, Any]]:
    """Read ``{date, value}`` rows, oldest first and each day once, from an answer of a source.

    Raises `KeyError, IndexError, TypeError, ValueError`: The answer is not built as its source builds series.

    >>> source_rows("fred", {"observations": [{"date": "2018-05-01", "value": "3.8"}, {"date": "2018-06-01", "value": "."}]})
    [{'date': '2018-05-01', 'value': 3.8}]
    """
    pairs = {str(day)[:10]: float(value) for day, value in ROWS_OF[source](data)}
    last = "9999-12-31" if through is None else through.isoformat()
    for day, value in pairs.items():
        date.fromisoformat(day)
        if abs(value) > LARGEST:
            raise ValueError(f"{value} on {day} is no figure")
    return [{"date": day, "value": value} for day, value in sorted(pairs.items()) if day <= last]


def _plain_rows(data: Any) -> Iterable[Pair]:
    return [(row["date"], row["value"]) for row in data if row["value"] is not None]


def _fred(data: Any) -> Iterable[Pair]:
    return [(row["date"], row["value"]) for row in data["observations"] if row["value"] not in (".", "")]


def _yahoo(data: Any) -> Iterable[Pair]:
    if data["chart"]["result"] == []:  # no such symbol, or nothing of it by then
        return []
    result = data["chart"]["result"][0]
    # Of the exchange: a bar of Tokyo begins on the evening before in UTC.
    offset = int(result.get("meta", {}).get("gmtoffset", 0))
    closes = result["indicators"]["quote"][0]["close"]
    days = [datetime.fromtimestamp(second + offset, tz=UTC).date() for second in result.get("timestamp", ())]
    return [(day, close) for day, close in zip(days, closes, strict=True) if close is not None]


def _dbnomics(data: Any) -> Iterable[Pair]:
    series = data["series"]["docs"][0]
    return [
        (day, value)
        for day, value in zip(series["period_start_day"], series["value"], strict=True)
        if value not in (None, "NA")
    ]


def _fmp(data: Any) -> Iterable[Pair]:
    return [(row["date"], row["price"]) for row in data if row["price"] is not None]


def _candle_prices(data: Any) -> Iterable[Pair]:
    pairs = []
    for candle in data["candlesticks"]:
        # A candle ends with its day, so its last second names the day.
        day = datetime.fromtimestamp(int(candle["end_period_ts"]) - 1, tz=UTC).date()
        price = candle["price"].get("close_dollars")
        if price is None:  # no trade on that day: the middle of what was bid and asked
            price = (
                float(candle["yes_bid"]["close_dollars"]) + float(candle["yes_ask"]["close_dollars"])
            ) / 2
        pairs.append((day, price))
    return pairs


def _outcome_points(data: Any) -> Iterable[Pair]:
    # Oldest first: the last point of a day stands.
    points = sorted(data["history"], key=lambda point: int(point["t"]))
    return [(datetime.fromtimestamp(int(point["t"]), tz=UTC).date(), point["p"]) for point in points]


def _wikipedia(data: Any) -> Iterable[Pair]:
    stamps = [(str(item["timestamp"]), item["views"]) for item in data["items"]]
    return [(f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}", views) for stamp, views in stamps]


def _column_rows(data: Any) -> Iterable[Pair]:
    # Without a column's name all are there: one value is meant where there is one.
    columns = {name for row in data[:1] for name in row if name != "date"}
    if len(columns) > 1 and "value" not in columns:
        raise ValueError(f"name one of its columns: {', '.join(sorted(columns))}")
    (name,) = ("value",) if "value" in columns or not columns else columns
    return [(row["date"], row[name]) for row in data if row[name] is not None]


#: The reader of each source's series.
ROWS_OF: dict[str, Callable[[Any], Iterable[Pair]]] = {
    "embedded": _plain_rows,
    "fred": _fred,
    "yfinance": _yahoo,
    "dbnomics": _dbnomics,
    "fmp": _fmp,
    "kalshi": _candle_prices,
    "polymarket": _outcome_points,
    "wikipedia": _wikipedia,
    "own": _column_rows,
    "service": _plain_rows,
}
