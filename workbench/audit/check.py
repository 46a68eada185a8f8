"""The kind of run that is audited, the records that checks read, and their answers. A check is a total function of the kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from proxies.asof.clock import Cutoff
from proxies.ledger import LedgerRow
from workbench.agents.findings.check_table import RunKind
from workbench.audit.data_read import leaves_without_data
from workbench.engine.record.state import RunState
from workbench.propositions import NodeId
from workbench.search.leak_filter import STAGE, recorded_verdicts
from workbench.steps import Steps
from workbench.store import ApiLedger, ModelLedger, Store


def web_verdicts(store: Store, state: RunState) -> list[dict[str, Any]]:
    """Return every result that the filter judged, oldest first: ``node, trial, title, url, keep, reason, model``.

    What layer 1 left out stands, counted by reason, with each data call; what was blocked or removed by rule follows again from
    the recorded answers.
    """
    ledger = ModelLedger(store)
    return [
        {
            "node": call.address.node,
            "trial": call.address.trial,
            "title": title,
            "url": url,
            "keep": verdict.keep,
            "reason": verdict.reason,
            "model": verdict.model,
        }
        for call in ledger.calls(state.run_id, stage=STAGE)
        for title, url, verdict in recorded_verdicts(
            ledger.message(call.messages[-1])["content"],
            call.reply.text,
            marks=state.marks,
            model=call.reply.model,
        )
    ]


def run_kind(state: RunState, rows: Sequence[LedgerRow]) -> RunKind:
    """Return the kind of a run from its log and its data calls."""
    return RunKind(
        live=Cutoff.parse(state.cutoff).live,
        clairvoyant=_clairvoyant(state.settings.options.get("grounder")),
        imported=state.imported is not None,
        no_kernel=state.isolation is None,
        no_tree=not state.tree.root.children,
        stopped=not state.finished,
        no_data=not rows,
    )


def _clairvoyant(options: Any) -> bool:
    if not isinstance(options, Mapping):
        return False
    return options.get("clairvoyant") is True or any(map(_clairvoyant, options.values()))


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
        return run_kind(self.state, self.rows)

    @cached_property
    def web(self) -> list[dict[str, Any]]:
        """Verdicts of the filter of web results."""
        return web_verdicts(self.store, self.state)

    @cached_property
    def without_data(self) -> Mapping[NodeId, str]:
        """Leaves that read no data, with what their values rest on instead."""
        return leaves_without_data(self.store, self.state)

    @cached_property
    def spending(self) -> list[dict[str, Any]]:
        """The cost of each proposition's calls, in the tree's order; calls for nodes that are gone come last."""
        place = {node: number for number, node in enumerate(self.state.tree.ids())}
        rows = ModelLedger(self.store).spending(self.state.run_id)
        return sorted(rows, key=lambda row: place.get(row["node"], len(place)))


#: A verdict with its words; a check answers with one, with one for each finding, or with none where the question does not arise.
Answer = tuple[Verdict, str]
#: Looks at a run and yields answers; a long look yields None between them, so that the page stays alive.
Look = Callable[[Records], Iterable[Answer | None]]


def says(words: str, verdict: Verdict = "ok") -> Look:
    """Make a look that answers the same for every run of a kind: there is nothing to look at."""
    return lambda records: [(verdict, words)]


def says_nothing(records: Records) -> list[Answer]:
    """Answer nothing: the question does not arise for such a run."""
    return []


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """A check as a total function of the kind of run."""

    name: str
    look: Look
    #: Looks for special runs, by the name of a kind (a field of ``RunKind``); of several that hold the first counts.
    where: Mapping[str, Look] = field(default_factory=dict)

    def answers(self, records: Records) -> Steps[list[Check]]:
        """Return the check's answers for a run."""
        looks = (look for kind, look in self.where.items() if getattr(records.kind, kind))
        look = next(looks, self.look)
        checks = []
        for answer in look(records):
            if answer is None:
                yield
            else:
                checks.append(Check(name=self.name, verdict=answer[0], found=answer[1]))
        return checks
