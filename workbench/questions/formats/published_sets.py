"""Published sets that a paper names: read from the reader's own copy, and held to what the paper says of them.

``aibq2`` is Metaculus' AI Benchmark Tournament of the second quarter of 2025, as paper B counts it (App. H.1): 113 binary questions,
25 of them Yes. The file is Metaculus' and not ours to ship: a list of posts as its API gives them, or a CSV of questions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.questions.formats import metaculus
from workbench.questions.formats import question_tables as tables
from workbench.questions.formats.base import LeftOut, QuestionFile, collect, named, parse_json, text_of
from workbench.questions.question import Question


def claims_of(document: Any) -> list[Any] | None:
    """A JSON value that is a list of claims; None for another."""
    first = document[0] if isinstance(document, list) and document else None
    return document if isinstance(first, dict) and {"claim_id", "claim_text"} <= set(first) else None


def read_claims(claims: list[Any]) -> QuestionFile:
    """Read claims; the cutoff is the first day of the month in which the paper came out (paper A, App. D.5).

    The explanation and the facts out of the paper give the answer away and are left behind.
    """
    return collect(named(claims, "claim_id"), _question)


def _question(entry: Mapping[str, Any]) -> Question:
    metadata = entry.get("metadata") or {}
    published = metadata.get("published_date") or {}
    cutoff = (
        f"{int(published['year']):04d}-{int(published['month']):02d}-01" if published.get("month") else ""
    )
    name = str(entry["claim_id"])
    label = entry.get("gold_label")
    return Question(
        id=name,
        title=text_of(entry["claim_text"]),
        source="matter-of-fact",
        source_id=text_of(metadata.get("paper_id")),
        category=text_of(metadata.get("type")),
        question_type="claim",
        asked_on=cutoff,
        outcomes={} if not isinstance(label, bool) else {name: float(label)},
        extra={"quantitative": text_of(metadata.get("quant_or_qual"))},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSet:
    """What is known of a published set: how many binary questions it has, and how many came out Yes."""

    questions: int
    yes: int
    source: str


NAMED_SETS = {"aibq2": NamedSet(questions=113, yes=25, source="BLF, App. H.1")}


def read_named(name: str, text: str) -> QuestionFile:
    """Read a copy of a named set; questions of another kind, and any difference to what is known of the set, are left out or named."""
    known = NAMED_SETS[name]
    if text.lstrip()[:1] in ("{", "["):
        reading = metaculus.read_questions(metaculus.posts_of(parse_json(text, what="the file")) or ())
    else:
        reading = tables.read_questions(tables.read_rows(text))
    questions = tuple(question for question in reading.questions if question.kind == "binary")
    left_out = [
        LeftOut(question.id, f"of kind {question.kind}: the set is of binary questions")
        for question in reading.questions
        if question.kind != "binary"
    ]
    yes = sum(question.outcomes.get(question.id) == 1.0 for question in questions)
    if len(questions) != known.questions:
        why = f"the copy has {len(questions)} binary questions, the set {known.questions} ({known.source})"
        left_out.append(LeftOut(name, why))
    if all(question.outcomes for question in questions) and yes != known.yes:
        why = f"{yes} came out Yes in the copy, {known.yes} in the set ({known.source})"
        left_out.append(LeftOut(name, why))
    return QuestionFile(questions=questions, left_out=(*reading.left_out, *left_out))
