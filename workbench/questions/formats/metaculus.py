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
    read_part,
    text_of,
)
from workbench.questions.question import Link, Question, QuestionError, event_id
from workbench.questions.worded_answers import outcomes_of, values_of

_LEVELS = 9  # deciles of a numeric range become its events


def posts_of(document: Any) -> list[Any] | None:
    """The posts of a JSON value, which may be one alone; None if it holds none."""
    entries = document.get("results", [document]) if isinstance(document, dict) else document
    return entries if isinstance(entries, list) and any(map(_is_post, entries)) else None


def _is_post(entry: Any) -> bool:
    # a market's "question" is a text
    parts = ("question", "group_of_questions", "conditional")
    return isinstance(entry, dict) and any(isinstance(entry.get(part), dict) for part in parts)


def read_questions(document: Any) -> QuestionFile:
    """Read a list of posts.

    Numeric and discrete questions get events at nine levels that cut their range in ten parts, equal on the scale of the question
    (which may be logarithmic), date questions at nine days; a question that was annulled or is ambiguous is left out with that reason.
    """
    posts = posts_of(document)
    if posts is None:
        raise QuestionError(
            "no Metaculus-style list: posts with 'question', 'group_of_questions' or 'conditional'"
        )
    reading = collect(((_name(post), post) for post in posts), _post)
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


def _post(post: Mapping[str, Any]) -> list[Question | LeftOut] | str:
    parts = [*_parts(post)]
    read = [read_part(_name(entry), _metaculus_question, post, entry, links) for entry, links in parts]
    if post.get("group_of_questions"):
        # what was left out of a group binds nothing
        first = next((part.id for part in read if isinstance(part, Question)), "")
        read = [
            replace(part, links=(Link(kind="part-of", to=first),))
            if isinstance(part, Question) and part.id != first
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
    shape: dict[str, Any]
    match kind:
        case "binary":
            shape = {"kind": "binary"}
        case "multiple_choice":
            removed = _removed_options(entry)
            shape = {"kind": "options", "options": tuple(o for o in entry["options"] if o not in removed)}
            shape |= {"extra": {"removed_options": "|".join(removed)}} if removed else {}
        case "numeric" | "discrete":
            low, high, zero = (_end_of(scaling, name) for name in ("range_min", "range_max", "zero_point"))
            shape = {
                "kind": "numeric",
                "low": low,
                "high": high,
                "unit": text_of(entry.get("unit")),
                "zero_point": zero,
            }
            shape |= {
                f"open_{end}": entry.get(f"open_{name}_bound") is True
                for end, name in (("low", "lower"), ("high", "upper"))
            }
            shape |= {"extra": {"zero_point": f"{zero:.12g}"}} if zero is not None else {}
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
    question = replace(question, crowd=_crowd(question, entry), levels=_levels(question))
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


def _levels(question: Question) -> tuple[float, ...]:
    """Nine levels that part a range equally; with a zero point its scale is logarithmic, as Metaculus defines it.

    >>> _levels(Question(id="q", title="How many?", kind="numeric", low=1.0, high=1e6, zero_point=0.0))[4]
    1000.0
    """
    low, high, zero = question.low, question.high, question.zero_point
    if low is None or high is None:
        return ()
    shares = [step / (_LEVELS + 1) for step in range(1, _LEVELS + 1)]
    if zero is not None:
        ratio = (high - zero) / (low - zero)
        shares = [(ratio**share - 1) / (ratio - 1) for share in shares]
    return tuple(dict.fromkeys(float(f"{low + (high - low) * share:.6g}") for share in shares))


def _removed_options(entry: Mapping[str, Any]) -> list[str]:
    """The options that were taken away since the question opened: the newest forecasts hold nothing for them."""
    latest = ((entry.get("aggregations") or {}).get("recency_weighted") or {}).get("latest") or {}
    values, options = latest.get("forecast_values") or [], entry["options"]
    return (
        [o for o, p in zip(options, values, strict=True) if p is None] if len(values) == len(options) else []
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
    text = str(resolution)
    if question.kind == "numeric" and text in ("above_upper_bound", "below_lower_bound"):
        bound = question.high if text.startswith("above") else question.low
        if bound is None:
            raise QuestionError(f"resolved {text}, but the range has no such bound")
        text = repr(bound + (1.0 if text.startswith("above") else -1.0))
    if question.kind == "date":
        first = min(question.days, default="")
        if text == "below_lower_bound" and first:
            return (date.fromisoformat(first) - timedelta(days=1)).isoformat()
        text = "never" if text in ("above_upper_bound", "below_lower_bound") else day_of(text)
    return text


def _clipped_answer(question: Question, text: str) -> str:
    """A number beyond the range as its end: what is published is only that it lay beyond, and CRPS counts no more of it."""
    if question.kind != "numeric":
        return text
    value = number_of(text)
    if value is not None and question.low is not None and question.high is not None:
        return repr(min(max(value, question.low), question.high))
    return text
