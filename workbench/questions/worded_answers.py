"""Answers in a question's own words, as outcomes of its events: yes, an option, a number, a day, or a share of what resolved in part."""

import math

from workbench.questions.question import (
    Question,
    QuestionError,
    came_true,
    check_day,
    day_number,
    event_id,
    parts_of,
    range_of,
    shown_value,
    targets_of,
)


def outcomes_of(question: Question, answer: str, horizon: str = "") -> dict[str, float]:
    """Outcomes of a question's events for an answer in its own words.

    `answer`: ``yes``, ``no`` or a share for a binary question; an option (or several, by ``|``, where they do not exclude each other); a
    number for levels; a day, or ``never``, for days.

    Raises `QuestionError`: The answer does not fit the question, or no horizon is named where there are several.

    >>> outcomes_of(Question(id="q", title="Rate?", kind="numeric", levels=(3.0, 4.0)), "3.5")
    {'q#3': 1.0, 'q#4': 0.0}
    """
    label = _label(question, horizon)
    if question.kind == "binary":
        return {event_id(question.id, "", label): share_of(answer)}
    if question.kind != "options":
        value = _value(question, answer)
        came = {part: came_true(question, part, value) for part in parts_of(question)}
    else:
        chosen = [word.strip() for word in (answer.split("|") if not question.exclusive else [answer])]
        unknown = [word for word in chosen if word not in question.options]
        if unknown and (question.exclusive or unknown != ["none"]):
            raise QuestionError(
                f"{unknown[0]!r:.60} is no option of question {question.id}: {', '.join(question.options)}"
            )
        came = {option: option in chosen for option in question.options}
    return {event_id(question.id, part, label): float(true) for part, true in came.items()}


def values_of(question: Question, answer: str, horizon: str = "") -> dict[str, float]:
    """The number that a numeric question came to, or the day of a date, by its target; empty for a question of another kind.

    A day that never came counts as the open end of the range, and says nothing where there is none.

    Raises `QuestionError`: No number, one beyond a closed end of the range, or no horizon named where there are several.

    >>> values_of(Question(id="q", title="Rate?", kind="numeric", low=0.0), "3.5")
    {'q': 3.5}
    """
    value = _value(question, answer) if targets_of(question) else math.inf
    if value == math.inf:
        if not (question.kind == "date" and question.latest and question.open_high):
            return {}
        value = day_number(question.latest)
    target = event_id(question.id, "", _label(question, horizon))
    if beyond := beyond_range(question, value):
        raise QuestionError(f"question {question.id} came to {_plain(question, value)}, {beyond}")
    return {target: value}


def beyond_range(question: Question, value: float) -> str:
    """Which closed end of a question's range a value lies beyond, in words; "" where it may lie there.

    >>> beyond_range(Question(id="q", title="Rate?", kind="numeric", low=0.0, high=1.0, open_high=True), -1.0)
    'below the closed lower end 0 of its range'
    """
    low, high = range_of(question)
    if low is not None and not question.open_low and value < low:
        return f"below the closed lower end {_plain(question, low)} of its range"
    if high is not None and not question.open_high and value > high:
        return f"above the closed upper end {_plain(question, high)} of its range"
    return ""


def _plain(question: Question, value: float) -> str:
    shown = shown_value(question, value)
    return shown if isinstance(shown, str) else f"{shown:g}"


def _label(question: Question, horizon: str) -> str:
    if len(question.horizons) > 1 and horizon not in question.horizons:
        raise QuestionError(
            f"question {question.id} has several horizons: name one of {', '.join(question.horizons)}"
        )
    return question.horizon_label(horizon)


def _value(question: Question, answer: str) -> float:
    """The number or day of an answer; infinite for a day that never comes."""
    if question.kind == "date":
        if answer.strip().lower() == "never":
            return math.inf
        return day_number(check_day(answer, of=f"the answer to question {question.id}"))
    try:
        value = float(answer)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise QuestionError(f"question {question.id} needs a number, not {answer!r:.40}")
    return value


def share_of(answer: str) -> float:
    """``yes`` is 1, ``no`` 0, a share itself; raises `QuestionError`.

    >>> share_of("yes"), share_of("0.25"), share_of("30%")
    (1.0, 0.25, 0.3)
    """
    plain = answer.strip().lower()
    if plain in ("yes", "true"):
        return 1.0
    if plain in ("no", "false"):
        return 0.0
    try:
        value = float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise QuestionError(f"an outcome is yes, no or a share from 0 to 1 (0.3 or 30%), not {answer!r:.40}")
    return value
