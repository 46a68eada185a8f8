"""Published sets that a paper names: read from the reader's own copy, and held to what the paper says of them.

``aibq2`` is Metaculus' AI Benchmark Tournament of the second quarter of 2025, as paper B counts it (App. H.1): 113 binary questions,
25 of them Yes. The file is Metaculus' and not ours to ship: a list of posts as its API gives them, or a CSV of questions.
"""

from dataclasses import dataclass

from workbench.questions.formats import metaculus, tables
from workbench.questions.formats.base import LeftOut, Reading, parse_json


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSet:
    """What is known of a published set: how many binary questions it has, and how many came out Yes."""

    questions: int
    yes: int
    source: str


NAMED_SETS = {"aibq2": NamedSet(questions=113, yes=25, source="BLF, App. H.1")}


def read_named(name: str, text: str) -> Reading:
    """Read a copy of a named set; questions of another kind, and any difference to what is known of the set, are left out or named."""
    known = NAMED_SETS[name]
    if text.lstrip()[:1] in ("{", "["):
        reading = metaculus.read_questions(parse_json(text, what="the file"))
    else:
        reading = tables.read_questions(tables.read_rows(text))
    questions = tuple(question for question in reading.questions if question.kind == "binary")
    left_out = [
        *reading.left_out,
        *(
            LeftOut(question.id, f"of kind {question.kind}: the set is of binary questions")
            for question in reading.questions
            if question.kind != "binary"
        ),
    ]
    yes = sum(question.outcomes.get(question.id) == 1.0 for question in questions)
    resolved = sum(bool(question.outcomes) for question in questions)
    if len(questions) != known.questions:
        left_out.append(
            LeftOut(
                name,
                f"the copy has {len(questions)} binary questions, the set {known.questions} ({known.source})",
            )
        )
    if resolved == len(questions) and yes != known.yes:
        left_out.append(
            LeftOut(name, f"{yes} came out Yes in the copy, {known.yes} in the set ({known.source})")
        )
    return Reading(questions=questions, left_out=tuple(left_out))
