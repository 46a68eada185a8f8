"""Exams: named views of a file of questions, built by rule; `score --exam NAME` and the like use them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import orjson

from proxies.atomic import private_folder
from workbench.errors import UsageError
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, Table, columns
from workbench.operations.fields import Words
from workbench.operations.forecast_files import exams_folder, write_whole
from workbench.questions.sets.exams import ExamRules, build_exam, exams_document, saved_exams
from workbench.requests import Says
from workbench.science.tables import read_events


class BuildExam(Operation):
    """Choose questions by dates, source, strata and seed, without those that a model may have memorized."""

    places = ("name",)
    short = ("events", "due_from", "due_to", "size", "model")

    name: str
    """Name of the exam: letters, digits, dot, dash, underscore."""
    events: Path
    """Events: CSV (gzip too) or parquet."""
    due_from: str | None = None
    """First day a forecast was due."""
    due_to: str | None = None
    """Last day a forecast was due."""
    resolved_from: str | None = None
    """First resolution day."""
    resolved_to: str | None = None
    """Last resolution day."""
    source: Words = []
    """Only these sources, by comma."""
    kind: Annotated[Words, Says(text="Only these question types, by comma.", word="type")] = []
    seed: int = 0
    """Seed of the choice."""
    size: int | None = None
    """Questions in all, shared among the strata by their sizes."""
    per_stratum: int | None = None
    """Questions of each stratum instead."""
    stratify: str | None = None
    """Column of the strata (source)."""
    offset: int = 0
    """Pass over so many of each stratum first: offsets 0 and k split a file into exams that share nothing."""
    model: str | None = None
    """Leave out what this model may know."""
    model_cutoff: str | None = None
    """Its training cutoff, where the table of cutoffs does not have it."""
    margin_days: int = 0
    """Days after the cutoff left out too."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Write the exam into the data folder and return it."""
        if not all(letter.isalnum() or letter in "._-" for letter in self.name) or self.name[:1] in ("", "."):
            raise UsageError(
                f"{self.name!r} cannot name an exam: use letters, digits, dots, dashes and underscores only"
            )
        rules = self.model_dump(exclude={"events", "source", "kind"})
        exam = build_exam(
            read_events(self.events, unresolved=True),
            ExamRules(**rules, sources=tuple(self.source), kinds=tuple(self.kind)),
        )
        folder = exams_folder(home)
        try:
            private_folder(folder)
        except OSError as error:
            raise UsageError(f"cannot create {folder}: {error.strerror}") from error
        document: dict[str, Any] = exam.to_json()
        text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
        write_whole(folder / f"{self.name}.json", text + "\n")
        return document

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the exam's row."""
        yield Table(
            ["exam", "questions", "events", "not safe", "digest"],
            [
                [
                    self.name,
                    document["questions"],
                    len(document["event_ids"]),
                    document["unsafe"],
                    document["digest"][:19],
                ]
            ],
        )


class ListExams(Operation):
    """List the exams by name."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return a row for each; ``broken`` says of a file why it cannot be read."""
        return exams_document(*saved_exams(exams_folder(home)))

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the rows."""
        yield from (Remark(f"{row['file']}: {row['problem']}") for row in document["broken"])
        yield columns(
            document["exams"],
            exam="name",
            questions="questions",
            events="events",
            not_safe="unsafe",
            digest="digest .19",
        )
