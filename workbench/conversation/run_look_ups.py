"""Look things up in a finished run, read-only, and check that a cite leads to a cell and a row."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from workbench.errors import UsageError, WorkbenchError
from workbench.propositions import NodeId
from workbench.store import Store
from workbench.synthesis.sensitivity.required_changes import ways_to_reach
from workbench.synthesis.whatif.edits import SetValue
from workbench.views.run_view import RunView
from workbench.views.trail import Trail, evidence_trail, raw_answer
from workbench.whatif.run_edits import what_if
from workbench.whatif.stored_reports import report_base_rate, without_records
from workbench.whatif.tree_documents import sensitivity_rows

_LONGEST = 6_000  # characters of one look-up


@dataclass(frozen=True, slots=True, kw_only=True)
class Cite:
    """A cite: a proposition, and for a driver with evidence a cell of its proof, a row that it read, or both.

    ``row`` is the day of a row, as it stands in the answer of a data call.
    """

    node: NodeId
    cell: str | None = None
    row: str | None = None


class RunLookUps:
    """Read-only look-ups in one run, by name; each gives JSON values.

    A question is answered out of these and of nothing else, so what it can say stands in the run.
    """

    def __init__(self, store: Store, run: RunView) -> None:
        self._store, self.run = store, run
        self._trails: dict[NodeId, Trail | None] = {}
        self.names: Mapping[str, Callable[..., Any]] = {
            "tree": self.tree,
            "evidence": self.evidence,
            "cell": self.cell,
            "rows": self.rows,
            "what_if": self.what_if,
            "reach": self.reach,
            "sensitivity": self.sensitivity,
        }

    def look_up(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return a look-up as JSON text, cut where it is long; an error is returned as its answer."""
        try:
            if name not in self.names:
                raise UsageError(f"no look-up {name!r:.40}: one of {', '.join(self.names)}")
            text = orjson.dumps(self.names[name](**arguments), default=str).decode()
        # arguments are a model's: a list for a mapping, a number that no float holds
        except (WorkbenchError, TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
            text = orjson.dumps({"refused": " ".join(str(error).split())[:300]}).decode()
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} (cut)"

    def tree(self) -> list[dict[str, Any]]:
        """Return every proposition with its p, base rate, rule and key factor."""
        rows = []
        for node in self.run.tree.propositions():
            rule = node.rule
            rows.append(
                {
                    "node": node.id,
                    "statement": node.statement,
                    "p": node.p,
                    "base_rate": report_base_rate(node),
                    "rule": rule.equation() if rule is not None and rule.numeric else None,
                    "key_factor": node.belief.key_factor if node.belief else None,
                }
            )
        return rows

    def evidence(self, node: NodeId) -> dict[str, Any]:
        """Return a driver's report, its cells with what they printed, and its data calls."""
        trail = self.trail(node)
        if trail is None:
            belief = self.run.tree[node].belief
            return {"node": node, "report": without_records(belief.report) if belief else ""}
        return {
            "node": node,
            "report": trail.report,
            "cells": [
                {"cell": cell.id, "title": cell.title, "printed": cell.printed[:400]} for cell in trail.cells
            ],
            "calls": [
                {
                    "call": call.number,
                    "cell": call.cell,
                    "path": call.path,
                    "params": call.params,
                    "rows": call.rows,
                    "newest": call.newest,
                }
                for call in trail.calls
            ],
        }

    def cell(self, node: NodeId, cell: str) -> dict[str, Any]:
        """Return the whole output of one cell of a driver's proof."""
        trail = self.trail(node)
        place = (
            next((candidate for candidate in trail.cells if candidate.id == cell), None) if trail else None
        )
        if place is None:
            raise UsageError(f"{node} has no cell {cell!r:.40}")
        return asdict(place)

    def rows(self, node: NodeId, call: int = 1, last: int = 20) -> Any:
        """Return the last rows of a driver's data call."""
        data = orjson.loads(raw_answer(self._store, self.run.state, node, call))
        return data[-max(1, min(int(last), 100)) :] if isinstance(data, list) else data

    def what_if(self, values: Mapping[str, float]) -> dict[str, Any]:
        """Return the claim with drivers at other values, by the stored rules; the run is not changed."""
        edits = [SetValue(node=node, p=float(p)) for node, p in values.items()]
        document = what_if(self.run.state, edits).whatif.to_json()
        return {name: document[name] for name in ("before", "after", "changed")}

    def reach(self, p: float) -> dict[str, Any]:
        """Return the changes that would bring the claim to a probability."""
        return ways_to_reach(self.run.tree, float(p)).to_json()

    def sensitivity(self) -> list[dict[str, Any]]:
        """Return the drivers by how far each can move the claim."""
        return sensitivity_rows(self.run.tree)

    def trail(self, node: NodeId) -> Trail | None:
        """Trace the evidence of a driver; None for one that is combined or has no conclusion."""
        if node not in self._trails:
            leaf = not self.run.tree[node].children
            concluded = leaf and self.run.state.trial(node, 1).belief is not None
            self._trails[node] = evidence_trail(self._store, self.run.state, node) if concluded else None
        return self._trails[node]

    def fault(self, cite: Cite) -> str | None:
        """Name the fault of a cite, or None; a driver with evidence needs a cell or a row."""
        if cite.node not in self.run.tree:
            return f"there is no driver {cite.node!r:.40}"
        trail = self.trail(cite.node)
        if trail is None:
            return (
                None
                if (cite.cell, cite.row) == (None, None)
                else f"{cite.node} has no cells and rows of its own"
            )
        if cite.cell is None and cite.row is None and (trail.cells or trail.calls):
            return f"name a cell of {cite.node}, or the day of a row that it read"
        if cite.cell is not None and all(cell.id != cite.cell for cell in trail.cells):
            return f"{cite.node} has no cell {cite.cell!r:.40}"
        if cite.row is not None and not self._has_row(cite.node, trail, cite.row):
            return f"no data call of {cite.node} gave a row of {cite.row!r:.40}"
        return None

    def _has_row(self, node: NodeId, trail: Trail, day: str) -> bool:
        quoted = f'"{day}"'.encode()
        return bool(day) and any(
            call.refused is None and quoted in raw_answer(self._store, self.run.state, node, call.number)
            for call in trail.calls
        )

    def cite_of(self, node: NodeId) -> Cite:
        """Find the nearest cite of a proposition: the cell that printed its p, else the first that read data."""
        trail = self.trail(node)
        if trail is None:
            return Cite(node=node)
        p = self.run.tree[node].p
        printed = trail.source(f"{p:.4f}") if p is not None else None
        cell = printed or next((candidate.id for candidate in trail.cells if candidate.calls), None)
        cell = cell or (trail.cells[0].id if trail.cells else None)
        newest = next((call.newest for call in trail.calls if isinstance(call.newest, dict)), {})
        row = str(newest["date"]) if "date" in newest else None
        cite = Cite(node=node, cell=cell, row=row)
        return cite if self.fault(cite) is None else Cite(node=node, cell=cell)
