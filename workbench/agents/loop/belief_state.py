"""The belief that a model restates with every tool call (BLF, section 3 and App. C.1): probability, confidence, evidence, questions.

A piece of evidence is a sentence with the ids of the sources it rests on. Ids that nobody gave out are taken off and counted;
evidence without any is kept and counted, since the rule of citing is the prompt's and not the model's to be trusted with.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from workbench.agents.errors import MalformedReply
from workbench.agents.loop.tool_box import tool_texts
from workbench.agents.replies.lenient_json import loads, number_of
from workbench.quoting import one_line

Confidence = Literal["low", "medium", "high"]
FIELD = "updated_belief"
_MOST_ITEMS = 40
_LONGEST_ITEM = 600
_ID = re.compile(r"\b(?:Q\d+)?[SWDC]\d+[a-z]?(?:\.\d+)?\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefEvidence:
    """One piece of evidence: a sentence, and the ids of its sources."""

    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefState:
    """What is believed after a step; ``p`` in [0, 1]. The first one, before any step, is 0.5 (BLF, Algorithm 1)."""

    p: float = 0.5
    confidence: Confidence = "low"
    evidence_for: tuple[BeliefEvidence, ...] = ()
    evidence_against: tuple[BeliefEvidence, ...] = ()
    open_questions: tuple[str, ...] = ()
    update_reasoning: str = ""

    @property
    def pieces(self) -> int:
        """How many pieces of evidence it holds (BLF, Table 19)."""
        return len(self.evidence_for) + len(self.evidence_against)

    @property
    def characters(self) -> int:
        """Length of its evidence and questions; beyond a bound they are merged (`merged_lists`)."""
        pieces = (*self.evidence_for, *self.evidence_against)
        return sum(len(piece.text) for piece in pieces) + sum(map(len, self.open_questions))

    def line(self) -> str:
        """The belief on one line, as it is said back to the model."""
        return (
            f"p = {self.p:.4f} ({self.confidence}), {len(self.evidence_for)} for,"
            f" {len(self.evidence_against)} against, {len(self.open_questions)} open"
        )

    def written(self) -> str:
        """Return its lists as lines, with the ids they cite."""
        lines = [f"p = {self.p:.4f}, confidence {self.confidence}"]
        for name, pieces in (("For", self.evidence_for), ("Against", self.evidence_against)):
            lines.append(f"{name}:")
            lines += [
                f"- {piece.text}" + (f" [{', '.join(piece.sources)}]" if piece.sources else "")
                for piece in pieces
            ]
        return "\n".join([*lines, "Open:", *(f"- {question}" for question in self.open_questions)])


def belief_schema() -> dict[str, Any]:
    """Return the JSON schema of ``updated_belief``, which is added to the parameters of every tool."""
    return tool_texts()[FIELD]


@dataclass(frozen=True, slots=True)
class ReadBelief:
    """A belief as it was read: ids that nobody gave out, and pieces of evidence that cite nothing, counted."""

    state: BeliefState
    unknown_ids: tuple[str, ...] = ()
    uncited: int = 0


def read_belief(value: Any, known: Collection[str]) -> ReadBelief:
    """Return the belief in the arguments of a call.

    Raises `MalformedReply`: It is missing, or its probability is no number in [0, 1].
    """
    if isinstance(value, str):
        value = loads(value)
    if not isinstance(value, Mapping):
        raise MalformedReply(f'every tool call needs "{FIELD}", an object with "probability" in it')
    p = read_probability(value.get("probability", value.get("p")), f"{FIELD}.probability")
    unknown: list[str] = []
    lists = [
        tuple(_piece(item, known, unknown) for item in _items(value.get(name)))
        for name in ("evidence_for", "evidence_against")
    ]
    words = str(value.get("confidence", "low")).strip().lower()
    state = BeliefState(
        p=p,
        confidence=next((level for level in get_args(Confidence) if words.startswith(level)), "low"),
        evidence_for=lists[0],
        evidence_against=lists[1],
        open_questions=tuple(
            one_line(str(item), _LONGEST_ITEM) for item in _items(value.get("open_questions"))
        ),
        update_reasoning=one_line(str(value.get("update_reasoning") or ""), 1500),
    )
    uncited = sum(not piece.sources for pieces in lists for piece in pieces)
    return ReadBelief(state, tuple(dict.fromkeys(unknown)), uncited)


def read_probability(value: Any, name: str) -> float:
    """Return a probability of a call; raises `MalformedReply` that names it for anything but a number in [0, 1]."""
    number = number_of(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise MalformedReply(f'"{name}" must be a number from 0 to 1')
    if not 0 <= number <= 1:
        raise MalformedReply(f'"{name}" must lie between 0 and 1; it says {number:g}')
    return float(number)


def merged_lists(state: BeliefState, value: Any, known: Collection[str]) -> BeliefState:
    """Return a belief with the shorter lists that a reader made of its own; probability and confidence stay.

    A piece of the merge that cites a source its lists did not cite is left out: a merge tells nothing new.
    Raises `MalformedReply` where the merge cannot be read, or is no shorter.
    """
    if not isinstance(value, Mapping):
        raise MalformedReply("the merged lists are no JSON object")
    cited = {
        identity for piece in (*state.evidence_for, *state.evidence_against) for identity in piece.sources
    }
    lists = []
    for name in ("evidence_for", "evidence_against"):
        unknown: list[str] = []
        pieces = [_piece(item, known, unknown) for item in _items(value.get(name))]
        lists.append(tuple(piece for piece in pieces if set(piece.sources) <= cited))
    questions = tuple(one_line(str(item), _LONGEST_ITEM) for item in _items(value.get("open_questions")))
    merged = replace(
        state,
        evidence_for=lists[0],
        evidence_against=lists[1],
        open_questions=questions or state.open_questions,
    )
    if merged.pieces == 0 or merged.characters >= state.characters:
        raise MalformedReply("the merged lists are no shorter, or empty")
    return merged


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    return value[:_MOST_ITEMS] if isinstance(value, list) else []


def _piece(item: Any, known: Collection[str], unknown: list[str]) -> BeliefEvidence:
    """One piece; a plain text may cite in brackets, as models write it."""
    if isinstance(item, Mapping):
        text = str(item.get("text") or item.get("claim") or "")
        named = [str(identity).strip("[] ") for identity in _items(item.get("sources", item.get("source")))]
    else:
        text, named = str(item), []
    named = list(dict.fromkeys([*named, *_ID.findall(text)]))
    unknown += [one_line(identity, 40) for identity in named if identity not in known]
    return BeliefEvidence(
        text=one_line(text, _LONGEST_ITEM), sources=tuple(identity for identity in named if identity in known)
    )
