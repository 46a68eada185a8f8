"""What a notebook uses: ``analyze`` a claim, ``open_run`` an earlier one, and look at, edit and open what came out."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.engine.run.settings import with_preset
from workbench.engine.view import RunView, view
from workbench.engine.whatif.edits import WhatIfResult, numeric_what_if
from workbench.settings import home_from
from workbench.store import Store


async def analyze(
    statement: str, *, cutoff: str, preset: str = "product", quiet: bool = False, **options: Any
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
    **options
        Any field of ``RunSettings`` or ``AgentSettings``: ``model``, ``api_base``, ``max_leaves``, ``trials``, ...
        ``isolation`` names the level of the kernels; without it the best sealed level that works here is taken.

    Raises
    ------
    UsageError
        A mistake of the caller, in one line that says how to mend it.
    ProviderError
        A model or source failed for good; ``workbench resume`` goes on where it stopped.
    """
    from proxies.asof.clock import Cutoff
    from workbench.engine.progress import print_progress
    from workbench.engine.run.assembly import open_engine
    from workbench.engine.run.opening import new_run

    settings = with_preset(preset, **options)
    instant = Cutoff.parse(cutoff)
    store = Store(home_from(os.environ))
    async with open_engine(
        store,
        settings,
        environ=os.environ,
        isolation=settings.isolation,
        listener=None if quiet else print_progress,
    ) as engine:
        await engine.check(statement, instant, settings)
        run_id = new_run(store, statement, instant, settings)
        await engine.work(run_id)
    return Analysis(view(store, run_id))


def open_run(run_id: str) -> "Analysis":
    """Return an earlier run of this home; ``run_id`` may be the beginning of an id, or ``last``."""
    store = Store(home_from(os.environ))
    return Analysis(view(store, store.resolve_run(run_id)))


class Analysis:
    """A run to look at and to play with; nothing here changes it."""

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
        """Base rate of the root known at the cutoff, where the grounding reports one."""
        return self._run.base_rate

    def what_if(self, edits: Mapping[str, float]) -> "WhatIfView":
        """Return what happens to the root when nodes have other probabilities; instant, no model is asked."""
        return WhatIfView(numeric_what_if(self._run.state, dict(edits)))

    def explorer(self) -> Any:
        """Return the tree as a widget in which every probability can be edited."""
        from workbench.widgets.board import explorer

        return explorer(self._run)

    def proof(self, node: str) -> "Proof":
        """Return a leaf's proof notebook; raises ``UnknownNode``, or ``LookupError`` where there is none."""
        path = self._run.notebook(node)
        if path is None:
            raise LookupError(
                f"{node} has no proof notebook: proofs belong to grounded leaves ({', '.join(self._run.tree.leaves())})"
            )
        return Proof(path)

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
