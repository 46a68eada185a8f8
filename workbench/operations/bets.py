"""What to do with forecasts of a set: stakes against quoted asks, and a tournament's file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from workbench.errors import WANTING, UsageError
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


class Submit(Operation):
    """Write forecasts of a set in a tournament's format, checked field by field. You upload the file."""

    places = ("form", "name")
    short = ("output", "forecasts", "method", "partial", "check")
    unlisted = ("night", "model")

    form: Literal["forecastbench", "prophet", "metaculus"]
    """Whom it is for."""
    name: SetName
    output: Annotated[Path, Says(text="File to write; nothing is sent.", form="FILE", short="o")]
    forecasts: Path | None = None
    """CSV: method, event_id, trial or variant, p."""
    night: Annotated[
        str | None, Says(text="Take forecasts and rationales from this round of the set.", form="NIGHT")
    ] = None
    rationales: Path | None = None
    """JSON: question id to text; a round has its own."""
    method: Method = ""
    pool: str = "logit-mean"
    """How trials are pooled."""
    organization: str = ""
    """Who forecasts."""
    model: str = ""
    """With what."""
    partial: bool = False
    """Leave out questions without a forecast."""
    least: float = 0.01
    """No probability leaves nearer to 0 or 1 than this."""
    check: bool = False
    """Write nothing: read the file that is there and say what is wrong with it."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the files that were written, what was left out of them, and what is wrong; then nothing is written, but with ``partial``."""
        from workbench.output_files import write_output
        from workbench.questions.formats.format_registry import read_text
        from workbench.questions.sets.question_sets import load_set
        from workbench.questions.sets.submission_files import (
            check_metaculus_forecasts,
            check_submission,
            metaculus_forecasts,
            read_rationales,
            submission,
            within,
        )

        questions = load_set(home.store, self.name)
        # comments, and the forecasts beside them
        metaculus = self.form == "metaculus"
        beside = self.output.with_suffix(".json")
        output = self.output.with_suffix(".md") if metaculus else self.output
        files = [str(output), *([str(beside)] if metaculus else [])]
        if self.check:
            problems = check_submission(read_text(output), self.form, questions)
            if metaculus:
                problems += check_metaculus_forecasts(read_text(beside), questions)
            return {"form": self.form, "files": files, "left_out": [], "problems": problems}
        if (self.forecasts is None) == (self.night is None):
            raise UsageError("forecasts come from one place: --forecasts FILE, or --night NAME")
        path, method, words = self.forecasts, self.method, dict[str, str]()
        quantiles: Mapping[str, Mapping[str, float | str]] = {}
        if self.night is not None:
            path, words, quantiles = self._of_night(home, self.night)
            method = method or "final"
        if self.rationales is not None:
            words |= read_rationales(read_text(self.rationales))
        assert path is not None
        p = within(questions, pooled_events(questions, path, method, self.pool), self.least)
        text, left_out = submission(
            questions, p, self.form, organization=self.organization, model=self.model, rationales=words, partial=self.partial
        )  # fmt: skip
        problems = check_submission(text, self.form, questions)
        if problems and not self.partial:
            return {"form": self.form, "files": [], "left_out": left_out, "problems": problems}
        write_output(output, text.encode())
        if metaculus:
            entries = metaculus_forecasts(questions, p, quantiles)
            write_output(beside, (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode())
        return {"form": self.form, "files": files, "left_out": left_out, "problems": problems}

    def _of_night(
        self, home: Home, name: str
    ) -> tuple[Path, dict[str, str], Mapping[str, Mapping[str, float | str]]]:
        from workbench.studies.rounds.round_page import rationales, write_round
        from workbench.studies.rounds.round_state import load_round

        results, folder = write_round(home.store, load_round(home.store, name))
        if results.night.set_name != self.name:
            raise UsageError(
                f"round {results.night.name} is of set {results.night.set_name}, not of {self.name}"
            )
        if results.record is not None:
            raw = "; --method raw hands in what was said" if results.record.corrects else ""
            home.say(results.record.line() + raw)
        return folder / "forecasts.csv", dict(rationales(results)), results.quantiles

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 6 where something is wrong with the file."""
        return WANTING if document["problems"] and not (self.partial and not self.check) else 0


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
