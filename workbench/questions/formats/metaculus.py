"""Metaculus-style lists: posts with a question, a group of questions or a conditional pair."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.questions.formats.base import (
    LeftOut,
    QuestionFile,
    collect,
    criteria_of,
    day_of,
    field,
    named,
    number_of,
    read_part,
    text_of,
)
from workbench.questions.question import (
    Link,
    Question,
    QuestionError,
    day_number,
    event_id,
    range_of,
    shown_value,
)
from workbench.questions.worded_answers import outcomes_of, values_of

_CRITERIA = ("resolution_criteria", "fine_print")


def posts_of(document: Any) -> list[Any] | None:
    """The posts of a JSON value, which may be one alone; None if it holds none."""
    entries = document.get("results", [document]) if isinstance(document, dict) else document
    return entries if isinstance(entries, list) and any(map(_is_post, entries)) else None


def _is_post(entry: Any) -> bool:
    # a market's "question" is a text
    parts = ("question", "group_of_questions", "conditional")
    return isinstance(entry, dict) and any(isinstance(entry.get(part), dict) for part in parts)


def read_questions(posts: Iterable[Any]) -> QuestionFile:
    """Read a list of posts.

    A question that was annulled or is ambiguous is left out with that reason.
    """
    reading = collect(named(posts, "id"), _post)
    known = {question.id for question in reading.questions}
    # A conditional names its condition by id; a list without it keeps the question, without the link.
    lost = [
        LeftOut(f"{question.id} -> {link.to}", "a link to a question that is not in the list")
        for question in reading.questions
        for link in question.links
        if link.to not in known
    ]
    questions = tuple(
        replace(question, links=tuple(link for link in question.links if link.to in known))
        for question in reading.questions
    )
    return QuestionFile(questions=questions, left_out=(*reading.left_out, *lost))


def _post(post: Mapping[str, Any]) -> list[Question | LeftOut] | str:
    read = [read_part(_name(entry), _metaculus_question, post, entry, links) for entry, links in _parts(post)]
    if post.get("group_of_questions"):
        # what was left out of a group binds nothing
        ids = [part.id for part in read if isinstance(part, Question)]
        read = [
            replace(part, links=(Link(kind="part-of", to=ids[0]),))
            if isinstance(part, Question) and part.id in ids[1:]
            else part
            for part in read
        ]
    return read or "a post without a question"


def _parts(post: Mapping[str, Any]) -> Iterator[tuple[Any, tuple[Link, ...]]]:
    if post.get("question"):
        yield post["question"], ()
    for entry in (post.get("group_of_questions") or {}).get("questions") or ():
        yield entry, ()
    if pair := post.get("conditional"):
        condition = _name(pair["condition"])
        yield pair["condition"], ()
        yield pair["question_yes"], (Link(kind="given-yes", to=condition),)
        yield pair["question_no"], (Link(kind="given-no", to=condition),)


def _name(entry: Any) -> str:
    return str(entry.get("id", "?")) if isinstance(entry, dict) else "?"


def _metaculus_question(
    post: Mapping[str, Any], entry: Mapping[str, Any], links: tuple[Link, ...]
) -> Question | str:
    resolution = entry.get("resolution")
    if resolution in ("annulled", "ambiguous"):
        return f"resolved as {resolution}"
    name = str(entry["id"])
    scaling = entry.get("scaling") or {}
    kind = entry["type"]
    extra: dict[str, str] = {}
    shape: dict[str, Any] = {}
    match kind:
        case "binary":
            pass
        case "multiple_choice":
            removed = _removed_options(entry)
            shape = {"kind": "options", "options": tuple(o for o in entry["options"] if o not in removed)}
            extra = {"removed_options": "|".join(removed)} if removed else {}
        case "numeric" | "discrete":
            low, high, zero = (_end_of(scaling, name) for name in ("range_min", "range_max", "zero_point"))
            steps = number_of(field(entry, "inbound_outcome_count") or scaling.get("inbound_outcome_count"))
            shape = {"kind": "numeric", "low": low, "high": high, "zero_point": zero}
            shape["unit"] = text_of(entry.get("unit"))
            extra = {"steps": f"{steps:g}"} if steps else {}
        case "date":
            ends = (day_of(scaling.get(name)) for name in ("range_min", "range_max"))
            shape = dict(zip(("kind", "earliest", "latest"), ("date", *ends), strict=True))
        case _:
            return f"a question of type {kind!r}, which the workbench does not know"
    if shape.get("kind") in ("numeric", "date"):
        bounds = {"open_low": "open_lower_bound", "open_high": "open_upper_bound"}
        shape |= {end: entry.get(bound) is True for end, bound in bounds.items()}
    projects = (post.get("projects") or {}).get("category") or []
    group = post.get("group_of_questions") or {}  # holds the texts of all its questions
    closes = [str(entry[name]) for name in ("actual_close_time", "scheduled_close_time") if entry.get(name)]
    if closes and len(min(closes)) > len("2026-01-31"):
        extra["closes_at"] = min(closes)
    question = Question(
        id=name,
        title=text_of(entry.get("title") or post.get("title")),
        source="metaculus",
        source_id=str(post.get("id", name)),
        url=text_of(post.get("page_url") or post.get("url")),
        question_type="market",
        category=text_of(projects[0].get("name")) if projects else "",
        background=text_of(
            field(entry, "description") or group.get("description") or post.get("description")
        ),
        **criteria_of(*(text_of(field(entry, name) or group.get(name)) for name in _CRITERIA)),
        asked_on=day_of(entry.get("open_time")),
        closes_on=day_of(field(entry, "scheduled_close_time", "actual_close_time")),
        resolved_on=day_of(entry.get("actual_resolve_time")) if resolution else "",
        links=links,
        extra=extra,
        **shape,
    )
    question = replace(question, crowd=_crowd(question, entry))
    if not resolution:
        return question
    text = _answer_text(question, resolution)
    return question.answered(
        outcomes_of(question, text), values=values_of(question, _clipped_answer(question, text))
    )


def _end_of(scaling: Mapping[str, Any], name: str) -> float | None:
    number = number_of(scaling.get(name))
    if number is None and scaling.get(name) not in (None, ""):
        raise QuestionError(f"{name} must be a number, not {scaling[name]!r:.40}: mend it, or leave it out")
    return number


def _removed_options(entry: Mapping[str, Any]) -> list[str]:
    """The options that were taken away since the question opened: the newest forecasts hold nothing for them."""
    values, options = _latest(entry).get("forecast_values") or [], entry["options"]
    return (
        [o for o, p in zip(options, values, strict=True) if p is None] if len(values) == len(options) else []
    )


def _latest(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return ((entry.get("aggregations") or {}).get("recency_weighted") or {}).get("latest") or {}


def _crowd(question: Question, entry: Mapping[str, Any]) -> dict[str, float]:
    latest = _latest(entry)
    values = [value for value in latest.get("forecast_values") or [] if value is not None]
    centers = latest.get("centers") or []
    if question.kind == "binary":
        p = number_of(centers[0]) if centers else number_of(values[1]) if len(values) == 2 else None
        return {} if p is None or not 0 <= p <= 1 else {question.id: p}
    if question.kind == "options" and len(values) == len(question.options):
        return {
            event_id(question.id, each): float(p) for each, p in zip(question.options, values, strict=True)
        }
    return {}


def _answer_text(question: Question, resolution: Any) -> str:
    """The answer in the question's own words; one beyond the range lies just outside of it."""
    text = str(resolution)
    if text in ("above_upper_bound", "below_lower_bound") and question.kind in ("numeric", "date"):
        above = text.startswith("above")
        if question.kind == "date" and above:
            return "never"
        bound = range_of(question)[above]
        if bound is None:
            raise QuestionError(f"resolved {text}, but the range has no such bound")
        return str(shown_value(question, bound + (1.0 if above else -1.0)))
    return day_of(text) if question.kind == "date" else text


def _clipped_answer(question: Question, text: str) -> str:
    """A number or day beyond the range as its end: what is published is only that it lay beyond, and CRPS counts no more of it."""
    low, high = range_of(question)
    if low is None or high is None or text == "never":
        return text
    value = day_number(text) if question.kind == "date" else number_of(text)
    return text if value is None else str(shown_value(question, min(max(value, low), high)))
