"""What can be asked of a run on its page, each a form of an operation: people's words, evidence again, rules again, files."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from mimetypes import guess_type
from typing import Any

import ipywidgets

from workbench.annotations.entries import CHECKLIST
from workbench.annotations.estimates import estimate_rows
from workbench.engine.approvals import Undecided, step_name, undecided_steps
from workbench.engine.record.state import RunState, approval_key
from workbench.models.model_options import OFFLINE
from workbench.operations.analysis import Reground, Resume
from workbench.operations.asking import Ask
from workbench.operations.base import Operation
from workbench.operations.packages import Export
from workbench.operations.people import Comment, Estimate, Note, SignOff
from workbench.operations.run_control import Approve
from workbench.operations.what_if import WhatIf
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.terminal import printable
from workbench.views.run_view import RunView
from workbench.widgets import panels
from workbench.widgets.edits.edit_log import RunEdits
from workbench.widgets.fields import box, choice, html, look, offer, show_if
from workbench.widgets.html_panel import Panel
from workbench.widgets.operation_form import OperationForm


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What the forms about a run share: the run of now with its edits and who makes them, and what is read anew after each."""

    edits: RunEdits
    reread: Callable[[], object]

    @property
    def run(self) -> RunView:
        """The run as it was seen last."""
        return self.edits.run

    def form(
        self,
        operation: type[Operation],
        button: str,
        *,
        given: Callable[[], Mapping[str, Any]] = dict,
        fields: Iterable[str] = (),
        **options: Any,
    ) -> OperationForm:
        """Return the form of an operation on the run; unless it says otherwise the page shows the document elsewhere."""

        def known() -> dict[str, Any]:
            author = self.edits.signature[0].value.strip()
            signed = {"author": author} if author and "author" not in fields else {}
            return {"run": self.run.run_id, **signed, **given()}

        form = OperationForm(
            operation,
            self.run.home,
            button,
            given=known,
            fields=fields,
            **{
                "more": False,
                "done": lambda _document: self.reread(),
                "draw": lambda _document: "",
                **options,
            },
        )
        if "author" in fields:
            ipywidgets.link((self.edits.signature[0], "value"), (form.inputs["author"], "value"))
        return form


class PeoplePane(ipywidgets.VBox):  # type: ignore[misc]
    """What people said of a run, and forms to say more, about the claim or the selected driver.

    `whole`: what stands for the run as a whole, where something can be said of that too.
    """

    def __init__(
        self,
        standing: Callable[[RunView], str],
        forms: list[OperationForm],
        desk: Desk,
        *,
        whole: str = "",
    ) -> None:
        self._standing, self.forms, self._whole = standing, forms, whole
        self._node: NodeId = ROOT
        self.standing = Panel()
        self.standing.on_select = desk.edits.choose
        super().__init__([self.standing, *forms], layout=look(ipywidgets.Layout))
        self.add_class("wb-people")

    def show(self, run: RunView, node: NodeId) -> None:
        """Show what was said; the next thing may be about ``node``."""
        moved, self._node = node != self._node, node
        self.standing.value = self._standing(run)
        first = (self._whole, "") if self._whole else (ROOT, ROOT)
        places = list(dict.fromkeys([first, *([(node, node)] if node in run.tree else [])]))
        for form in self.forms:
            if "node" in form.inputs:
                offer(form.inputs["node"], places, node if moved and not self._whole else None)


def notes_pane(desk: Desk) -> PeoplePane:
    """Return the analyst's notes and tags."""
    form = desk.form(
        Note,
        "Save note",
        fields=("text", "node", "tags", "untag"),
        choices={"node": [("the run", "")]},
        labels={"text": "note", "node": "about", "tags": "tags to set", "untag": "tags to take off"},
        # A note may be tags alone; of a driver too, whose id would else be taken for the text.
        blank=("text",),
        clears=("text", "tags", "untag"),
    )
    return PeoplePane(
        lambda run: panels.notes(run.state.annotations.notes, run.state.annotations.tags),
        [form],
        desk,
        whole="the run",
    )


def review_pane(desk: Desk) -> PeoplePane:
    """Return comments and sign-offs; a run that has no probability yet cannot be signed."""
    comment = desk.form(
        Comment,
        "Comment",
        fields=("node", "text", "author"),
        choices={"node": [ROOT]},
        labels={"node": "pinned to", "text": "comment for whoever reads this run", "author": "your name"},
        clears=("text",),
        tooltip="goes on record, and into the package",
    )
    sign = desk.form(
        SignOff,
        "Sign off",
        fields=("done", "author", "verdict"),
        choices={"done": [(words, key) for key, words in CHECKLIST.items()]},
        labels={"done": "checklist", "author": "your name"},
        needed=("author",),
        clears=("done",),
        tooltip="one hash over log, tree, comments and checklist",
    )

    def standing(run: RunView) -> str:
        sign.ask.disabled = not run.state.finished
        return panels.rendered("review", comments=run.state.annotations.comments, rows=run.sign_offs)

    return PeoplePane(standing, [comment, sign], desk)


def estimates_pane(desk: Desk) -> PeoplePane:
    """Return what people hold the claim and its drivers to be, beside the model's answer; no number of the run changes."""
    give = desk.form(
        Estimate,
        "Estimate",
        fields=("node", "p", "why", "author"),
        choices={"node": [ROOT]},
        labels={"node": "estimate of", "p": "probability, 0.4 or 40%", "author": "your name"},
        needed=("author", "p"),
        clears=("p", "why"),
        tooltip="beside the model's",
    )
    back = desk.form(
        Estimate,
        "Withdraw estimate",
        given=lambda: {
            "node": give.inputs["node"].value,
            "author": give.inputs["author"].value,
            "withdraw": True,
        },
    )
    return PeoplePane(
        lambda run: panels.rendered("estimates", rows=estimate_rows(run.state)), [give, back], desk
    )


def asking_pane(desk: Desk) -> Any:
    """Return what explains the answer at once, and a question for a model, which says its price first; nothing of the run changes."""
    explain = desk.form(
        Ask,
        "Explain answer",
        draw=_cited_answer,
        tooltip="why, what matters most, what changed; no model is asked",
    )
    ask = desk.form(
        Ask,
        "Ask a model",
        fields=("question", "model"),
        labels={"question": "a question for a model: what would make it 50%?"},
        needed=("question", "model"),
        draw=_cited_answer,
        tooltip="says the price first",
    )
    model = desk.run.state.settings.model
    ask.inputs["model"].value = "" if model == OFFLINE else model
    known = ask.given
    ask.given = lambda: {**known(), **_own_server(desk.run.state, ask.inputs["model"].value)}
    for form in (explain, ask):
        form.on_select = desk.edits.choose
    return box(ipywidgets.VBox, [explain, ask], "wb-asking")


def _own_server(state: RunState, model: str) -> dict[str, str]:
    """Return where the run asked its own model, which is asked there again; raises ``UsageError`` for a stranger's server."""
    if model.strip() != state.settings.model or not state.settings.api_base:
        return {}
    state.require_own_server()
    return {"api_base": state.settings.api_base}


def _cited_answer(document: Mapping[str, Any]) -> str:
    cost = "price unknown" if document["cost_usd"] is None else f"${document['cost_usd']:.4f}"
    who = f"{document['model']}, {cost}" if document["model"] else "no model was asked"
    return panels.rendered("cited_answer", answer=document, who=who)


def download_form(desk: Desk) -> OperationForm:
    """Return the form that has the browser save what ``workbench export`` writes, byte for byte, edits included."""

    def given() -> dict[str, str]:
        desk.edits.keeper.flush()
        return {}

    def save(document: Mapping[str, Any]) -> None:
        media = guess_type(_file(document))[0] or "application/octet-stream"
        form.answer.offer(_file(document), media, b64decode(document["content"]))

    form = desk.form(
        Export,
        "Download",
        given=given,
        fields=("to", "one_page"),
        choices={"to": _FORMS},
        labels={"to": "form of the file", "one_page": "note on one page"},
        done=save,
        draw=lambda document: panels.note(
            " ".join(
                [f"{_file(document)}, {3e-3 / 4 * len(document['content']):,.0f} kB.", *document["notes"]]
            )
        ),
        tooltip="as workbench export writes it",
    )
    return form


_FORMS = [
    ("note, HTML", "html"),
    ("note, PDF", "pdf"),
    ("note, Word", "docx"),
    ("note, Markdown", "md"),
    ("package for a reviewer", "zip"),
    ("tree, JSON", "json"),
    ("tree, CSV", "csv"),
]


def _file(document: Mapping[str, Any]) -> str:
    return f"{document['run_id']}.{document['format']}"


def resynthesis_form(desk: Desk) -> OperationForm:
    """Return the form that asks the synthesizer again about what lies above the edits, and keeps its rules among them.

    Nothing of an answer counts before the second question is agreed to; until then it comes again from the ledger.
    """
    keeper = desk.edits.keeper

    def given() -> dict[str, Any]:
        keeper.flush()
        return {"full": True, "scenario": keeper.name}

    def take_in(_document: object) -> None:
        keeper.open(keeper.name)
        desk.reread()

    return desk.form(
        WhatIf,
        "Ask again how drivers combine",
        given=given,
        later=True,
        done=take_in,
        draw=lambda _document: panels.note("The new rules are among your edits; Undo takes them back."),
        tooltip="full resynthesis of what lies above your edits; says the price first",
    )


class RegroundingPane(ipywidgets.VBox):  # type: ignore[misc]
    """Evidence for the selected driver again, or a failed one once more, in a process of its own; what the driver was before."""

    def __init__(self, desk: Desk) -> None:
        self._shown: tuple[NodeId, str] = (ROOT, "")
        self.earlier = html()
        self.again = desk.form(
            Reground,
            "Collect evidence again",
            given=lambda: {"node": self._shown[0], "detach": True},
            fields=("reason",),
            labels={"reason": "why again (goes on record)"},
            clears=("reason",),
            later=True,
            draw=lambda _document: panels.note("In work; the old value stands until the new is in."),
            tooltip="says the price first",
        )
        self.retry = desk.form(
            Resume,
            "Try again",
            given=lambda: {"leaf": [self._shown[0]], "detach": True},
            later=True,
            priced=True,
            draw=lambda _document: panels.note("In work."),
            tooltip="this one alone, and what follows above; says the price first",
        )
        super().__init__([self.earlier, self.again, self.retry], layout=look(ipywidgets.Layout))
        self.add_class("wb-regrounding")

    def show(self, run: RunView, node: NodeId) -> None:
        """Offer what can be done with a proposition as the log has it now."""
        known = node in run.tree
        status = run.state.node_status(node) if known else ""
        self.earlier.value = panels.rendered("earlier", rows=run.state.earlier.get(node, []) if known else [])
        if (node, status) != self._shown:
            # A try has ended or begun since, here or elsewhere.
            self._shown = (node, status)
            self.again.clear()
            self.retry.clear()
        self.again.offer_if(status == "grounded" and not run.tree[node].children)
        self.retry.offer_if(status == "failed")


#: What a step is called in the sentence above its text.
_KINDS = {
    "call": "make a data call",
    "page": "read a page",
    "run": "begin this analysis, which another program proposed",
}
_REPLACED = "\N{REPLACEMENT CHARACTER}"


class ApprovalPane(ipywidgets.VBox):  # type: ignore[misc]
    """The oldest step of a run that waits (``--approve``), or another one that is chosen: all of what would be sent, yes or no.

    Whoever answers first decides, here, on another page or at a terminal; the others are told what was decided and by whom.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._steps: dict[str, Undecided] = {}
        self._mine: set[str] = set()
        self._shown: str | None = None
        self.which = choice([], "step that waits")
        self.which.observe(lambda _change: self._show_step(), names=["value"])
        self.text, self.elsewhere = html(), html()
        self.yes = self._form("Yes", "author", {"yes": True}, "as it stands")
        self.no = self._form("No", "no", {}, "needs a reason")
        self._question = box(ipywidgets.VBox, [self.which, self.text, self.yes, self.no], "wb-question")
        super().__init__([self.elsewhere, self._question], layout=look(ipywidgets.Layout))
        self.add_class("wb-approving")
        self._show_or_hide()

    def _form(self, button: str, field: str, given: Mapping[str, Any], tooltip: str) -> OperationForm:
        return self._desk.form(
            Approve,
            button,
            given=lambda: {"step": str(self.which.value), **given},
            fields=(field,),
            labels={"author": "your name", "no": "reason, which the agent reads"},
            needed=("author", field),
            done=self._decided,
            tooltip=tooltip,
        )

    def _decided(self, document: Mapping[str, Any]) -> None:
        self._mine.add(document["step"])
        self.elsewhere.value = ""
        self._desk.reread()

    def show(self, state: RunState) -> None:
        """Bring it in step with the run's log: what waits now, and what was decided elsewhere since."""
        waiting = {step_name(event) for event in state.undecided.values()}
        if gone := [step for name, step in self._steps.items() if name not in waiting | self._mine]:
            self.elsewhere.value = panels.note(" ".join(_what_became(state, step) for step in gone))
        if waiting != self._steps.keys():
            with Store(self._desk.run.home) as store:
                self._steps = {step.name: step for step in undecided_steps(store, state)}
            oldest = next(iter(self._steps), None)
            offer(self.which, list(self._steps), self._shown if self._shown in self._steps else oldest)
            self._show_step()
        self._show_or_hide()

    def _show_or_hide(self) -> None:
        show_if(bool(self._steps), self._question)
        show_if(len(self._steps) > 1, self.which)
        show_if(bool(self._steps or self.elsewhere.value), self)

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
        self.no.inputs["no"].value = ""
        self.yes.clear()
        self.no.clear()


def _what_became(state: RunState, step: Undecided) -> str:
    decision = state.decided.get(approval_key(step.event))
    if decision is None:
        return f"{step.name} no longer waits: the run was stopped or taken up anew."
    why = f": {decision.reason}" if decision.reason else ""
    return f"{step.name} was answered by {decision.author}, {decision.verdict}{why}."
