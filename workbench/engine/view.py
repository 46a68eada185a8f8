"""A run as people and programs look at it: read-only, and always what the log says."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.engine.run.state import RunState, load_state, notebook_name
from workbench.propositions import NodeId, Tree
from workbench.store import ApiLedger, ModelLedger, Store


@dataclass(frozen=True, slots=True)
class RunView:
    """One run, as of the moment it was loaded."""

    state: RunState
    folder: Path
    model_calls: int
    api_calls: int
    cost_usd: float | None

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return self.state.run_id

    @property
    def tree(self) -> Tree:
        """The tree with the beliefs and rules that are in."""
        return self.state.tree

    @property
    def statement(self) -> str:
        """The root proposition."""
        return self.state.statement

    @property
    def cutoff(self) -> str:
        """The knowledge cutoff as the analyst wrote it."""
        return self.state.cutoff

    @property
    def base_rate(self) -> float | None:
        """The root's base rate known at the cutoff, where its grounding reports one; else None."""
        return root_base_rate(self.tree)

    def notebook(self, node: NodeId) -> Path | None:
        """Return the proof notebook of a leaf (trial 1), or None where there is none; raises ``UnknownNode``."""
        if self.tree[node].children:
            return None
        path = self.folder / "proofs" / notebook_name(node, 1)
        return path if path.is_file() else None

    def document(self) -> dict[str, Any]:
        """Return the JSON document of ``analyze --json`` and ``show --json``."""
        tree, root = self.tree, self.tree.root
        leaves = set(tree.leaves())
        nodes = []
        for node in tree.ids():
            proposition = tree[node]
            notebook = self.notebook(node)
            nodes.append(
                {
                    "id": node,
                    "parent": tree.parent(node),
                    "statement": proposition.statement,
                    "p": proposition.belief.p if proposition.belief else None,
                    "key_factor": proposition.belief.key_factor if proposition.belief else None,
                    "kind": "root" if node == root.id else "leaf" if node in leaves else "inner",
                    "rule": proposition.rule.to_json() if proposition.rule else None,
                    "notebook": str(notebook) if notebook else None,
                    "status": self.state.node_status(node),
                    "verified": self.state.verified(node),
                }
            )
        return {
            "run_id": self.run_id,
            "statement": self.statement,
            "cutoff": self.cutoff,
            "model": self.state.settings.model,
            "root": {
                "id": root.id,
                "p": root.belief.p if root.belief else None,
                "key_factor": root.belief.key_factor if root.belief else None,
            },
            "base_rate": self.base_rate,
            "nodes": nodes,
            "n_nodes": len(nodes),
            "n_leaves": len(leaves),
            "model_calls": self.model_calls,
            "api_calls": self.api_calls,
            "cost_usd": self.cost_usd,
            "isolation": self.state.isolation,
            "imported": self.state.imported.to_json() if self.state.imported else None,
            "status": self.state.status,
            "folder": str(self.folder),
            **({"not_installed": absent} if (absent := self.state.not_installed()) else {}),
        }


def load_run(home: Path, run_id: str) -> RunView:
    """Return a run of this home; ``run_id`` may be a beginning of the id, or ``last``. Raises ``UnknownRun``."""
    store = Store(home)
    try:
        return view(store, store.resolve_run(run_id))
    finally:
        store.close()


def view(store: Store, run_id: str) -> RunView:
    """Return the view of a run from a store that is open already."""
    models = ModelLedger(store)
    return RunView(
        state=load_state(store, run_id),
        folder=store.folder(run_id),
        model_calls=models.count(run_id),
        api_calls=ApiLedger(store).count(run_id),
        cost_usd=models.cost(run_id),
    )


def root_base_rate(tree: Tree) -> float | None:
    """Return the base rate that the root's report carries in a JSON line (key ``base_rate``), else None."""
    belief = tree.root.belief
    for line in (belief.report if belief else "").splitlines():
        text = line.strip()
        if text.startswith("{") and '"base_rate"' in text:
            try:
                value = json.loads(text).get("base_rate")
            except json.JSONDecodeError:
                continue  # prose that happens to begin with a brace
            if isinstance(value, int | float) and 0 <= value <= 1:
                return float(value)
    return None
