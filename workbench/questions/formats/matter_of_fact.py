"""Matter-of-Fact (Jansen et al. 2025): claims of materials science with a gold label and the month they were published."""

from collections.abc import Mapping
from typing import Any

from workbench.questions.formats.base import Reading, collect, text_of
from workbench.questions.model import Question


def is_claim_list(document: Any) -> bool:
    """Whether a JSON value is a list of claims."""
    return (
        isinstance(document, list)
        and bool(document)
        and isinstance(document[0], dict)
        and {"claim_id", "claim_text"} <= set(document[0])
    )


def read_questions(document: Any) -> Reading:
    """Read claims; the cutoff is the first day of the month in which the paper came out (paper A, App. D.5).

    The explanation and the facts out of the paper give the answer away and are left behind.
    """
    return collect(((str(each.get("claim_id", "?")), each) for each in document), _question)


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
