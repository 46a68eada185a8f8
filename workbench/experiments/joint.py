"""Events that one question asks together: the options, levels or days of one horizon, which paper P's task forecasts in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from proxies.asof.asof_text import as_of
from workbench.questions.model import Question, QuestionEvent, events_of

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.experiments.study import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class JointQuestion:
    """A question at one horizon, with all of its outcomes by the names that a model is given.

    Parameters
    ----------
    id : str
        Of the question, with the horizon where it has several.
    title : str
        What is asked.
    names : mapping of event id to str
        The exact name of each outcome, in the question's order.
    fault : str
        Why it cannot be asked; "" if it can.
    """

    id: str
    title: str
    names: Mapping[str, str]
    fault: str = ""

    def as_of(self, cutoff: Cutoff) -> JointQuestion:
        """The question with the words that may be shown at a cutoff."""
        names = {event: as_of(name, cutoff, kind="title").text for event, name in self.names.items()}
        if len(set(names.values())) < len(names) or "" in names.values():
            fault = f"question {self.id}: without what was added after the cutoff two of its outcomes are one"
            return replace(self, fault=fault)
        return replace(self, title=as_of(self.title, cutoff, kind="title").text, names=names)

    def options(self, leaf: str, prices: Mapping[str, float]) -> dict[str, Any]:
        """Settings of the grounder for a leaf that is this event; ``prices`` by event id."""
        return {
            "event": self.title,
            "outcomes": list(self.names.values()),
            "leaf": self.names[leaf],
            "prices": {self.names[event]: p for event, p in prices.items() if event in self.names},
        }


def joint_questions(questions: Iterable[Question]) -> dict[str, JointQuestion]:
    """The joint question of each event, by event id; events that are asked alone have none."""
    joint: dict[str, JointQuestion] = {}
    for question in questions:
        by_horizon: dict[str, list[QuestionEvent]] = {}
        for event in events_of(question):
            by_horizon.setdefault(event.horizon if len(question.horizons) > 1 else "", []).append(event)
        for horizon, events in by_horizon.items():
            if len(events) < 2:
                continue
            own = JointQuestion(
                id=f"{question.id}@{horizon}" if horizon else question.id,
                title=question.title + (f" (by {horizon})" if horizon else ""),
                names={event.id: _name(question, event.part) for event in events},
            )
            joint |= dict.fromkeys(own.names, own)
    return joint


def _name(question: Question, part: str) -> str:
    match question.kind:
        case "threshold" | "numeric":
            return f"{question.side} {part}" + (f" {question.unit}" if question.unit else "")
        case "date":
            return f"by {part}"
        case _:
            return " ".join(part.split())


def cells_by_run(cells: Sequence[Cell], joint: Mapping[str, JointQuestion]) -> list[list[Cell]]:
    """The cells that one run answers, in their order: those of one joint question, seed and trial together."""
    runs: dict[tuple[str, str, int, int], list[Cell]] = {}
    for cell in cells:
        question = joint[cell.event].id if cell.event in joint else f"\0{cell.event}"
        runs.setdefault((cell.arm, question, cell.seed, cell.trial), []).append(cell)
    return list(runs.values())
