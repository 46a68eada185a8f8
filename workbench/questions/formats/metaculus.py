"""Metaculus-style lists: posts with a question, a group of questions or a conditional pair."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from workbench.questions.formats.base import (
    LeftOut,
    QuestionFile,
    collect,
    criteria_of,
    day_of,
    field,
    number_of,
    text_of,
)
from workbench.questions.question import Link, Question, QuestionError, event_id
from workbench.questions.worded_answers import outcomes_of, values_of

_LEVELS = 9  # deciles of a numeric range become its events


def posts_of(document: Any) -> list[Mapping[str, Any]] | None:
    """The posts of a JSON value, None if it is no such list."""
    entries = document.get("results") if isinstance(document, dict) else document
    if not isinstance(entries, list) or not entries:
        return None
    shaped = [
        each
        for each in entries
        if isinstance(each, dict) and {"question", "group_of_questions", "conditional"} & set(each)
    ]
    return entries if shaped else None


def read_questions(document: Any) -> QuestionFile:
    """Read a list of posts.

    Numeric and discrete questions get events at nine levels that cut their range in ten equal parts, date questions at
    nine days; a question that was annulled or is ambiguous is left out with that reason.
    """
    posts = posts_of(document)
    if posts is None:
        raise QuestionError(
            "no Metaculus-style list: posts with 'question', 'group_of_questions' or 'conditional'"
        )
    reading = collect(((str(post.get("id", "?")), post) for post in posts), _post)
    left_out = list(reading.left_out)
    known = {question.id for question in reading.questions}
    questions = []
    for question in reading.questions:
        # A conditional names its condition by id; a list without it keeps the question, without the link.
        lost = [link.to for link in question.links if link.to not in known]
        left_out += [
            LeftOut(f"{question.id} -> {each}", "a link to a question that is not in the list")
            for each in lost
        ]
        questions.append(replace(question, links=tuple(link for link in question.links if link.to in known)))
    return QuestionFile(questions=tuple(questions), left_out=tuple(left_out))


def _post(post: Mapping[str, Any]) -> list[Question] | str:
    questions, refused = [], []
    for entry, links in _entries(post):
        result = _metaculus_question(post, entry, links)
        if isinstance(result, str):
            refused.append(f"{entry.get('id')}: {result}")
        else:
            questions.append(result)
    if not questions:
        return "; ".join(refused) or "a post without a question"
    return questions


def _entries(post: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], tuple[Link, ...]]]:
    if post.get("question"):
        yield post["question"], ()
    if group := post.get("group_of_questions"):
        first = None
        for entry in group["questions"]:
            own = str(entry["id"])
            yield entry, () if first is None else (Link(kind="part-of", to=first),)
            first = first or own
    if pair := post.get("conditional"):
        condition = str(pair["condition"]["id"])
        yield pair["condition"], ()
        yield pair["question_yes"], (Link(kind="given-yes", to=condition),)
        yield pair["question_no"], (Link(kind="given-no", to=condition),)


def _metaculus_question(
    post: Mapping[str, Any], entry: Mapping[str, Any], links: tuple[Link, ...]
) -> Question | str:
    resolution = entry.get("resolution")
    if resolution in ("annulled", "ambiguous"):
        return f"resolved as {resolution}"
    name = str(entry["id"])
    scaling = entry.get("scaling") or {}
    kind = entry["type"]
    shape: dict[str, Any]
    match kind:
        case "binary":
            shape = {"kind": "binary"}
        case "multiple_choice":
            shape = {"kind": "options", "options": tuple(entry["options"])}
        case "numeric" | "discrete":
            low, high = number_of(scaling.get("range_min")), number_of(scaling.get("range_max"))
            shape = {"kind": "numeric", "low": low, "high": high, "unit": text_of(entry.get("unit"))}
            shape |= {
                f"open_{end}": entry.get(f"open_{name}_bound") is True
                for end, name in (("low", "lower"), ("high", "upper"))
            }
            if low is not None and high is not None and low < high:
                shape["levels"] = tuple(
                    float(f"{low + (high - low) * step / (_LEVELS + 1):.6g}")
                    for step in range(1, _LEVELS + 1)
                )
        case "date":
            shape = {"kind": "date", "days": _range_days(scaling)}
        case _:
            return f"a question of type {kind!r}, which the workbench does not know"
    projects = (post.get("projects") or {}).get("category") or []
    question = Question(
        id=name,
        title=text_of(entry.get("title") or post.get("title")),
        source="metaculus",
        source_id=str(post.get("id", name)),
        url=text_of(post.get("page_url") or post.get("url")),
        question_type="market",
        category=text_of(projects[0].get("name")) if projects else "",
        background=text_of(field(entry, "description") or post.get("description")),
        **criteria_of(text_of(entry.get("resolution_criteria")), text_of(entry.get("fine_print"))),
        asked_on=day_of(entry.get("open_time")),
        closes_on=day_of(field(entry, "scheduled_close_time", "actual_close_time")),
        resolved_on=day_of(entry.get("actual_resolve_time")) if resolution else "",
        links=links,
        **shape,
    )
    crowd = _crowd(question, entry)
    question = replace(question, crowd=crowd)
    if not resolution:
        return question
    text = _answer_text(question, resolution)
    return question.answered(
        outcomes_of(question, text), values=values_of(question, _clipped_answer(question, text))
    )


def _range_days(scaling: Mapping[str, Any]) -> tuple[str, ...]:
    low, high = day_of(scaling.get("range_min")), day_of(scaling.get("range_max"))
    if not low or not high or low >= high:
        return ()
    start, span = date.fromisoformat(low), date.fromisoformat(high) - date.fromisoformat(low)
    days = [start + timedelta(days=round(span.days * step / (_LEVELS + 1))) for step in range(1, _LEVELS + 1)]
    return tuple(dict.fromkeys(day.isoformat() for day in days))


def _crowd(question: Question, entry: Mapping[str, Any]) -> dict[str, float]:
    latest = ((entry.get("aggregations") or {}).get("recency_weighted") or {}).get("latest") or {}
    values = latest.get("forecast_values") or []
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
    text = str(resolution)
    if question.kind == "numeric" and text in ("above_upper_bound", "below_lower_bound"):
        bound = question.high if text.startswith("above") else question.low
        if bound is None:
            raise QuestionError(f"resolved {text}, but the range has no such bound")
        text = repr(bound + (1.0 if text.startswith("above") else -1.0))
    if question.kind == "date":
        text = "never" if text == "above_upper_bound" else day_of(text)
    return text


def _clipped_answer(question: Question, text: str) -> str:
    """A number beyond the range as its end: what is published is only that it lay beyond, and CRPS counts no more of it."""
    if question.kind != "numeric":
        return text
    value = number_of(text)
    if value is not None and question.low is not None and question.high is not None:
        return repr(min(max(value, question.low), question.high))
    return text
