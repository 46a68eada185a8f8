"""Forecasts of a set written as tournaments take them, each checked before: every field, every question, every range.

The fields are those that the tournaments document: ForecastBench's wiki ("How to submit to ForecastBench"); of yes-or-no questions the
submission that Prophet Arena's client takes (ai-prophet-core 0.1.5, forecast/schemas.py), of others its answer of a probability per exact
outcome with a rationale (paper P, App. F.1.2), which that client has no place for; Metaculus comments as Markdown.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from workbench.errors import UsageError
from workbench.propositions.strict_json import read_strict
from workbench.questions.formats.base import parse_json
from workbench.questions.formats.forecastbench import MARKETS
from workbench.questions.question import (
    Question,
    QuestionError,
    day_number,
    events_of,
    range_of,
)
from workbench.questions.sets.question_sets import QuestionSet
from workbench.science.scoring.quantile_curve import STEPS, Scale, metaculus_cdf, metaculus_faults

#: Share of each half that ForecastBench wants at least.
FORECASTBENCH_SHARE = 0.95
#: No probability may be nearer to 0 or 1 at Metaculus.
METACULUS_LEAST = 0.001
#: What is written there at least: a share that was divided by a sum may come out a hair lower.
METACULUS_WRITES = 0.0011
_OUTSIDE = f"each probability is from {METACULUS_LEAST} to {1 - METACULUS_LEAST}"
_LONGEST_COMMENT = 150_000  # characters, of Metaculus
_Share = Annotated[float, Field(ge=0, le=1)]
_Words = Annotated[str, Field(min_length=1)]
_Entries = Annotated[list[Any], Field(min_length=1)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, str_strip_whitespace=True)


class _ForecastSet(_Form):
    organization: _Words
    model: _Words
    model_organization: _Words
    question_set: str
    forecast_due_date: date
    forecasts: _Entries


class _Forecast(_Form):
    id: str
    source: str
    forecast: _Share
    resolution_date: date | None
    reasoning: str | None = None


class _Predictions(_Form):
    timestamp: datetime
    predictions: _Entries


class _Prediction(_Form):
    market_ticker: _Words
    p_yes: Annotated[float, Field(ge=0.01, le=0.99)]
    rationale: str | None = None


class _Outcome(_Form):
    market: str
    probability: _Share


class _Answer(_Form):
    task_id: _Words
    rationale: str
    probabilities: list[_Outcome]


class _MetaculusForecast(_Form):
    question: int | str
    source: str
    probability_yes: _Share | None = None
    probability_yes_per_category: dict[str, _Share] | None = None
    continuous_cdf: list[_Share] | None = None


_F = TypeVar("_F", bound=_Form)


def _read(form: type[_F], data: Any, what: str, problems: list[str]) -> _F | None:
    try:
        return read_strict(form, data, what=what)
    except UsageError as fault:
        problems.append(str(fault))
        return None


def _read_each(
    form: type[_F], entries: Iterable[Any], what: str, problems: list[str]
) -> Iterator[tuple[str, _F]]:
    """Yield the entries that are of their form, each with its place; what is wrong with the others joins the problems."""
    for number, data in enumerate(entries, 1):
        if (entry := _read(form, data, f"{what} {number}", problems)) is not None:
            yield f"{what} {number}: ", entry


def check_submission(text: str, form: str, questions: QuestionSet) -> list[str]:
    """What is wrong with a submission for these questions, one line each; empty if nothing is.

    Raises `QuestionError`: It is no text of this form at all.
    """
    check = {"forecastbench": _check_forecastbench, "prophet": _check_prophet, "metaculus": _check_comments}
    problems: list[str] = []
    check[form](text, questions, problems)
    return problems


#: What ForecastBench files a forecast under: the question's id, its source, and the resolution day of a dataset question.
_Address = tuple[str, str, str | None]


def _addresses(question: Question) -> list[tuple[str, _Address]]:
    """Each event of a question with its address."""
    market = question.question_type == "market"
    name = question.source_id or question.id
    return [
        (event.id, (name, question.source, None if market else event.horizon or None))
        for event in events_of(question)
    ]


def _check_forecastbench(text: str, questions: QuestionSet, problems: list[str]) -> None:
    document = parse_json(text, what="the submission")
    if not isinstance(document, dict):
        raise QuestionError("a forecast set is one JSON object")
    _read(_ForecastSet, document, "the submission", problems)
    due, entries = document.get("forecast_due_date"), document.get("forecasts")
    if document.get("question_set") != f"{due}-llm.json":
        problems.append(f"question_set must be '{due}-llm.json', not {document.get('question_set')!r:.60}")
    wanted = {
        address: "market" if question.question_type == "market" else "dataset"
        for question in questions.questions.values()
        for _, address in _addresses(question)
    }
    seen: set[_Address] = set()
    for where, entry in _read_each(
        _Forecast, entries if isinstance(entries, list) else [], "forecast", problems
    ):
        day = None if entry.resolution_date is None else entry.resolution_date.isoformat()
        named, address = f"{where}{entry.id}", (entry.id, entry.source, day)
        if entry.source in MARKETS and day is not None:
            problems.append(f"{named}: a market question has no resolution date, it must be null")
        elif day is not None and isinstance(due, str) and day <= due:
            problems.append(f"{named}: resolution_date must be a day after the due date, not {day!r}")
        elif address in seen:
            problems.append(f"{named} at {day} is there twice")
        elif address not in wanted:
            problems.append(f"{where}{entry.source}/{entry.id} at {day} is not in the question set")
        seen.add(address)
    for half in ("market", "dataset"):
        of_half = {address for address, kind in wanted.items() if kind == half}
        if len(of_half & seen) < FORECASTBENCH_SHARE * len(of_half):
            problems.append(
                f"{len(of_half & seen)} of {len(of_half)} {half} forecasts are there, at least {FORECASTBENCH_SHARE:.0%} are wanted"
            )


def _check_prophet(text: str, questions: QuestionSet, problems: list[str]) -> None:
    names: list[str] = []

    def place(what: str, name: str) -> str:
        names.append(name)
        if names.count(name) > 1:
            return f"{what} {name!r:.60} is there twice"
        return "" if name in questions.questions else f"{what} {name!r:.60} is not in the set"

    if text.lstrip().startswith("{\n"):
        document = _read(_Predictions, parse_json(text, what="the submission"), "the submission", problems)
        predictions = [] if document is None else document.predictions
        for where, row in _read_each(_Prediction, predictions, "prediction", problems):
            problems += [where + fault for fault in [place("market", row.market_ticker)] if fault]
        return
    lines = (
        parse_json(line, what=f"line {number}")
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip()
    )
    for where, answer in _read_each(_Answer, lines, "line", problems):
        fault, question = place("task", answer.task_id), questions.questions.get(answer.task_id)
        if not fault and question is not None:
            labels = _labels(question)
            if sorted(row.market for row in answer.probabilities) != sorted(labels):
                fault = f"the outcomes must be exactly {', '.join(labels)}, each once"
        problems += [where + fault] if fault else []
    if not names and not problems:
        problems.append("no answer in it")


def _check_comments(text: str, questions: QuestionSet, problems: list[str]) -> None:
    parts = [part for part in re.split(r"\n\n---\n\n", text) if part.strip()]
    if not parts or not all(part.startswith("## ") for part in parts):
        raise QuestionError(
            "comments begin with a heading each, '## ' and the question, with '---' between them"
        )
    if len(parts) > len(questions.questions):
        problems.append(f"{len(parts)} comments for {len(questions.questions)} questions")
    for number, part in enumerate(parts, 1):
        shares = [float(share) for share in re.findall(r"^- .*: (\d+\.\d) ?%$", part, re.MULTILINE)]
        if not shares or any(not 0 <= share <= 100 for share in shares):
            problems.append(f"comment {number} states no forecast")
        if len(part) > _LONGEST_COMMENT:
            problems.append(
                f"comment {number} has {len(part)} characters, at most {_LONGEST_COMMENT} are taken"
            )
        if "![" in part.replace("\\!", "").replace("\\[", ""):
            problems.append(f"comment {number} shows a picture from elsewhere")


def check_metaculus_forecasts(text: str, questions: QuestionSet) -> list[str]:
    """What is wrong with a file of `metaculus_forecasts`, one line each."""
    document = parse_json(text, what="the forecasts")
    if not isinstance(document, list):
        raise QuestionError("forecasts for Metaculus are a list, an entry a question")
    problems: list[str] = []
    for where, entry in _read_each(_MetaculusForecast, document, "forecast", problems):
        question = questions.questions.get(str(entry.question))
        if question is None:
            problems.append(f"{where}question {entry.question!r:.60} is not in the set")
        else:
            problems += [f"{where}{question.id}: {fault}" for fault in _metaculus_faults(entry, question)]
    return problems


def _metaculus_faults(entry: _MetaculusForecast, question: Question) -> list[str]:
    stated = {
        "binary": entry.probability_yes,
        "options": entry.probability_yes_per_category,
        "numeric": entry.continuous_cdf,
        "date": entry.continuous_cdf,
    }.get(question.kind)
    match stated:
        case None:
            field = "probability_yes" if question.kind == "binary" else "a forecast of its kind"
            return [f"{field} is missing"]
        case list():
            scale = scale_of(question)
            return ["a distribution needs a range"] if scale is None else metaculus_faults(stated, scale)
    shares = stated if isinstance(stated, dict) else {"": stated}
    if isinstance(stated, dict) and sorted(stated) != sorted(question.options):
        return [f"a share for each of {', '.join(question.options)} is wanted"]
    inside = all(METACULUS_LEAST <= p <= 1 - METACULUS_LEAST for p in shares.values())
    whole = not isinstance(stated, dict) or abs(sum(shares.values()) - 1) < 1e-6
    return ([] if inside else [_OUTSIDE]) + ([] if whole else ["the shares must come to 1"])


def read_rationales(text: str) -> dict[str, str]:
    """Words for questions by id, as a night's ``rationales.json`` holds them; raises `QuestionError` for another shape."""
    document = parse_json(text, what="the file of rationales")
    if not isinstance(document, dict) or not all(isinstance(words, str) for words in document.values()):
        raise QuestionError("rationales are one JSON object, question id to text")
    return {str(name): words for name, words in document.items()}


FORMS = ("forecastbench", "prophet", "metaculus")


def submission(
    questions: QuestionSet,
    p: Mapping[str, float],
    form: str,
    *,
    organization: str = "",
    model: str = "",
    maker: str = "",
    rationales: Mapping[str, str] | None = None,
    partial: bool = False,
) -> tuple[str, list[str]]:
    """The text of a submission, and what it leaves out, a line each.

    Raises `QuestionError`: An unknown form, a probability out of range, a missing forecast, or a question the form has no place for.
    """
    if form not in FORMS:
        raise QuestionError(f"a submission is for {', '.join(FORMS)}, not {form!r:.40}")
    outside = [event for event, value in p.items() if not 0 <= value <= 1]
    if outside:
        raise QuestionError(f"the forecast of {outside[0]} is no probability")
    complete, left_out = [], []
    for question in questions.questions.values():
        lacking = [event.id for event in events_of(question) if event.id not in p]
        if lacking and question.outcomes:
            left_out.append(f"{question.id}: resolved already, so it is forecast no more")
        elif lacking or not events_of(question):
            left_out.append(f"{question.id}: no forecast of {lacking[0] if lacking else 'any event'}")
        else:
            complete.append(question)
    if left_out and not partial:
        raise QuestionError(f"{len(left_out)} questions have no forecast, the first is {left_out[0]}")
    if not complete:
        raise QuestionError(f"set {questions.name} has no question with a forecast")
    texts = rationales or {}
    if form == "forecastbench":
        header = {"organization": organization, "model": model, "model_organization": maker or organization}
        return _forecastbench(complete, p, texts, header), left_out
    return (_prophet if form == "prophet" else _comments)(complete, p, texts), left_out


def _json_text(document: object) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _forecastbench(
    questions: Sequence[Question], p: Mapping[str, float], texts: Mapping[str, str], header: Mapping[str, str]
) -> str:
    if not all(header.values()):
        raise QuestionError("ForecastBench needs the name of the forecaster: give organization and model")
    other = [question.id for question in questions if question.kind != "binary"]
    if other:
        raise QuestionError(f"ForecastBench takes yes-or-no questions only; {other[0]} is of another kind")
    dues = {question.asked_on for question in questions}
    if len(dues) != 1 or dues == {""}:
        raise QuestionError(f"a forecast set is for one due date; these questions have {len(dues)}")
    due = dues.pop()
    forecasts = [
        {
            "id": name,
            "source": source,
            "forecast": p[event],
            "resolution_date": day,
            "reasoning": texts.get(question.id) or None,
        }
        for question in questions
        for event, (name, source, day) in _addresses(question)
    ]
    dated = {"question_set": f"{due}-llm.json", "forecast_due_date": due}
    return _json_text({**header, **dated, "forecasts": forecasts})


def _labels(question: Question) -> list[str]:
    """The outcomes of a Prophet Arena task."""
    return ["Yes", "No"] if question.kind == "binary" else list(question.options)


def _prophet(questions: Sequence[Question], p: Mapping[str, float], texts: Mapping[str, str]) -> str:
    if all(question.kind == "binary" for question in questions):
        rows = [
            {"market_ticker": question.id, "p_yes": min(max(p[question.id], 0.01), 0.99), "rationale": texts.get(question.id) or None}
            for question in questions
        ]  # fmt: skip
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return _json_text({"timestamp": now, "predictions": rows})
    lines = []
    for question in questions:
        if question.kind not in ("binary", "options"):
            raise QuestionError(
                f"question {question.id}: a Prophet Arena task names its outcomes; {question.kind} has none"
            )
        chances = [p[event.id] for event in events_of(question)]
        chances += [1 - chances[0]] if question.kind == "binary" else []
        outcomes = zip(_labels(question), chances, strict=True)
        entry = {
            "task_id": question.id,
            "rationale": texts.get(question.id, ""),
            "probabilities": [{"market": label, "probability": value} for label, value in outcomes],
        }
        lines.append(json.dumps(entry, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def scale_of(question: Question) -> Scale | None:
    """The range of a number or a date, on which its quantiles make a distribution; None without one."""
    low, high = range_of(question)
    if low is None or high is None:
        return None
    return Scale(
        low=low,
        high=high,
        open_low=question.open_low,
        open_high=question.open_high,
        zero_point=question.zero_point,
        steps=int(float(question.extra.get("steps", STEPS))),
    )


def within(questions: QuestionSet, p: Mapping[str, float], least: float) -> dict[str, float]:
    """Forecasts as they leave the house: none nearer to 0 or 1 than ``least`` but what is decided; options of one choice keep their sum.

    >>> asked = Question(id="q", title="Rain?")
    >>> within(QuestionSet(name="s", questions={"q": asked}), {"q": 1.0}, 0.01)
    {'q': 0.99}
    """
    if not 0 <= least < 0.5:
        raise QuestionError(f"the least probability is from 0 to less than 0.5, not {least:g}")
    decided = {event.id for event in questions.events() if event.outcome in (0.0, 1.0)}
    kept = {
        event: value if event in decided else min(max(value, least), 1 - least) for event, value in p.items()
    }
    for question in questions.questions.values():
        ids = [event.id for event in events_of(question) if event.id in p and event.id not in decided]
        left = 1 - sum(p[event.id] for event in events_of(question) if event.id in decided & set(p))
        total = sum(p[event] for event in ids)
        if question.kind != "options" or not question.exclusive or not ids or abs(total - left) > 0.05:
            continue
        # Mixed with an even spread, so that the least one has enough and all still come to 1.
        lowest, even = min(p[event] / total for event in ids), 1 / len(ids)
        share = max(0.0, (min(least, even) - lowest) / (even - lowest)) if lowest < even else 0.0
        kept |= {event: left * ((1 - share) * p[event] / total + share * even) for event in ids}
    return kept


def metaculus_forecasts(
    questions: QuestionSet, p: Mapping[str, float], quantiles: Mapping[str, Mapping[str, float | str]]
) -> list[dict[str, Any]]:
    """Forecasts as Metaculus's API takes them, one entry a question that has one."""
    entries: list[dict[str, Any]] = []
    for question in questions.questions.values():
        chances = {event.part: p[event.id] for event in events_of(question) if event.id in p}
        scale = scale_of(question)
        own = {"question": int(question.id) if question.id.isdigit() else question.id, "source": "api"}
        if question.kind == "binary" and chances:
            entries.append({**own, "probability_yes": chances[""]})
        elif question.kind == "options" and len(chances) == len(question.options):
            entries.append({**own, "probability_yes_per_category": chances})
        elif question.kind in ("numeric", "date") and scale is not None and question.id in quantiles:
            stated = {
                f"{100 * float(level):g}": day_number(value) if isinstance(value, str) else value
                for level, value in quantiles[question.id].items()
            }
            entries.append({**own, "continuous_cdf": metaculus_cdf(stated, scale)})
    return entries


def _comments(questions: Sequence[Question], p: Mapping[str, float], texts: Mapping[str, str]) -> str:
    parts = [
        f"## {_escaped(question.title)}\n{question.url}\n\n{comment_on(question, p, texts.get(question.id, ''))}".strip()
        for question in questions
    ]
    return "\n\n---\n\n".join(parts) + "\n"


def comment_on(
    question: Question,
    p: Mapping[str, float],
    words: str,
    quantiles: Mapping[str, float | str] | None = None,
) -> str:
    """The comment below a question: what is forecast, by quantiles where it has some, and why."""
    rows = [f"- {100 * float(level):g}% below {value}" for level, value in (quantiles or {}).items()] or [
        f"- {_escaped(event.part or 'Yes')}{f' by {event.horizon}' if len(question.horizons) > 1 else ''}: {100 * p[event.id]:.1f}%"
        for event in events_of(question)
        if event.id in p
    ]
    plain = [_escaped(line) if line.strip("-* ") else "" for line in words.splitlines()]
    return "\n".join([*rows, "", *plain]).strip()


def _escaped(text: str) -> str:
    """Text of a stranger's as Markdown shows it: no heading, link or picture of its own."""
    plain = " ".join(text.split())
    for letter in "\\`*_[]<>#!|":
        plain = plain.replace(letter, f"\\{letter}")
    return plain
