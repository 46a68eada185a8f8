"""What to do with forecasts of a set: stakes against quoted asks, and what they came to."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from workbench.errors import UsageError
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, blocks_of
from workbench.operations.fields import SetName
from workbench.questions.sets.bets import (
    LOG_COLUMNS,
    BetRules,
    Trade,
    bets_document,
    new_trades,
    read_log,
    settled_document,
)
from workbench.requests import Says

if TYPE_CHECKING:
    from workbench.questions.sets.question_sets import QuestionSet

Method = Annotated[
    str, Says(text="Whose forecasts; needed where the file has several.", word="method", form="METHOD")
]


class Bet(BetRules, Operation):
    """Size paper trades on the open questions of a set from one bankroll, with costs, spread, caps and exclusive options."""

    places = ("name",)
    short = ("forecasts", "method", "risk_aversion", "fee", "bankroll", "log")

    name: SetName
    forecasts: Path
    """Forecasts: CSV (gzip too) or parquet."""
    method: Method = ""
    pool: str = "logit-mean"
    """How trials are pooled."""
    log: Path | None = None
    """Add the paper trades to this CSV file; `questions settle` reads it."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the bets with what they stake and may lose, and every question without one with its reason."""
        from workbench.operations.forecast_files import write_csv
        from workbench.questions.question import check_day
        from workbench.questions.sets.question_sets import load_set

        questions = load_set(home.store, self.name)
        today = check_day(self.today or datetime.now(UTC).date().isoformat(), of="today")
        rules = BetRules(**{**self.model_dump(include={*BetRules.model_fields}), "today": today})
        p = pooled_events(questions, self.forecasts, self.method, self.pool)
        document = bets_document(questions, p, rules)
        if self.log is not None:
            logged = _logged(self.log) if self.log.exists() else []
            added = new_trades(document["bets"], logged, name=self.name, day=today)
            write_csv(
                self.log, LOG_COLUMNS, [[row[column] for column in LOG_COLUMNS] for row in (*logged, *added)]
            )
            document["logged"] = len(added)
        return document

    def show(self, document: dict[str, Any]) -> Iterable[Block]:
        """Return the bets with their sums, the rules in one row."""
        return blocks_of({**document, "rules": [document["rules"]]})


class Settle(Operation):
    """Settle logged bets, and split each gain into edge and luck."""

    places = ("name",)
    short = ("log",)

    name: SetName
    log: Path
    """Paper trades that `questions bet --log` wrote."""
    edge_by: Literal["own", "quotes"] = "own"
    """own: by the forecast at the time; quotes: by the set's newest quotes."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the bets that are decided with their sums, and those that wait."""
        from workbench.questions.sets.question_sets import load_set

        return settled_document(load_set(home.store, self.name), _logged(self.log), edge_by=self.edge_by)

    def show(self, document: dict[str, Any]) -> Iterable[Block]:
        """Return the bets, the sums in one row."""
        return blocks_of({**document, "total": [document["total"]]})


def _logged(path: Path) -> list[Trade]:
    from workbench.questions.formats.format_registry import read_text

    return read_log(read_text(path), name=path.name)


def pooled_events(questions: QuestionSet, path: Path, method: str, how: str) -> dict[str, float]:
    """Return one probability per event out of a file of forecasts; `decide` reads them so too."""
    import numpy as np

    from workbench.questions.sets.set_scores import events_table
    from workbench.science.documents.score_documents import pooled_forecasts
    from workbench.science.tables import read_forecasts

    table = events_table(list(questions.questions.values()), path=Path(f"set {questions.name}"))
    values = read_forecasts(path, table)
    if not method and len(values.methods) > 1:
        raise UsageError(f"{path} has the methods {', '.join(values.methods[:10])}: --method names one")
    p = pooled_forecasts(values, method or values.methods[0], how=how)
    return {
        event: float(value)
        for event, value in zip(table.event_id.tolist(), p, strict=True)
        if np.isfinite(value)
    }
