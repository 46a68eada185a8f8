"""What drives the claim: the tornado with its ten strongest rows, and what it would take to be elsewhere."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import ipywidgets

from workbench.errors import WorkbenchError
from workbench.propositions import NodeId, Tree
from workbench.steps import Steps, at_once
from workbench.synthesis import SensitivityError
from workbench.synthesis.sensitivity.assumptions import assumed_by, assumption_detail
from workbench.synthesis.sensitivity.paths import TornadoRow
from workbench.synthesis.sensitivity.required_changes import ways_to_reach
from workbench.synthesis.whatif.evaluation import reachable_ranges
from workbench.views.run_view import RunView
from workbench.whatif.tree_documents import contribution, driver_rows_in_steps
from workbench.whatif.typed_values import market_of, parse_probability
from workbench.widgets.fields import action, box, field, look, plain_widget
from workbench.widgets.html_panel import Panel
from workbench.widgets.page_terms import on_page
from workbench.widgets.panels import refusal, rendered

#: Rows of the tornado that stand open, and how many more it shows when the rest is unfolded; the command line has all.
DRIVERS = 10
MOST_UNFOLDED = 200
#: Ways and leaves that an answer names.
_NAMED = 8


class Drivers:
    """The tornado of a tree, and the questions about it; ``show`` brings both in step with an edited tree."""

    def __init__(self, run: RunView, on_select: Callable[[str], None]) -> None:
        references = {"zero": 0.0, "0.5": 0.5, "base rate": run.base_rate, "market": market_of(run.state)}
        self._mark, self._base_rate = run.mark, run.base_rate
        self.chart = Panel()
        self.chart.on_select = on_select
        self.chart.on_open = lambda _name: self._unfold()
        self._references = [(label, value) for label, value in references.items() if value is not None]
        self._reference = 0.0
        self._on_select = on_select
        self._whole = False
        self._tree: Tree | None = None
        self._rows: list[TornadoRow] = []
        self._reach: tuple[float, float] | None = None
        self._questions: Questions | None = None

    @property
    def questions(self) -> "Questions":
        """The questions about the tree; made when they are first asked for."""
        if self._questions is None:
            self._questions = Questions(self._references, self._refer, self._on_select)
            if self._tree is not None:
                self._questions.show(self._tree)
        return self._questions

    def show(self, tree: Tree) -> None:
        """Draw everything for this tree, the answers that were asked for too."""
        at_once(self.show_in_steps(lambda: tree))

    def show_in_steps(self, tree_now: Callable[[], Tree]) -> Steps[None]:
        """Draw everything for the tree of now, and again for one that was edited meanwhile."""
        while (tree := tree_now()) is not self._tree:
            try:
                rows = yield from driver_rows_in_steps(tree)
            # A rule without a formula, whose children were edited, has no value to swing.
            except SensitivityError:
                rows = []
            yield
            reach = reachable_ranges(tree)[tree.root.id] if rows else None
            yield
            self._tree, self._rows, self._reach = tree, rows, reach
            self._draw()
            if self._questions is not None:
                self._questions.show(tree)

    def _refer(self, reference: float) -> None:
        self._reference = reference
        self._draw()

    def _draw(self) -> None:
        if self._tree is None:
            return
        self.chart.value = tornado_html(
            self._rows,
            self._tree,
            self._reach,
            reference=self._reference,
            whole=self._whole,
            mark=self._mark,
            base_rate=self._base_rate,
        )

    def _unfold(self) -> None:
        self._whole = True
        self._draw()


class Questions(ipywidgets.VBox):  # type: ignore[misc]
    """What contributions are counted from, and what it would take to be elsewhere."""

    def __init__(
        self,
        references: list[tuple[str, float]],
        refer: Callable[[float], None],
        on_select: Callable[[str], None],
    ) -> None:
        self.answer = Panel()
        self.answer.on_select = on_select
        self.reference = plain_widget(
            ipywidgets.Dropdown, options=references, description="contribution from"
        )
        self.reference.add_class("wb-reference")
        self.reference.observe(lambda change: refer(change["new"] or 0.0), names=["value"])
        self.target = field("reach, such as 50%", "wb-short")
        self.ask = action("What would it take?", self._reach, tooltip="for the claim to stand there")
        row = [self.reference, self.target, self.ask]
        asking = box(ipywidgets.HBox, row, "wb-keeping")
        asking.add_class("wb-labelled")
        super().__init__([asking, self.answer], layout=look(ipywidgets.Layout))
        self._tree: Tree | None = None
        self._asked = False

    def show(self, tree: Tree) -> None:
        """Answer what was asked for this tree."""
        self._tree = tree
        if self._asked:
            self._answer()

    def ask_for(self, target: str) -> None:
        """Ask what it would take to be there, as if it had been typed."""
        self.target.value = target
        self._reach()

    def _reach(self) -> None:
        self._asked = True
        self._answer()

    def _answer(self) -> None:
        assert self._tree is not None
        try:
            self.answer.value = ways_html(self._tree, parse_probability(self.target.value))
        except WorkbenchError as error:
            self.answer.value = refusal(on_page(error))


def tornado_html(
    rows: list[TornadoRow],
    tree: Tree,
    reachable: tuple[float, float] | None = None,
    *,
    reference: float = 0.0,
    whole: bool = False,
    mark: str = "",
    base_rate: float | None = None,
) -> str:
    """Return the tornado: for each leaf and assumption, where the root would be if it were false and if it were true.

    Below it the root's reachable range: whatever all leaves turn out to be at once. The rows after the tenth are folded, and
    made only when ``whole`` says that the fold is open.
    """
    root = tree.root.p
    computable = (
        [row for row in rows if row.low is not None and row.high is not None] if root is not None else []
    )
    shown = computable[: MOST_UNFOLDED if whole else DRIVERS]
    axis = _axis([end for row in shown for end in (row.low, row.high)], root, base_rate)
    listed = [
        {
            "id": row.id,
            "node": assumed_by(row.id) or row.id,
            "statement": assumption_detail(tree, row.id),
            "low": row.low,
            "high": row.high,
            "path_weight": row.path_weight,
            "contribution": contribution(row, reference),
        }
        for row in shown
    ]
    return rendered(
        "sensitivity",
        rows=listed[:DRIVERS],
        folded=listed[DRIVERS:],
        more=len(computable) - min(len(computable), DRIVERS),
        left_out=max(0, len(computable) - MOST_UNFOLDED),
        root=root,
        base_rate=base_rate,
        axis=axis,
        reachable=reachable,
        mark=mark,
    )


@dataclass(frozen=True, slots=True)
class Axis:
    """A stretch of the probabilities that fills a chart's width; places on it are shares of that width."""

    low: float
    high: float

    def place(self, p: float) -> float:
        """Where a probability lies, in [0, 1] if it is on the axis."""
        return (p - self.low) / (self.high - self.low)


def _axis(ends: Iterable[float | None], root: float | None, base_rate: float | None) -> Axis:
    """The axis that the bars fill, widened to the next 5 points; from 0 to 1 the bars of most trees are slivers."""
    points = [each for each in (*ends, root, base_rate) if each is not None]
    if not points:
        return Axis(0.0, 1.0)
    low, high = floor(20 * min(points)) / 20, ceil(20 * max(points)) / 20
    return Axis(low, high) if high > low else Axis(max(0.0, low - 0.05), min(1.0, high + 0.05))


def ways_html(tree: Tree, target: float) -> str:
    """Return what it would take for the root to be at a probability: leaves that do it alone, and all together."""
    answer = ways_to_reach(tree, target)
    return rendered(
        "ways",
        answer=answer,
        alone=[_way(tree, way.id, way.p, way.needed) for way in answer.alone[:_NAMED]],
        more=max(0, len(answer.alone) - _NAMED),
        together=[_way(tree, way.id, way.p, way.needed) for way in answer.together[:_NAMED]],
        others=max(0, len(answer.together) - _NAMED),
    )


def _way(tree: Tree, node: NodeId, p: float, needed: float) -> dict[str, Any]:
    return {"id": node, "statement": tree[node].statement, "p": p, "needed": needed}
