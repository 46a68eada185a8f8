"""One run as a caller has it: numbers, what-ifs, proofs, remarks and exports."""

import os
import sys
from pathlib import Path
from typing import Any

from workbench.api.operation_function import RUN_SHOWN_AS, run_progress, shown_answer
from workbench.api.python_terms import methods_in_python_terms
from workbench.api.run_methods import RunMethods
from workbench.operations.base import Home, Operation
from workbench.store import Store
from workbench.terminal import printable
from workbench.views.run_view import RunView, view
from workbench.views.wording import run_lines
from workbench.widgets.tree_widget import tree_html


def _on_stderr(line: str) -> None:
    sys.stderr.write(printable(line) + "\n")


class Proof:
    """A proof notebook: its path, its cells, and a sanitised view in a notebook."""

    def __init__(self, path: Path, *, run: "RunView | None" = None, node: str = "") -> None:
        self.path = path
        self._run, self._node = run, node

    def notebook(self) -> Any:
        """Return the notebook as an ``nbformat`` node."""
        import nbformat

        return nbformat.read(self.path, as_version=4)  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        return f"proof notebook {self.path}"

    def _repr_html_(self) -> str:
        # only whoever shows a widget loads the widgets
        from workbench.widgets.proofs.proof_view import proof_html, trail_of

        return proof_html(self.path, trail=trail_of(self._run, self._node) if self._run else None)


@methods_in_python_terms
class Analysis(RunMethods):
    """One run: its numbers, what-ifs, proofs and exports. No method changes the run itself; scenarios are saved beside it."""

    def __init__(self, run: RunView) -> None:
        self._run = run

    @property
    def run(self) -> RunView:
        """The run behind this analysis."""
        return self._run

    def asked(self, request: Operation) -> Any:
        """Return the document of a request about this run; after one that adds to the log the run is read anew."""
        home = Home(environ=os.environ, folder=self._run.home, say=_on_stderr, run_progress=run_progress)
        document = shown_answer(request, home)
        if request.writes:
            with self._home_store() as store:
                self._run = view(store, self.run_id)
        return document

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
        """Return the run with all its nodes, probabilities in [0, 1] or None, costs in US dollars or None where unknown."""
        return self._run.document()

    def to_frame(self) -> Any:
        """Return the nodes as a pandas DataFrame, one row each, by id."""
        # 0.4 s, and of all methods this one alone needs it
        import pandas as pd

        return pd.DataFrame(self.show()["nodes"]).set_index("id")

    def diff(self, later: "Analysis") -> Any:
        """Return what changed from this run to a later one of the same claim: the parts sum to the change (`workbench diff`)."""
        from workbench.operations.several_runs import Diff

        return self.asked(Diff(before=self.run_id, after=later.run_id))

    def ways_to_reach(self, p: float) -> dict[str, Any]:
        """Return what it would take for the root to be at ``p``: each leaf that does it alone, and all of them together."""
        document: dict[str, Any] = self.what_if(reach=p)
        return document

    def take_review(self, package: str | Path) -> "Analysis":
        """Take in the comments and sign-offs that a package of this run brings back, and return the run with them.

        What ``workbench import FILE --review`` does. Raises ``UsageError`` where the package is of another log or holds nothing new.
        """
        from workbench.packages.returned_review import take_review

        with self._home_store() as store:
            take_review(store, Path(package), run_id=self.run_id)
            return Analysis(view(store, self.run_id))

    def export(self, path: str | Path, **options: Any) -> Path:
        """Write the note (html, pdf, docx, md), the package (zip) or another program's format; return the path.

        The file's suffix says which unless ``to`` names one; the other options are those of `workbench export`, such as ``project``,
        ``sign``, ``one_page``, and ``note``: a file for the note beside a package, which holds none. What had to be changed to fit
        the format is reported on stderr.
        """
        from workbench.operations.packages import Export

        self.asked(Export.read({"run": self.run_id, "output": path, **options}))
        return Path(path)

    def explorer(self) -> Any:
        """Return the tree as a widget in which every probability can be edited; edits are kept as the scenario ``draft``."""
        # only whoever shows a widget loads the widgets
        from workbench.widgets.proofs.cell_views import explorer

        return explorer(self._run)

    def dashboard(self) -> Any:
        """Return the whole page of ``workbench serve`` as a widget, with the edits of the run's other cells."""
        # only whoever shows a widget loads the widgets
        from workbench.widgets.run_page import whole_page

        return whole_page(self._run)

    def scenario_view(self) -> Any:
        """Return the saved what-ifs and the tree's edits as a widget; ``scenarios`` returns the former as values.

        It does what the page of ``workbench serve`` does: save, open, rename, annotate, weigh, duplicate, close.
        """
        # only whoever shows a widget loads the widgets
        from workbench.widgets.proofs.cell_views import ScenarioView, one_view

        return one_view(ScenarioView, self._run)

    def driver_view(self) -> Any:
        """Return the tornado as a widget, with what it would take for the root to be elsewhere."""
        # only whoever shows a widget loads the widgets
        from workbench.widgets.proofs.cell_views import DriverView, one_view

        return one_view(DriverView, self._run)

    def export_view(self) -> Any:
        """Return a choice of the note's forms and the package as a widget whose files the browser saves."""
        # only whoever shows a widget loads the widgets
        from workbench.widgets.proofs.cell_views import ExportView, one_view

        return one_view(ExportView, self._run)

    def live_view(self) -> Any:
        """Return the run as a widget that follows its log, with stop and resume; the run goes on without it."""
        # only whoever shows a widget loads the widgets
        from workbench.widgets.proofs.cell_views import LiveView, one_view

        return one_view(LiveView, self._run)

    def evidence_view(self, node: str | None = None) -> Any:
        """Return the evidence of a proposition as a widget, with a choice of the others."""
        # only whoever shows a widget loads the widgets
        from workbench.widgets.proofs.cell_views import EvidenceView

        return EvidenceView(self._run, node)

    def proof(self, node: str) -> Proof:
        """Return a leaf's proof notebook; raises ``UnknownNode``, or ``LookupError`` if the node has none."""
        path = self._run.notebook(node)
        if path is None:
            raise LookupError(
                f"{node} has no proof notebook; these drivers may have one: {', '.join(self._run.tree.leaves())}"
            )
        return Proof(path, run=self._run, node=node)

    def _home_store(self) -> Store:
        return Store(self._run.home)

    def __repr__(self) -> str:
        return "\n".join(run_lines(self._run))

    def _repr_html_(self) -> str:
        return tree_html(self._run.tree, self._run.without_data)


RUN_SHOWN_AS.append(Analysis)
