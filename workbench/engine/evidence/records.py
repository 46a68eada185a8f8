"""What a check of the audit reads, and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from proxies.ledger import LedgerRow
from workbench.engine.evidence.data_read import leaves_without_data
from workbench.engine.evidence.kinds import RunKind
from workbench.engine.evidence.web_audit import web_verdicts
from workbench.engine.run.state import RunState
from workbench.propositions import NodeId
from workbench.store import ApiLedger, ModelLedger, Store

Verdict = Literal["ok", "warn", "bad"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question and its answer."""

    name: str
    verdict: Verdict
    found: str


class Records:
    """A run's log and ledgers, each read when the first check wants it."""

    def __init__(self, store: Store, state: RunState) -> None:
        self.store, self.state = store, state

    @cached_property
    def rows(self) -> list[LedgerRow]:
        """The data calls, in the order they were made."""
        return ApiLedger(self.store).rows(self.state.run_id)

    @cached_property
    def kind(self) -> RunKind:
        """The kind of the run."""
        return RunKind.of(self.state, self.rows)

    @cached_property
    def web(self) -> list[dict[str, Any]]:
        """Verdicts of the filter of web results."""
        return web_verdicts(self.store, self.state.run_id)

    @cached_property
    def without_data(self) -> Mapping[NodeId, str]:
        """Leaves that read no data, with what their values rest on instead."""
        return leaves_without_data(self.store, self.state)

    @cached_property
    def spending(self) -> list[dict[str, Any]]:
        """What each proposition's calls took, in the tree's order; calls for nodes that are gone come last."""
        place = {node: number for number, node in enumerate(self.state.tree.ids())}
        rows = ModelLedger(self.store).spending(self.state.run_id)
        return sorted(rows, key=lambda row: place.get(row["node"], len(place)))


#: A verdict with what was found; a check answers with one, with one for each finding, or with none where there is nothing to say.
Answer = tuple[Verdict, str]
Look = Callable[[Records], list[Answer]]


def says(words: str, verdict: Verdict = "ok") -> Look:
    """Return what a check does with a kind of run in which there is nothing to look at: it says so."""
    return lambda records: [(verdict, words)]


def says_nothing(records: Records) -> list[Answer]:
    """Answer nothing: the question does not arise for such a run."""
    return []


@dataclass(frozen=True, slots=True)
class Question:
    """A check as a total function of the kind of run.

    Attributes
    ----------
    look : callable
        What is done with a run.
    where : mapping
        What is done instead, by the name of a kind (a field of ``RunKind``); of several that hold the first counts.
    """

    name: str
    look: Look
    where: Mapping[str, Look] = field(default_factory=dict)

    def answers(self, records: Records) -> list[Check]:
        """Return the check's answers for a run."""
        looks = (look for kind, look in self.where.items() if getattr(records.kind, kind))
        look = next(looks, self.look)
        return [Check(name=self.name, verdict=verdict, found=words) for verdict, words in look(records)]
