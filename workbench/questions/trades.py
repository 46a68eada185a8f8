"""The paper-trade log: bets as they were made, one row each, and what became of them once their questions resolved."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.errors import UsageError
from workbench.questions.book import QuestionSet
from workbench.questions.model import Question, events_of
from workbench.science.scoring.luck import edge_and_luck

LOG_COLUMNS = ("day", "set", "event", "side", "p", "price", "stake", "dollars", "shares", "expected")
_NUMBERS = ("p", "price", "stake", "dollars", "shares", "expected")

Trade = dict[str, Any]


def read_log(text: str, *, name: str) -> list[Trade]:
    """Return the trades of a log; raises ``UsageError`` with the row that cannot be read.

    Examples
    --------
    >>> row = "2026-01-05,desk,q1,yes,0.7,0.5,0.1,100,200,40"
    >>> [trade["dollars"] for trade in read_log(",".join(LOG_COLUMNS) + chr(10) + row, name="log.csv")]
    [100.0]
    """
    rows = list(csv.reader(io.StringIO(text)))
    if not rows or tuple(rows[0]) != LOG_COLUMNS:
        raise UsageError(
            f"{name} is no paper-trade log of `questions bet --log`: its columns are {','.join(LOG_COLUMNS)}"
        )
    trades = []
    for number, row in enumerate(rows[1:], 1):
        trade: Trade = dict(zip(LOG_COLUMNS, row, strict=False))
        try:
            if len(row) != len(LOG_COLUMNS):
                raise ValueError(f"{len(row)} cells")
            trade |= {column: float(trade[column]) for column in _NUMBERS}
            if trade["side"] not in ("yes", "no"):
                raise ValueError(f"side {trade['side']!r:.20}")
            if not (0 <= trade["p"] <= 1 and 0 < trade["price"] < np.inf and 0 <= trade["dollars"] < np.inf):
                raise ValueError("a number out of range")
        except ValueError as error:
            raise UsageError(f"{name}, row {number}: {str(error)[:80]}") from None
        trades.append(trade)
    return trades


def new_trades(
    bets: Sequence[Mapping[str, Any]], logged: Sequence[Trade], *, name: str, day: str
) -> list[Trade]:
    """Return the rows to add for bets of a day: those of the same day, event and side stand there already.

    Running the same command twice must not double what was staked.
    """
    known = {(trade["day"], trade["set"], trade["event"], trade["side"]) for trade in logged}
    rows = [{"day": day, "set": name, **{column: bet[column] for column in LOG_COLUMNS[2:]}} for bet in bets]
    return [row for row in rows if (row["day"], row["set"], row["event"], row["side"]) not in known]


def settled_document(
    questions: QuestionSet, trades: Sequence[Trade], *, edge_by: str = "own"
) -> dict[str, Any]:
    """What logged bets on a set came to, each split into edge and luck: ``questions settle``.

    ``edge_by`` is ``own``, the probability at which a bet was made, or ``quotes``, what the set's newest quotes imply: the closing price
    where the set was fetched again before the close. The formula is that of `workbench.science.scoring.luck`, in dollars.

    Raises
    ------
    UsageError
        An unknown ``edge_by``.
    """
    if edge_by not in ("own", "quotes"):
        raise UsageError(f"--edge-by is own or quotes, not {edge_by!r:.40}")
    outcomes = {event.id: event.outcome for event in questions.events()}
    closing = _closing(questions.questions.values())
    settled, waiting = [], []
    for trade in trades:
        if trade["set"] != questions.name:
            continue
        outcome = outcomes.get(trade["event"])
        if outcome not in (0.0, 1.0):
            reason = "not resolved" if trade["event"] in outcomes else "not in the set any more"
            waiting.append(
                {"event": trade["event"], "day": trade["day"], "dollars": trade["dollars"], "reason": reason}
            )
            continue
        own = trade["p"]
        belief = own if edge_by == "own" else closing.get((trade["event"], trade["side"]))
        if belief is None:
            waiting.append(
                {
                    "event": trade["event"],
                    "day": trade["day"],
                    "dollars": trade["dollars"],
                    "reason": "no quote to measure the edge by",
                }
            )
            continue
        won = float(outcome == (1.0 if trade["side"] == "yes" else 0.0))
        # Per dollar: a share of this side is the event "this side wins", so `pays_no` is what losing leaves.
        split = edge_and_luck([1 / trade["price"]], [0.0], [won], [belief])
        dollars = trade["dollars"]
        settled.append(
            {
                **{column: trade[column] for column in ("day", "event", "side", "p", "price", "dollars")},
                "won": bool(won),
                "gain": dollars * float(split.gain[0]),
                "edge": dollars * float(split.edge[0]),
                "luck": dollars * float(split.luck[0]),
                "luck_sd": dollars * float(split.deviation[0]),
            }
        )
    spread = float(np.sqrt(sum(row["luck_sd"] ** 2 for row in settled)))
    totals = {name: float(sum(row[name] for row in settled)) for name in ("dollars", "gain", "edge", "luck")}
    return {
        "set": questions.name,
        "edge_by": edge_by,
        "settled": settled,
        "waiting": waiting,
        "total": {**totals, "bets": len(settled), "luck_z": totals["luck"] / spread if spread > 0 else None},
    }


def _closing(questions: Iterable[Question]) -> dict[tuple[str, str], float]:
    """What the newest quotes imply of each side."""
    implied: dict[tuple[str, str], float] = {}
    for question in questions:
        for event in events_of(question):
            quote = question.quotes.get(event.id)
            if quote is not None and quote.implied is not None:
                implied[event.id, "yes"], implied[event.id, "no"] = quote.implied, 1 - quote.implied
    return implied
