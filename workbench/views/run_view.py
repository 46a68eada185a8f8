"""A run as people and programs look at it: read-only, and always what the log says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.annotations.entries import sign_off_rows
from workbench.annotations.estimates import estimate_rows
from workbench.audit.data_read import leaves_without_data
from workbench.audit.run_findings import run_findings_in_steps
from workbench.backtests.kept_records import kept_record
from workbench.engine.detached import has_record
from workbench.engine.hindsight import hindsight
from workbench.engine.ownership import phase_here
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import manifest_id, notebook_name
from workbench.engine.record.state import RunState
from workbench.errors import command, sentence
from workbench.propositions import NodeId, Tree
from workbench.steps import Steps, at_once
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.store.removal import began_at
from workbench.synthesis.whatif.evaluation import Span, reachable_ranges
from workbench.views.answer import direct_forecasts
from workbench.views.kept_changes import since_line
from workbench.whatif.stored_reports import root_prior, run_base_rate

if TYPE_CHECKING:
    from workbench.audit.run_audit import Badge
    from workbench.whatif.band import Band


@dataclass(frozen=True, slots=True)
class RunView:
    """One run, as of the moment it was loaded; ``spending`` has the tokens and dollars of each node (``ModelLedger``).

    ``without_data`` names the leaves that read no data, with what their values rest on instead.
    """

    state: RunState
    folder: Path
    model_calls: int
    api_calls: int
    cost_usd: float | None
    spending: Mapping[NodeId, Mapping[str, Any]] = field(default_factory=dict)
    manifest_id: str | None = None
    sign_offs: list[dict[str, Any]] = field(default_factory=list)
    without_data: Mapping[NodeId, str] = field(default_factory=dict)

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
        """The claim's base rate known at the cutoff, also before any evidence where history has it; else None."""
        return run_base_rate(self.state)

    @property
    def prior(self) -> dict[str, Any] | None:
        """The model's answer before it saw the drivers (``prior``, ``n``, ``cases``), where the run asked; else None."""
        return root_prior(self.tree)

    @property
    def since(self) -> str | None:
        """The change since the run before, where this one is a review; else None."""
        return since_line(self.state, self.folder)

    @property
    def home(self) -> Path:
        """The data folder of the run."""
        return self.folder.parent.parent

    def notebook(self, node: NodeId) -> Path | None:
        """Return the proof notebook of a leaf (trial 1), or None where there is none; raises ``UnknownNode``.

        Of an inner node it is what its synthesizer looked up.
        """
        self.tree[node]  # raises for an unknown node
        path = self.folder / "proofs" / notebook_name(node, 1)
        return path if path.is_file() else None

    @property
    def hindsight(self) -> list[str]:
        """Warnings that a model of the run may know how its claim turned out; every screen prints them."""
        late = self.state.late_line()
        return [*hindsight(self.state.settings, self.state.parsed_cutoff()), *([late] if late else [])]

    def findings(self) -> list[dict[str, str]]:
        """Return the findings of the checks: ``{node, check, words}``."""
        return at_once(self.findings_in_steps())

    def findings_in_steps(self) -> Steps[list[dict[str, str]]]:
        """Make the `findings`, a node at a time."""
        return run_findings_in_steps(self.state, self.without_data)

    def time_and_money(self) -> dict[str, Any]:
        """Return where its time and money went, as ``audit --json`` has it; reads every journal, so asked for by name."""
        from workbench.audit.cost_breakdown import time_and_money

        with Store(self.home) as store:
            return time_and_money(store, self.state)

    @property
    def mark(self) -> str:
        """The mark at every figure of the run on a screen; empty while the run has no manifest."""
        return f"manifest {self.manifest_id[:19]}" if self.manifest_id else ""

    def record(self) -> dict[str, Any] | None:
        """Return the record of the key-free forecast at past cutoffs, as it was measured in this home (`kept_record`).

        None for a run of another model, and where it was not measured yet: ``workbench show RUN --record``.
        """
        if not has_record(self.state):
            return None
        document = kept_record(self.home, self.statement, self.cutoff)
        if document is None:
            return None
        return {name: document[name] for name in document if name != "rows"}

    def fan(self) -> dict[str, Any] | None:
        """Return the fan of the claim's series, as it was simulated before any evidence; None for a run of another model.

        ``outcome`` is what the series came to, read only where the run's outcome is on record.
        """
        return self._with_outcome(self.state.fan)

    def known_series(self) -> dict[str, Any] | None:
        """Return the claim's series as known at the cutoff, without a fan, for a run of any model; None where none can be read here."""
        # numpy and pandas: most who look at a run draw no series
        from workbench.backtests.claim_series import known_series

        return self._with_outcome(known_series(self.statement, self.state.parsed_cutoff()))

    def series(self) -> dict[str, Any] | None:
        """Return the claim's series to draw: its `fan`, else `known_series`."""
        return self.fan() or self.known_series()

    def _with_outcome(self, fan: dict[str, Any] | None) -> dict[str, Any] | None:
        if fan is None or self.state.annotations.outcome is None:
            return fan
        # most who look at a run draw no fan
        from workbench.backtests.claim_series import fan_outcome

        with Store(self.home) as store:
            began = began_at(store, self.run_id)
        return {**fan, "outcome": fan_outcome(self.statement, began)}

    def band(self) -> "Band | None":
        """Return the interval around the root with where it comes from; it reads the run's data calls."""
        # most who look at a run do without its band
        from workbench.whatif.band import run_band

        with Store(self.home) as store:
            return run_band(store, self.state)

    def no_band(self) -> str:
        """Return why there is no band where there is none."""
        # most who look at a run do without its band
        from workbench.whatif.band import no_band_reason

        return no_band_reason(self.state)

    def badges(self) -> "list[Badge]":
        """Return the badges of the run, by the checks of its audit as they were last made here."""
        return at_once(self.badges_in_steps())

    def badges_in_steps(self) -> "Steps[list[Badge]]":
        """Make the `badges`, in steps where there has to be an audit."""
        from workbench.audit.run_audit import run_badges

        with Store(self.home) as store:
            return (yield from run_badges(store, self.state))

    def document(self, *, nodes: bool = True, findings: bool = True) -> dict[str, Any]:
        """Return the JSON document of ``analyze --json`` and ``show --json``.

        ``nodes``: whether its propositions are in it, and ``findings``: whether what checks found is. A page shows the tree
        itself and reads the findings once that stands: of 11,111 they take 0.4 and 0.3 s.
        """
        tree, root, annotations = self.tree, self.tree.root, self.state.annotations
        return {
            "run_id": self.run_id,
            "statement": self.statement,
            "cutoff": self.cutoff,
            "model": self.state.settings.model,
            "hindsight": self.hindsight,
            "root": {
                "id": root.id,
                "p": root.belief.p if root.belief else None,
                "key_factor": root.belief.key_factor if root.belief else None,
            },
            "base_rate": self.base_rate,
            "prior": self.prior,
            "record": self.record(),
            **({"direct": direct} if (direct := direct_forecasts(self.state)) else {}),
            **({"news": line} if (line := self.state.news_line()) else {}),
            **({"fan": self.fan(), **self._band_document()} if nodes else {}),
            "nodes": [self._node_document(*item) for item in reachable_ranges(tree).items()] if nodes else [],
            "n_nodes": len(tree),
            "n_leaves": len(tree.leaves()),
            "model_calls": self.model_calls,
            "api_calls": self.api_calls,
            "cost_usd": self.cost_usd,
            "isolation": self.state.isolation,
            "imported": self.state.imported.to_json() if self.state.imported else None,
            "status": self.state.status,
            "state": (phase := phase_here(self.state.phase, self.folder)),
            "reason": self.state.reason
            if phase == self.state.phase
            else sentence("its process ended without a word: ", command("resume", self.run_id), " goes on"),
            "not_verified": self.state.unverified_line(),
            **({"findings": self.findings()} if findings else {}),
            "folder": str(self.folder),
            "manifest_id": self.manifest_id,
            "outcome": annotations.outcome.to_json(root.p) if annotations.outcome is not None else None,
            "tags": list(annotations.tags),
            "follows": self.state.follows.run if self.state.follows is not None else None,
            "since": self.since,
            "notes": [note.to_json() for note in annotations.notes],
            "comments": [comment.to_json() for comment in annotations.comments],
            **({"estimates": estimates} if (estimates := estimate_rows(self.state)) else {}),
            "sign_offs": self.sign_offs,
            **({"not_installed": absent} if (absent := self.state.not_installed()) else {}),
        }

    def _band_document(self) -> dict[str, Any]:
        band = self.band()
        return {"band": band.to_json() if band else None, "no_band": None if band else self.no_band()}

    def _node_document(self, node: NodeId, reaches: Span) -> dict[str, Any]:
        proposition, earlier = self.tree[node], self.state.earlier.get(node)
        notebook = self.notebook(node)
        rule = proposition.rule
        return {
            "id": node,
            "parent": self.tree.parent(node),
            "statement": proposition.statement,
            "p": proposition.belief.p if proposition.belief else None,
            "key_factor": proposition.belief.key_factor if proposition.belief else None,
            "kind": "root" if node == self.tree.root.id else "inner" if proposition.children else "leaf",
            "rule": rule.to_json() if rule else None,
            "reaches": list(reaches) if rule and rule.numeric else None,
            "warnings": rule.warnings() if rule and rule.numeric else [],
            "notebook": str(notebook) if notebook else None,
            "status": self.state.node_status(node),
            "verified": self.state.verified(node),
            **({"earlier": [row.to_json() for row in earlier]} if earlier else {}),
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
    return view_of(store, load_state(store, run_id))


def view_of(store: Store, state: RunState) -> RunView:
    """Return the view of a run whose state is at hand: who follows a run's log need not fold it anew."""
    models, run_id = ModelLedger(store), state.run_id
    return RunView(
        state=state,
        folder=store.folder(run_id),
        model_calls=models.count(run_id),
        api_calls=ApiLedger(store).count(run_id),
        cost_usd=models.cost(run_id),
        spending={row["node"]: row for row in models.spending(run_id)},
        manifest_id=manifest_id(store, run_id),
        sign_offs=sign_off_rows(store, state),
        without_data=leaves_without_data(store, state),
    )
