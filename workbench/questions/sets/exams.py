"""Exams: named, frozen views of a file of questions.

An exam is a list of events and the rules that chose them. Choice goes by whole questions, in the order of a hash of
seed and question: the same on every machine, and adding questions to the file never reshuffles the old ones.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from proxies.hashing import sha256_of
from proxies.input_files import InputRefused, parse_json, read_text
from workbench.errors import UsageError
from workbench.models.training_ends import date_or_month, training_cutoff
from workbench.propositions.strict_json import read_strict
from workbench.science.arrays import IntArray
from workbench.science.tables import Events

_FORMAT = "analyst-workbench/exam/1"


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ExamError(UsageError):
    """An exam cannot be built or read as asked."""


class ExamRules(_Form):
    """How an exam is chosen from a file of events. Dates are ISO text, both ends inclusive; None sets no bound."""

    name: str
    due_from: str | None = None
    due_to: str | None = None
    resolved_from: str | None = None
    resolved_to: str | None = None
    sources: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    seed: int = 0
    size: int | None = None
    """Questions in all, shared among the strata by their sizes; None takes all."""
    per_stratum: int | None = None
    """Questions of each stratum instead of ``size``."""
    stratify: str | None = None
    """Column whose values are the strata."""
    offset: int = 0
    """Questions of each stratum to pass over first: offsets 0 and k split a file into exams that share nothing."""
    model: str | None = None
    """Leave out questions that this model may know by heart."""
    model_cutoff: str | None = None
    """Its training cutoff, where the table of cutoffs does not have it."""
    margin_days: int = 0
    """Days after the training cutoff that are still left out."""


class Exam(_Form):
    """A frozen list of events, the rules behind it, and what the safety filter left out."""

    rules: ExamRules
    event_ids: tuple[str, ...]
    questions: int
    unsafe: int
    """Questions that passed the other filters but not the safety filter."""
    strata: dict[str, int] = {}

    @property
    def digest(self) -> str:
        """Hash of the list of events."""
        return sha256_of("\n".join(self.event_ids).encode())

    def to_json(self) -> dict[str, Any]:
        """The exam as plain JSON values."""
        head = {"format": _FORMAT, "name": self.rules.name, "events": len(self.event_ids)}
        return {**head, "digest": self.digest, **self.model_dump(mode="json")}

    def summary(self) -> dict[str, Any]:
        """What a document of scores says about the exam behind its numbers."""
        document = self.to_json()
        return {name: document[name] for name in ("name", "events", "questions", "digest")}

    def rows(self, events: Events) -> IntArray:
        """Rows of a file of events that are this exam's, in the order of the file.

        `score`, `compare` and `returns` call this; they need outcomes, so every event must have one.

        Raises `ExamError`: An event of the exam is not in the file, or has not resolved yet.
        """
        known = set(events.event_id.tolist())
        if missing := [event for event in self.event_ids if event not in known]:
            raise ExamError(
                f"{events.path} lacks {len(missing)} of the {len(self.event_ids)} events of exam "
                f"{self.rules.name!r}, the first is {missing[0]!r}: give the file it was built from"
            )
        rows = np.flatnonzero(np.isin(events.event_id, self.event_ids))
        unresolved = events.event_id[rows[np.isnan(events.outcome[rows])]]
        if len(unresolved):
            raise ExamError(
                f"{len(unresolved)} of the {len(rows)} events of exam {self.rules.name!r} have no outcome in "
                f"{events.path}, the first is {str(unresolved[0])!r}"
            )
        return rows

    @classmethod
    def from_json(cls, document: Any) -> "Exam":
        """The exam that a JSON document describes; its digest must fit its list of events.

        Raises `ExamError`: Another format, a broken field, or a list that was changed.
        """
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise ExamError(f"not an exam: the field 'format' must be {_FORMAT!r}")
        try:
            exam = read_strict(cls, {name: document.get(name) for name in cls.model_fields}, what="an exam")
        except UsageError as fault:
            raise ExamError(str(fault)) from None
        # Documents of scores cite the digest; a list edited by hand would pass for the original.
        if document.get("digest") != exam.digest:
            raise ExamError(
                f"exam {exam.rules.name!r}: its list of events does not fit its digest; build it again"
            )
        return exam


def _days(events: Events, column: str) -> "pd.Series[pd.Timestamp]":
    text = pd.Series(events.text(column))
    days = pd.to_datetime(text, format="ISO8601", errors="coerce", utc=True).dt.tz_localize(None)
    bad = days.isna() & (text.str.strip() != "")
    events.cells.refuse(bad.to_numpy(), column, lambda row: f"{text[row]!r} is not a date")
    return days.dt.normalize()


def _within(events: Events, column: str, low: str | None, high: str | None) -> Any:
    if low is None and high is None:
        return True
    first = date_or_month(low) if low else date.min
    last = date_or_month(high, last=True) if high else date.max
    return _days(events, column).dt.date.between(first, last).to_numpy()


def _among(values: Any, wanted: Sequence[str], what: str, events: Events) -> Any:
    if not wanted:
        return True
    if lacking := [name for name in wanted if name not in values]:
        raise ExamError(
            f"{events.path} has no {what} {lacking[0]!r}; it has: {', '.join(sorted(set(values.tolist())))}"
        )
    return np.isin(values, list(wanted))


def build_exam(events: Events, rules: ExamRules) -> Exam:
    """Return the exam that the rules choose from a file of events; `exam build` saves it.

    Parameters
    ----------
    events : Events
        Needs the columns its rules speak of (``forecast_due_date``, ``resolution_date``).
    rules : ExamRules

    Returns
    -------
    Exam
        Events in the order of the file, all dates of a chosen question together (those that pass the date filters).

    Raises
    ------
    ExamError
        Nothing is left, more is asked for than there is, a negative number, or an unknown model.

    Notes
    -----
    Source: BLF, App. H.2 (20 questions of each source, stratified); the safety filter is App. B.2.
    """
    if rules.offset < 0 or (rules.size or 0) < 0 or (rules.per_stratum or 0) < 0 or rules.margin_days < 0:
        raise ExamError("size, offset and margin must be at least 0")
    if rules.size is not None and rules.per_stratum is not None:
        raise ExamError("give a size in all or a number per stratum, not both")
    keep = np.full(len(events), True)
    keep &= _within(events, "forecast_due_date", rules.due_from, rules.due_to)
    keep &= _within(events, "resolution_date", rules.resolved_from, rules.resolved_to)
    keep &= _among(events.source, rules.sources, "source", events)
    keep &= _among(events.kind, rules.kinds, "type", events)
    safe = keep
    if rules.model is not None or rules.model_cutoff is not None:
        cutoff = training_cutoff(rules.model or "", rules.model_cutoff)
        if cutoff is not None:
            # The cutoff day itself may be in the training data, so a forecast has to be due after it.
            limit = pd.Timestamp(cutoff + timedelta(days=rules.margin_days))
            safe = keep & (_days(events, "forecast_due_date") > limit).to_numpy()
    unsafe = len(np.unique(events.question[keep])) - len(np.unique(events.question[safe]))
    stratum = events.text(rules.stratify) if rules.stratify else "all"
    table = pd.DataFrame({"event": events.event_id, "question": events.question, "stratum": stratum})[safe]
    table = table[table["question"].isin(_chosen(table, rules))]
    if table.empty:
        raise ExamError(
            f"exam {rules.name!r} would be empty: no question passes its filters ({unsafe} are not safe)"
        )
    return Exam(
        rules=rules,
        event_ids=tuple(table["event"]),
        questions=table["question"].nunique(),
        unsafe=unsafe,
        strata=table.groupby("stratum")["question"].nunique().to_dict(),
    )


def _chosen(table: pd.DataFrame, rules: ExamRules) -> "pd.Series[str]":
    """Questions by the hash of seed and name within their stratum, which is that of a question's first row: its dates are never split."""
    questions = table.drop_duplicates("question")
    # The separator keeps seed 1 with question "2x" apart from seed 12 with question "x".
    ranks = [sha256(f"{rules.seed}\x1f{name}".encode()).digest() for name in questions["question"]]
    questions = questions.assign(rank=ranks).sort_values("rank")
    strata = questions.groupby("stratum")
    place = strata.cumcount() - rules.offset
    wanted = (
        questions["stratum"].map(_wanted(questions["stratum"].value_counts().to_dict(), rules)).astype(int)
    )
    return questions.loc[(place >= 0) & (place < wanted), "question"]


def _wanted(sizes: Mapping[Any, int], rules: ExamRules) -> dict[str, int]:
    """How many questions of each stratum are taken."""
    left = {name: max(size - rules.offset, 0) for name, size in sizes.items()}
    if rules.per_stratum is not None:
        return {name: min(rules.per_stratum, size) for name, size in left.items()}
    if rules.size is None:
        return left
    if rules.size > sum(left.values()):
        raise ExamError(
            f"{rules.size} questions were asked for, {sum(left.values())} are left after the filters"
        )
    # Shares come from the sizes before the offset, so that exams at offsets 0 and k have the same mix.
    exact = {name: rules.size * size / sum(sizes.values()) for name, size in sizes.items()}
    wanted = {name: min(int(value), left[name]) for name, value in exact.items()}
    while sum(wanted.values()) < rules.size:  # largest remainder first, among strata that still have some
        wanted[
            max(
                (name for name in sorted(wanted) if wanted[name] < left[name]),
                key=lambda name: exact[name] - wanted[name],
            )
        ] += 1
    return wanted


def load_exam(text: str) -> Exam:
    """Return the exam in a JSON text.

    Raises `ExamError`: No JSON, or no exam.
    """
    try:
        return Exam.from_json(parse_json(text, "it"))
    except InputRefused as error:
        raise ExamError(str(error)) from None


def saved_exams(folder: Path) -> tuple[list[Exam], dict[str, str]]:
    """Exams saved in a folder, in the order of their names, and what is wrong with each file that is none."""
    saved, broken = [], {}
    for path in sorted(folder.glob("*.json")):
        try:
            saved.append(load_exam(read_text(path)))
        except (ExamError, InputRefused) as error:
            broken[str(path)] = " ".join(str(error).split())
    return saved, broken


def exams_document(saved: Sequence[Exam], broken: dict[str, str]) -> dict[str, Any]:
    """The document that `exam list` prints, from what `saved_exams` gives; lists of events are left out."""
    return {
        "exams": [
            {key: value for key, value in exam.to_json().items() if key != "event_ids"} for exam in saved
        ],
        "broken": [{"file": file, "problem": problem} for file, problem in broken.items()],
    }


def find_exam(folder: Path, name: str) -> Exam:
    """The exam of that name, as `exam build` saved it.

    Raises `ExamError`: There is none (the line lists those there are), or its file is broken.
    """
    # Looked up in the list, not joined to the folder: a name such as "../x" never becomes a path.
    saved = {path.stem: path for path in sorted(folder.glob("*.json"))}
    if name not in saved:
        near = f"there is: {', '.join(saved)}" if saved else "`exam build` builds the first one"
        raise ExamError(f"there is no exam {name!r} in {folder}; {near}")
    try:
        return load_exam(read_text(saved[name]))
    except InputRefused as error:
        raise ExamError(str(error)) from None
    except ExamError as error:
        raise ExamError(f"{saved[name]}: {error}") from error
