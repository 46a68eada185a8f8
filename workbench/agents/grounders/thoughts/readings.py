"""What is read out of the replies of a thinking grounder, and how a step of its trace says it; ``verify`` reads them again by the same code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.agents.errors import MalformedReply
from workbench.agents.replies import Conclusion
from workbench.agents.reply_json import first_line, read_json

LONGEST_THOUGHT = 2000  # characters of one thought that later calls read again

_LONGEST_QUERY = 400  # characters, as the search tool takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """A yes or no, how sure the model is of it in [0, 1], and what decides it."""

    yes: bool
    confidence: float
    key_factor: str


def read_thoughts(text: str, count: int) -> list[str]:
    """Return the first ``count`` thoughts of a reply; raises `MalformedReply` where there are fewer."""

    def read(data: Any) -> list[str]:
        thoughts = data.get("thoughts") if isinstance(data, dict) else None
        if not isinstance(thoughts, list) or not all(
            isinstance(each, str) and each.strip() for each in thoughts
        ):
            raise MalformedReply('the JSON must hold a list of texts under "thoughts"')
        if len(thoughts) < count:
            raise MalformedReply(f"{count} thoughts were asked for, {len(thoughts)} came")
        return [each.strip()[:LONGEST_THOUGHT] for each in thoughts[:count]]

    return read_json(text, read, what="a `json` block")[0]


def read_value(text: str) -> float:
    """Return how useful a line of thought is said to be, 0 to 10; raises `MalformedReply`."""

    def read(data: Any) -> float:
        value = data.get("value") if isinstance(data, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10:
            raise MalformedReply(f'"value" must be a number from 0 to 10, not {first_line(str(value), 40)}')
        return float(value)

    return read_json(text, read, what="a `json` block")[0]


def read_vote(text: str) -> Vote:
    """Return a yes or no with its confidence; raises `MalformedReply`."""

    def read(data: Any) -> Vote:
        entry = data if isinstance(data, dict) else {}
        said, confidence = entry.get("vote"), entry.get("confidence")
        if not isinstance(said, str) or said.strip().lower() not in ("yes", "no"):
            raise MalformedReply(f'"vote" must be "yes" or "no", not {first_line(str(said), 40)}')
        if (
            isinstance(confidence, bool)
            or not isinstance(confidence, int | float)
            or not 0 <= confidence <= 1
        ):
            raise MalformedReply(
                f'"confidence" must be a number from 0 to 1, not {first_line(str(confidence), 40)}'
            )
        factor = str(entry.get("key_factor") or "").strip()[:LONGEST_THOUGHT]
        return Vote(yes=said.strip().lower() == "yes", confidence=float(confidence), key_factor=factor)

    return read_json(text, read, what="a `json` block")[0]


def read_words(text: str) -> str:
    """Return what a reply wants to search for; raises `MalformedReply`."""

    def read(data: Any) -> str:
        words = data.get("words") if isinstance(data, dict) else None
        if not isinstance(words, str) or not words.strip():
            raise MalformedReply('the JSON must hold a text under "words"')
        return " ".join(words.replace("`", "'").split())[:_LONGEST_QUERY]

    return read_json(text, read, what="a `json` block")[0]


def words_text(words: str) -> str:
    """What stands before the results of a search, at the top of their block."""
    return f"```text\n{words}\n\n"


def thoughts_text(thoughts: Sequence[str]) -> str:
    """The proposed thoughts, a line each."""
    return "\n".join(f"- {thought}" for thought in thoughts)


def value_text(value: float) -> str:
    """What stands before the line of thought that was valued."""
    return f"{value:g} of 10: "


def vote_text(vote: Vote) -> str:
    """A vote in one line."""
    return f"{'yes' if vote.yes else 'no'}, confidence {vote.confidence:g}: {vote.key_factor}"


def conclusion_text(conclusion: Conclusion) -> str:
    """The report of an answer, or what decides it where there is none."""
    return conclusion.report or conclusion.key_factor
