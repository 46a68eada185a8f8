"""Which runs a client may see, and how much of each: under a cutoff nothing that became known or was said after it.

Under a cutoff a client reads only finished runs whose own cutoff is not later, each as it stood when it came to its end: without outcomes,
comments, notes, tags, sign-offs, scenarios of others, and spending. A run that is later and a run that does not exist get the
same words, so that an id cannot be tried out.
"""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from proxies.asof.clock import Cutoff
from workbench.engine.record.fold import fold, load_state
from workbench.engine.record.people import Annotations
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, WorkbenchError
from workbench.mcp.mcp_terms import line_for_client
from workbench.mcp.proposals import Proposals
from workbench.operations.base import Home
from workbench.store import Store, StoredEvent
from workbench.store import events as ev
from workbench.synthesis.whatif.scenarios import ScenarioSet
from workbench.views.run_overview import run_row, searched_text
from workbench.views.run_view import view_of

# Of the documents of `runs` and `show`; what a later version adds to them is left out until it is named here.
_ROW = ("run_id", "statement", "cutoff", "p", "status")
_ROW_OF_TODAY = ("state", "model", "started_utc", "outcome", "tags")
_RUN = (
    "run_id",
    "statement",
    "cutoff",
    "root",
    "base_rate",
    "nodes",
    "n_nodes",
    "n_leaves",
    "isolation",
    "status",
    "not_verified",
    "findings",
)
_RUN_OF_TODAY = (
    "model",
    "hindsight",
    "model_calls",
    "api_calls",
    "cost_usd",
    "state",
    "reason",
    "outcome",
    "tags",
    "notes",
    "comments",
    "sign_offs",
)
_NODE = (
    "id",
    "parent",
    "statement",
    "p",
    "key_factor",
    "kind",
    "rule",
    "reaches",
    "warnings",
    "status",
    "verified",
)


class NoSuchRun(UsageError):
    """No run of this id is to be seen; the words are the same whether there is none or it is a later one."""

    def __init__(self) -> None:
        super().__init__("there is no such run here: list_runs names those that can be read")


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleRuns:
    """The runs of a home that one server shows.

    Parameters
    ----------
    cutoff : Cutoff
        The pinned knowledge cutoff. A live one (``now``) shows all runs with all that is known of them.
    only : str, optional
        Id of the one run that is shown.
    """

    cutoff: Cutoff
    only: str | None = None

    def rows(self, store: Store, search: str = "", limit: int = 50) -> list[dict[str, Any]]:
        """Return the newest runs in which every word of ``search`` occurs, the newest last."""
        words = search.casefold().split()
        rows: list[dict[str, Any]] = []
        for state in self._states(store):
            text = searched_text(state) if words else ""
            if all(word in text for word in words):
                rows.append(self._row(state))
                if len(rows) == limit:
                    break
        return rows[::-1]

    def state(self, store: Store, run: str) -> RunState:
        """Return a run by its id, an unambiguous beginning of one, or ``last``; raises ``NoSuchRun``.

        All runs are looked at before a name is compared with any: a later run is refused after the same work as an unknown one,
        so that neither the words nor the time tell them apart. No log is folded but that of the run that is given.
        """
        seen = [run_id for run_id in self._ids(store) if self._may_be_seen(store, run_id)]
        near = [run_id for run_id in seen if run and run_id.startswith(run)]
        chosen = [run_id for run_id in seen if run_id == run] or (seen[:1] if run == "last" else near)
        state = self._visible(store, chosen[0]) if len(chosen) == 1 else None
        if state is None:
            raise NoSuchRun
        return state

    def document(self, store: Store, state: RunState) -> dict[str, Any]:
        """Return a run with its nodes, as ``show --json`` has it without paths of this machine."""
        shown = view_of(store, state).document()
        names = _RUN if not self.cutoff.live else (*_RUN, *_RUN_OF_TODAY)
        document = {name: shown[name] for name in names}
        if document.get("reason"):
            document["reason"] = line_for_client(document["reason"])
        document["nodes"] = [
            {**{name: node[name] for name in _NODE}, "proof": proof_uri(state, node["id"])}
            for node in shown["nodes"]
        ]
        return {**document, "imported": _is_imported(store, state)}

    def _row(self, state: RunState) -> dict[str, Any]:
        row = run_row(state)
        return {name: row[name] for name in (_ROW if not self.cutoff.live else (*_ROW, *_ROW_OF_TODAY))}

    def _ids(self, store: Store) -> list[str]:
        return [run_id for run_id in reversed(store.run_ids()) if self.only in (None, run_id)]

    def _states(self, store: Store) -> Iterator[RunState]:
        for run_id in self._ids(store):
            state = self._visible(store, run_id)
            if state is not None:
                yield state

    def _visible(self, store: Store, run_id: str) -> RunState | None:
        """Return a run as far as it may be seen; None for one that may not, or whose records cannot be read."""
        try:
            if self.cutoff.live:
                return load_state(store, run_id)
            return self._as_it_ended(store, run_id)
        except WorkbenchError:
            # A newer workbench's event may be one of the later ones: it must not tell a client that there are any.
            return None

    def _may_be_seen(self, store: Store, run_id: str) -> bool:
        """Whether a run ended and is not later than the cutoff, by two events of its log."""
        try:
            return self.cutoff.live or self._end(store, run_id) is not None
        except WorkbenchError:
            return False

    def _end(self, store: Store, run_id: str) -> StoredEvent | None:
        """Return a run's first end; None if it is unfinished, or later than the cutoff."""
        ends = store.events(run_id, kinds=("run.started", "run.finished"))
        end = next((stored for stored in ends if isinstance(stored.event, ev.RunFinished)), None)
        return end if end is not None and self._is_early(ends[0], end) else None

    def _as_it_ended(self, store: Store, run_id: str) -> RunState | None:
        """Return the run at its first end without what people put on it; None if it is later than the cutoff, or unfinished."""
        end = self._end(store, run_id)
        if end is None:
            return None
        # Later events are not even read: one of a newer workbench would make the run unreadable.
        state = fold(store, store.events(run_id, until=end.seq))
        state.annotations, state.scenarios = Annotations(), ScenarioSet()  # of before its end
        return state

    def _is_early(self, first: StoredEvent, end: StoredEvent) -> bool:
        if not isinstance(first.event, ev.RunStarted):
            return False
        begun = datetime.fromisoformat(first.event.cutoff_instant.replace("Z", "+00:00"))
        own = Cutoff.parse(first.event.cutoff, now=begun)
        # A run without a cutoff reads until it ends.
        last = datetime.fromisoformat(end.at_utc.replace("Z", "+00:00")) if own.live else own.instant
        return last <= self.cutoff.instant


def _is_imported(store: Store, state: RunState) -> bool:
    return bool(store.events(state.run_id, kinds=("run.imported",)))


def run_uri(run_id: str) -> str:
    """Return the address of a run as a resource."""
    return f"workbench://runs/{run_id}"


def proof_uri(state: RunState, node: str) -> str | None:
    """Return the address of a leaf's first proof; None where there is none."""
    trial = state.trial(node, 1)
    return None if trial.belief is None else f"{run_uri(state.run_id)}/proofs/{node}"


@dataclass(kw_only=True)
class ClientHome(Home):
    """The data folder as a client sees it: only visible runs, and nothing that is shared with no model."""

    runs: VisibleRuns
    #: The claim that the client works on, if there is one: addresses in it, and where it resolves, are blocked.
    statement: str = ""
    for_model: bool = True
    proposals: Proposals = field(default_factory=Proposals)
    proposing: threading.Lock = field(default_factory=threading.Lock)
    verifying: asyncio.Lock = field(default_factory=asyncio.Lock)

    def state(self, run: str) -> RunState:
        """Return a visible run; raises ``NoSuchRun``."""
        return self.runs.state(self.store, run)
