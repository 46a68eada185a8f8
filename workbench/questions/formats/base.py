"""What every reader of a question file gives: questions, and what it left out with its reason."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from proxies import input_files
from proxies.input_files import InputRefused
from workbench.errors import UsageError
from workbench.questions.question import Question, QuestionError


class LeftOut(NamedTuple):
    """An entry of a file that became no question; ``reason`` is one line."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFile:
    """Questions of a file in its order, and the entries that became none."""

    questions: tuple[Question, ...]
    left_out: tuple[LeftOut, ...] = ()


class Resolution(NamedTuple):
    """How one event came out: ``p`` 1, 0 or a share; ``day`` ISO, "" if the file does not say.

    With ``numeric``, what a number came to: ``event`` is then a target, and ``p`` any finite number.
    """

    event: str
    p: float
    day: str
    numeric: bool = False


def parse_json(text: str, *, what: str) -> Any:
    """Return the value of a JSON text; raises `QuestionError` with the place of the mistake."""
    try:
        return input_files.parse_json(text, what)
    except InputRefused as error:
        raise QuestionError(str(error)) from None


def collect(entries: Iterable[tuple[str, Any]], read: Any) -> QuestionFile:
    """Read entry by entry; one that is refused is left out with the reason, never the whole file with it."""
    questions: list[Question] = []
    left_out: list[LeftOut] = []
    seen: set[str] = set()
    for name, value in entries:
        result = read_part(name, read, value)
        for question in result if isinstance(result, list) else [result]:
            if isinstance(question, LeftOut):
                left_out.append(question)
                continue
            if question.id in seen:
                left_out.append(LeftOut(question.id, "its id stands in the file before"))
                continue
            seen.add(question.id)
            questions.append(question)
    return QuestionFile(questions=tuple(questions), left_out=tuple(left_out))


def named(entries: Iterable[Any], field: str) -> Iterator[tuple[str, Any]]:
    """Yield each entry with what a field of it names it by, "?" where it has none."""
    for entry in entries:
        yield str(entry.get(field, "?"))[:120] if isinstance(entry, dict) else "?", entry


def read_part(name: str, read: Any, *values: Any) -> Any:
    """What a reader makes of an entry or a part of one; a part that it refuses, or stumbles over, is left out alone."""
    try:
        result = read(*values)
    except UsageError as error:
        return LeftOut(name, " ".join(str(error).split()))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return LeftOut(name, f"an entry of another shape ({type(error).__name__}: {error})")
    return LeftOut(name, result) if isinstance(result, str) else result


def day_of(value: Any) -> str:
    """The UTC day of an instant or date as its source writes it, "" for none; raises `QuestionError` for no date.

    >>> day_of("2026-01-31T23:30:00-05:00"), day_of("2026-01-31"), day_of(None)
    ('2026-02-01', '2026-01-31', '')
    """
    if value in (None, "", "N/A"):
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC).date().isoformat()
    text = str(value).strip()
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise QuestionError(f"{text!r:.40} is no date") from None
    if len(text) > 10 and instant.tzinfo is not None:
        instant = instant.astimezone(UTC)
    return instant.date().isoformat()


def number_of(value: Any) -> float | None:
    """A number that a source may write as text, None for none or for what is no finite number.

    >>> number_of("0.25"), number_of("N/A"), number_of(True)
    (0.25, None, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None


def text_of(value: Any) -> str:
    """A text field, "" for none."""
    return "" if value in (None, "N/A") else str(value).strip()


def criteria_of(*texts: str, gap: str = " ") -> dict[str, Any]:
    """The criteria of a question out of several texts of its source, as arguments of `Question`; each can be cut alone.

    >>> criteria_of("Yes if it rains.", "", "Snow counts.")
    {'criteria': 'Yes if it rains. Snow counts.', 'criteria_parts': ('Yes if it rains.', 'Snow counts.')}
    """
    parts = tuple(text for text in texts if text)
    return {"criteria": gap.join(parts), "criteria_parts": parts if len(parts) > 1 else ()}


def field(entry: Mapping[str, Any], *names: str) -> Any:
    """The first of several fields that an entry has, None for none."""
    return next((entry[name] for name in names if entry.get(name) not in (None, "")), None)
