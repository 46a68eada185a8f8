"""The Python API: analyze a claim, open an earlier run, and ask of it whatever the command line can ask.

Each function and method returns the document that the command of its name prints with ``--json`` (``engine/documents.py``).
"""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from workbench.engine import documents
from workbench.engine.blocking import refuse_running_loop, run_blocking
from workbench.engine.run.settings import with_preset
from workbench.engine.run.state import load_state
from workbench.engine.view import RunView, view
from workbench.engine.whatif.edits import WhatIfResult, numeric_what_if
from workbench.errors import UsageError
from workbench.settings import home_from
from workbench.store import Store

__all__ = [
    "Analysis",
    "Proof",
    "WhatIfView",
    "analyze",
    "analyze_sync",
    "api_doc",
    "apis",
    "call",
    "coherence",
    "decide",
    "doctor",
    "import_run",
    "open_run",
    "resume",
    "runs",
]


async def analyze(
    statement: str,
    *,
    cutoff: str,
    preset: str = "product",
    quiet: bool = False,
    plan_only: bool = False,
    **options: Any,
) -> "Analysis":
    """Break a claim into a tree, ground every leaf in a sealed notebook, and return the finished analysis.

    Parameters
    ----------
    statement : str
        A proposition that will turn out true or false.
    cutoff : str
        Knowledge cutoff: a date (start of that day in New York), an instant, or ``"now"``.
    preset : str
        Named set of defaults.
    quiet : bool
        Do not print progress on stderr.
    plan_only : bool
        Stop after the tree; ``resume`` grounds it.
    **options
        Any field of ``RunSettings`` or ``AgentSettings``: ``model``, ``api_base``, ``max_leaves``, ``trials``, ...
        ``isolation`` names the level of the kernels; without it the best sealed level that works here is taken.

    Raises
    ------
    UsageError
        A mistake of the caller, in one line that says how to mend it.
    ProviderError
        A model or source failed for good; ``resume`` goes on where it stopped.
    """
    # Imported here and in most functions below, so that `import workbench` loads neither kernels nor pandas.
    from proxies.asof.clock import Cutoff
    from workbench.engine.progress import print_progress
    from workbench.engine.run.assembly import open_engine
    from workbench.engine.run.opening import new_run

    settings = with_preset(preset, **options)
    instant = Cutoff.parse(cutoff)
    with closing(_store()) as store:
        async with open_engine(
            store,
            settings,
            environ=os.environ,
            isolation=settings.isolation,
            listener=None if quiet else print_progress,
        ) as engine:
            await engine.check(statement, instant, settings)
            run_id = new_run(store, statement, instant, settings)
            await engine.work(run_id, plan_only=plan_only)
        return Analysis(view(store, run_id))


def analyze_sync(statement: str, *, cutoff: str, **options: Any) -> "Analysis":
    """Return what ``analyze`` returns, for a plain script; takes the same options.

    Raises ``UsageError`` if an event loop runs already, as it does in a notebook; write ``await wb.analyze(...)`` there.
    """
    refuse_running_loop("analyze_sync", "await wb.analyze(...)")
    return run_blocking(analyze(statement, cutoff=cutoff, **options))


async def resume(run_id: str = "last", *, isolation: str | None = None, quiet: bool = False) -> "Analysis":
    """Go on with a run that was stopped and return it; nothing that reached the ledger is asked again."""
    from workbench.engine.progress import print_progress
    from workbench.engine.run.assembly import open_engine
    from workbench.engine.run.settings import check_level
    from workbench.engine.whatif.edits import adopt_tree_file

    if isolation is not None:
        check_level(isolation)
    with closing(_store()) as store:
        run_id = store.resolve_run(run_id)
        # Before the state is read: after --plan-only a person may have edited tree.json, and that tree is then the run's.
        adopt_tree_file(store, run_id)
        state = load_state(store, run_id)
        # A finished run may come from a file whose model nobody can open here; there is nothing to ask it.
        if not state.finished:
            async with open_engine(
                store,
                state.settings,
                environ=os.environ,
                isolation=isolation,
                listener=None if quiet else print_progress,
            ) as engine:
                await engine.work(run_id)
        return Analysis(view(store, run_id))


def open_run(run_id: str = "last") -> "Analysis":
    """Return an earlier run of this home; ``run_id`` may be the beginning of an id, or ``last``."""
    with closing(_store()) as store:
        return Analysis(view(store, store.resolve_run(run_id)))


def import_run(path: str | Path, *, cutoff: str | None = None, anyway: bool = False) -> "Analysis":
    """Take in an exported run or a tree and return it, as ``workbench import`` does.

    Raises ``PackageAltered`` for a package whose evidence contradicts itself, unless ``anyway``; it is marked then.
    """
    from workbench.engine.evidence.package import import_run as take_in

    with closing(_store()) as store:
        return Analysis(view(store, take_in(store, Path(path), cutoff=cutoff, anyway=anyway)))


def runs() -> list[dict[str, Any]]:
    """Return the runs of this home, the newest last."""
    with closing(_store()) as store:
        return documents.runs(store)


def coherence(*runs: str, exclusive: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """Return where the probabilities of several runs contradict each other; all finished runs unless some are named."""
    with closing(_store()) as store:
        return documents.coherence(store, runs, exclusive)


def decide(*runs: str, threshold: float | None = None) -> dict[str, Any]:
    """Return the probabilities of exclusive options, one run each, and the one to take."""
    if not runs:
        raise UsageError(
            "nothing to decide between: name a run per option, or one that stands against its negation"
        )
    with closing(_store()) as store:
        states = [load_state(store, store.resolve_run(run)) for run in runs]
        return documents.decision(states, threshold)


def apis(pattern: str | None = None) -> list[dict[str, Any]]:
    """Return the endpoints a cell can call, all or those that match some words."""
    return documents.apis(pattern, environ=os.environ)


def api_doc(*paths: str) -> str:
    """Return the documentation of endpoints, with an example that runs."""
    from proxies.catalogue import api_doc as documentation
    from workbench.settings import catalogue_of, home_from

    return documentation(catalogue_of(home_from(os.environ)), list(paths))


def call(
    path: str, params: Mapping[str, Any] | None = None, *, cutoff: str = "now", strict: bool = False
) -> dict[str, Any]:
    """Make one call through the broker and return its data and what was done to keep the cutoff."""

    async def work() -> dict[str, Any]:
        with closing(_store()) as store:
            return await documents.call(store, path, params or {}, cutoff, strict=strict, environ=os.environ)

    return run_blocking(work())


def doctor() -> dict[str, Any]:
    """Return what works on this machine, what does not, and why."""
    return run_blocking(documents.doctor(os.environ))


def _store() -> Store:
    return Store(home_from(os.environ))


class Analysis:
    """One run: its numbers, what-ifs, proofs and exports. No method changes the run itself; scenarios are saved beside it."""

    def __init__(self, run: RunView) -> None:
        self._run = run

    @property
    def run(self) -> RunView:
        """The run behind this analysis."""
        return self._run

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return self._run.run_id

    @property
    def p(self) -> float | None:
        """Probability of the root, in [0, 1]; None while it has none."""
        belief = self._run.tree.root.belief
        return belief.p if belief else None

    @property
    def base_rate(self) -> float | None:
        """Base rate of the root known at the cutoff; None if the grounding reports none."""
        return self._run.base_rate

    def show(self) -> dict[str, Any]:
        """Return the run with all its nodes."""
        return self._run.document()

    def to_frame(self) -> Any:
        """Return the nodes as a pandas DataFrame, one row each, by id."""
        import pandas as pd

        return pd.DataFrame(self.show()["nodes"]).set_index("id")

    def what_if(
        self,
        edits: Mapping[str, float],
        *,
        scenario: str | None = None,
        author: str = "",
        rationale: str = "",
        probability: float | None = None,
    ) -> "WhatIfView":
        """Return what happens to the root when nodes have other probabilities; instant, no model is asked.

        With ``scenario`` the edits are kept under that name, on top of what it holds already, as ``whatif --scenario`` does.
        """
        if scenario is None:
            return WhatIfView(numeric_what_if(self._run.state, dict(edits)))
        from workbench.engine.whatif.edits import what_if
        from workbench.engine.whatif.saved import save_scenario
        from workbench.propositions.edits import SetValue
        from workbench.store import utc_now

        fresh = tuple(SetValue(node=node, p=p) for node, p in edits.items())
        with closing(self._home_store()) as store:
            # Read anew, not from the view: the scenario may have been saved to since this analysis was opened.
            state = load_state(store, self.run_id)
            known = state.scenarios.scenarios.get(scenario)
            # Before saving: an edit that the tree refuses must not reach the store.
            result = what_if(state, (*(known.edits if known else ()), *fresh), now=utc_now())
            save_scenario(
                store,
                self.run_id,
                scenario,
                fresh,
                author=author,
                rationale=rationale,
                probability=probability,
            )
        return WhatIfView(result)

    def scenarios(
        self,
        *names: str,
        undo: str | None = None,
        redo: str | None = None,
        close: str | None = None,
        author: str = "",
    ) -> dict[str, Any]:
        """Return the saved what-ifs side by side, all or those named; undo, redo or close one before."""
        from workbench.engine.whatif.saved import change_scenario
        from workbench.propositions.scenario_book import Action

        changes: list[tuple[Action, str | None]] = [("undo", undo), ("redo", redo), ("close", close)]
        with closing(self._home_store()) as store:
            # One transaction: if the second change is refused, the first is not kept either.
            with store.transaction():
                for action, name in changes:
                    if name is not None:
                        change_scenario(store, self.run_id, action, name, author=author)
            return documents.scenarios(load_state(store, self.run_id), names)

    def sensitivity(self) -> list[dict[str, Any]]:
        """Return what each leaf does to the root, the widest swing first."""
        return documents.sensitivity(self._run.state)

    def sensitivity_report(self, *, seed: int = 0) -> dict[str, Any]:
        """Return the rows of ``sensitivity``, the reachable range, the root's band, and what to ground next."""
        with closing(self._home_store()) as store:
            return documents.sensitivity_report(store, self._run.state, seed=seed)

    def noise(
        self, kind: str = "normal", level: float = 0.1, *, seed: int = 0, draws: int = 200
    ) -> dict[str, Any]:
        """Return the root's distribution when the leaves are disturbed; no model is asked."""
        return documents.noise(self._run.state, kind, level, seed=seed, draws=draws)

    def refit(self, k: int = 5, *nodes: str) -> dict[str, Any]:
        """Ask the synthesizer ``k`` times per inner node, all or those named, and return how far its weights spread."""
        from workbench.engine.gateway import open_gateway
        from workbench.engine.whatif.refits import refit_nodes

        async def work() -> dict[str, Any]:
            with closing(self._home_store()) as store:
                state = load_state(store, self.run_id)
                chosen = refit_nodes(state, nodes)
                return await documents.refits(store, state, chosen, k, open_gateway(store, state))

        return run_blocking(work())

    def audit(self) -> dict[str, Any]:
        """Return the checks of the run against its own records; ``passed`` is True if all hold."""
        with closing(self._home_store()) as store:
            return documents.audit(store, self.run_id)

    def verify(self, node: str | None = None, *, isolation: str | None = None) -> dict[str, Any]:
        """Compare proofs with their records and with a re-run, offline, and return what differs."""

        async def work() -> dict[str, Any]:
            with closing(self._home_store()) as store:
                return await documents.verification(store, self.run_id, node, isolation=isolation)

        return run_blocking(work())

    def export(
        self, path: str | Path, *, to: str | None = None, project: bool = False, normalise: str = "scale"
    ) -> Path:
        """Write the run in a format of other programs, by the file's suffix unless ``to`` names one; return the path.

        Anything that had to be changed to fit the format is reported on stderr, one line each.
        """
        from proxies.atomic import replace_file
        from workbench.engine.evidence.package import FORMATS, export_run
        from workbench.synthesis.rules.normalise import check_normaliser

        file = Path(path)
        to = to or file.suffix.removeprefix(".")
        if to not in FORMATS:
            raise UsageError(f"no export to {to!r}: name the file .{', .'.join(FORMATS)}, or give to=")
        with closing(self._home_store()) as store:
            data, notes = export_run(
                store,
                self.run_id,
                to,
                misfit="project" if project else "refuse",
                normalise=check_normaliser(normalise),
            )
        for note in notes:
            sys.stderr.write(note + "\n")
        replace_file(file, data)
        return file

    def explorer(self) -> Any:
        """Return the tree as a widget in which every probability can be edited."""
        from workbench.widgets.board import explorer

        return explorer(self._run)

    def proof(self, node: str) -> "Proof":
        """Return a leaf's proof notebook; raises ``UnknownNode``, or ``LookupError`` if the node has none."""
        path = self._run.notebook(node)
        if path is None:
            raise LookupError(
                f"{node} has no proof notebook: proofs belong to grounded leaves ({', '.join(self._run.tree.leaves())})"
            )
        return Proof(path)

    def _home_store(self) -> Store:
        """Open the store that holds this run, also after WORKBENCH_HOME has changed: its folder is HOME/runs/ID."""
        return Store(self._run.folder.parent.parent)

    def __repr__(self) -> str:
        from workbench.engine.wording import run_lines

        return "\n".join(run_lines(self._run))

    def _repr_html_(self) -> str:
        from workbench.widgets.static_tree import tree_html

        return tree_html(self._run.tree)


class WhatIfView:
    """The outcome of a what-if: ``before``, ``after``, ``changed``, ``stale``."""

    def __init__(self, result: WhatIfResult) -> None:
        self._result = result
        self.before = result.whatif.before
        self.after = result.whatif.after
        self.changed = result.whatif.changed
        self.stale = result.whatif.stale

    def to_json(self) -> dict[str, Any]:
        """Return what ``workbench whatif --json`` prints."""
        return self._result.to_json()

    def __repr__(self) -> str:
        from workbench.engine.wording import percent

        lines = [f"{item.id:8}{percent(item.before)} -> {percent(item.after)}" for item in self.changed]
        return "\n".join([*lines, f"root    {percent(self.before)} -> {percent(self.after)}"])


class Proof:
    """A proof notebook: its path, its cells, and a sanitised view in a notebook."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def notebook(self) -> Any:
        """Return the notebook as an ``nbformat`` node."""
        import nbformat

        return nbformat.read(self.path, as_version=4)  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        return f"proof notebook {self.path}"

    def _repr_html_(self) -> str:
        from workbench.widgets.proof import proof_html

        return proof_html(self.path)
