"""Steps of a run that wait for a person (``--approve``), answered on its page: all of what would be sent, yes or no."""

from collections.abc import Callable
from pathlib import Path

import ipywidgets

from workbench.engine.approvals import Undecided, decide, step_name, undecided_steps
from workbench.engine.record.state import RunState, approval_key
from workbench.errors import UsageError, WorkbenchError
from workbench.store import Store
from workbench.terminal import printable
from workbench.widgets import panels
from workbench.widgets.fields import action, box, choice, field, html, look, offer, show_if

_REPLACED = "\N{REPLACEMENT CHARACTER}"
#: What a step is called in the sentence above its text.
_KINDS = {
    "call": "make a data call",
    "page": "read a page",
    "run": "begin this analysis, which another program proposed",
}


class ApprovalPane(ipywidgets.VBox):  # type: ignore[misc]
    """The oldest step that waits, or another one that is chosen; away while none does.

    Whoever answers first decides, here, on another page or at a terminal; the others are told what was decided and by whom.
    ``author`` is the name typed elsewhere on the page; ``decided`` is called when the log may have something new.
    """

    def __init__(
        self, home: Path, run_id: str, author: Callable[[], str], decided: Callable[[], object]
    ) -> None:
        self._home, self._run_id = home, run_id
        self._author, self._decided = author, decided
        self._steps: dict[str, Undecided] = {}
        self._mine: set[str] = set()
        self._shown: str | None = None
        self.name = field("your name", "wb-author")
        self.reason = field("reason: the agent is told it", "wb-long")
        self.yes = action("Yes", lambda: self._answer("yes"), tooltip="as it stands")
        self.no = action("No", lambda: self._answer("no"), tooltip="needs a reason")
        self.which = choice([], "step that waits")
        self.which.observe(lambda _change: self._show_step(), names=["value"])
        self.text, self.elsewhere, self.line = html(), html(), html()
        answer = box(ipywidgets.HBox, [self.name, self.yes, self.reason, self.no], "wb-form-row")
        self._question = box(ipywidgets.VBox, [self.which, self.text, answer], "wb-question")
        super().__init__([self.elsewhere, self._question, self.line], layout=look(ipywidgets.Layout))
        self.add_class("wb-approving")
        self._show_or_hide()

    def show(self, state: RunState) -> None:
        """Bring it in step with the run's log: what waits now, and what was decided elsewhere since."""
        waiting = {step_name(event) for event in state.undecided.values()}
        gone = [step for name, step in self._steps.items() if name not in waiting | self._mine]
        if gone:
            self.elsewhere.value = panels.note(" ".join(_what_became(state, step) for step in gone))
        if waiting != self._steps.keys():
            with Store(self._home) as store:
                self._steps = {step.name: step for step in undecided_steps(store, state)}
            oldest = next(iter(self._steps), None)
            offer(self.which, list(self._steps), self._shown if self._shown in self._steps else oldest)
            self._show_step()
        self._show_or_hide()

    def _show_or_hide(self) -> None:
        show_if(bool(self._steps), self._question)
        show_if(len(self._steps) > 1, self.which)
        show_if(bool(self._steps or self.elsewhere.value or self.line.value), self)

    def _show_step(self) -> None:
        step = self._steps.get(str(self.which.value))
        if step is None or step.name == self._shown:
            return  # what a person is typing stays
        self._shown = step.name
        # What a terminal obeys can deceive on a page too: text that runs backwards, characters of no width.
        text = printable(step.text)
        self.text.value = panels.rendered(
            "approval",
            step=step,
            what=_KINDS[step.event.what],
            text=text,
            replaced=text.count(_REPLACED) - step.text.count(_REPLACED),
            others=len(self._steps) - 1,
        )
        self.reason.value = self.line.value = ""

    def _answer(self, verdict: str) -> None:
        name = str(self.which.value)
        self.line.value = self.elsewhere.value = ""
        try:
            author = self.name.value.strip() or self._author()
            if not author:
                raise UsageError("type your name first: an answer stands in the log and in the proof")
            with Store(self._home) as store:
                decide(store, self._run_id, name, verdict, author=author, reason=self.reason.value)
            self._mine.add(name)
            self._decided()
        # An exception in a widget's callback is seen by nobody.
        except WorkbenchError as error:
            self._decided()
            if name in self._steps:  # else somebody was first, and the line above says who
                self.line.value = panels.refusal(error)
        self._show_or_hide()


def _what_became(state: RunState, step: Undecided) -> str:
    decision = state.decided.get(approval_key(step.event))
    if decision is None:
        return f"{step.name} no longer waits: the run was stopped or taken up anew."
    why = f": {decision.reason}" if decision.reason else ""
    return f"{step.name} was answered by {decision.author}, {decision.verdict}{why}."
