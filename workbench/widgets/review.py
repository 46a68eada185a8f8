"""The review of a run on its page: comments pinned to propositions, the checklist, the sign-off and its hash."""

from collections.abc import Callable
from contextlib import closing

import ipywidgets

from workbench.engine.annotating import CHECKLIST, add_comment, sign_off
from workbench.engine.view import RunView
from workbench.errors import UsageError
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.widgets import panels
from workbench.widgets.fields import action, box, choice, field, html, look, offer, plain_widget, tried
from workbench.widgets.panel import Panel

_VERDICTS = {"accept it": "accept", "return it": "return"}


class ReviewPane(ipywidgets.VBox):  # type: ignore[misc]
    """What reviewers said, a row for a comment, and the form that signs: what ``comment`` and ``sign-off`` do.

    Parameters
    ----------
    author : ipywidgets.Text
        The field in which who sits here types a name, once for the whole page.
    reviewed : callable
        Called when a comment or a sign-off is on record.
    select : callable
        Called with the proposition of a comment that was clicked.
    """

    def __init__(
        self, author: ipywidgets.Text, reviewed: Callable[[], None], select: Callable[[str], None]
    ) -> None:
        self._reviewed = reviewed
        self._run: RunView | None = None
        self._node: NodeId = ROOT
        self.standing = Panel()
        self.standing.on_select = select
        self.line = html()
        self.name = field("your name", "wb-author")
        ipywidgets.link((author, "value"), (self.name, "value"))
        self.about = choice([ROOT], "what the comment is pinned to")
        self.remark = field("comment for whoever reads this run", "wb-long")
        self.comment = action(
            "Comment", tried(self._comment, self._refuse), tooltip="goes on record, and into the package"
        )
        self.points = {key: self._point(words) for key, words in CHECKLIST.items()}
        self.verdict = choice(list(_VERDICTS), "verdict")
        self.sign = action(
            "Sign off",
            tried(self._sign, self._refuse),
            tooltip="one hash over log, tree, comments and checklist",
        )
        super().__init__(
            [
                self.standing,
                box(ipywidgets.HBox, [self.about, self.remark, self.comment], "wb-form-row"),
                box(ipywidgets.VBox, list(self.points.values()), "wb-checklist"),
                box(ipywidgets.HBox, [self.name, self.verdict, self.sign], "wb-form-row"),
                self.line,
            ],
            layout=look(ipywidgets.Layout),
        )
        self.add_class("wb-review-form")

    @staticmethod
    def _point(words: str) -> ipywidgets.Checkbox:
        box_to_tick = plain_widget(ipywidgets.Checkbox, description=words, value=False, indent=False)
        box_to_tick.description_allow_html = False
        return box_to_tick

    def show(self, run: RunView, node: NodeId) -> None:
        """Show what was said of a run; a new comment is pinned to ``node`` or to the claim."""
        moved = node != self._node
        self._run, self._node = run, node
        said = run.state.annotations
        self.standing.value = panels.rendered("review", comments=said.comments, rows=run.sign_offs)
        places = list(dict.fromkeys([ROOT, node])) if node in run.tree else [ROOT]
        offer(self.about, places, node if moved else None)
        self.sign.disabled = not run.state.finished
        self.sign.tooltip = (
            "one hash over log, tree, comments and checklist"
            if run.state.finished
            else "when the run has its probability"
        )

    def _comment(self) -> None:
        self.line.value = ""
        run = self._run
        assert run is not None
        with closing(Store(run.home)) as store:
            add_comment(
                store, run.run_id, str(self.about.value), self.remark.value, author=self.name.value.strip()
            )
        self.remark.value = ""
        self._reviewed()

    def _sign(self) -> None:
        self.line.value = ""
        run = self._run
        assert run is not None
        if not self.name.value.strip():
            raise UsageError("type your name first: a sign-off says whose it is (typed, not proved)")
        verdict = _VERDICTS[str(self.verdict.value)]
        done = [key for key, point in self.points.items() if point.value]
        left = [CHECKLIST[key] for key in CHECKLIST if key not in done]
        if verdict == "accept" and left:
            raise UsageError(f"to accept, every point is ticked; open: {'; '.join(left)}. Or return it")
        with closing(Store(run.home)) as store:
            attested = sign_off(store, run.run_id, author=self.name.value, verdict=verdict, done=done)
        self.line.value = panels.note(f"Signed. What is attested has the hash {attested}.")
        # The next to sign ticks for themselves.
        for point in self.points.values():
            point.value = False
        self._reviewed()

    def _refuse(self, why: str) -> None:
        self.line.value = panels.refusal(why)
