"""Notes, comments, estimates, the sign-off and what a page gives to take away, as forms of a run's page."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ipywidgets

from workbench.annotations.entries import CHECKLIST
from workbench.annotations.estimates import estimate_rows
from workbench.engine.record.state import RunState
from workbench.errors import WorkbenchError
from workbench.models.model_options import OFFLINE
from workbench.operations.asking import Ask
from workbench.operations.base import Operation
from workbench.operations.people import Comment, Estimate, Note, SignOff
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.views.run_view import RunView
from workbench.widgets import panels
from workbench.widgets.fields import action, box, choice, look, offer
from workbench.widgets.html_panel import Panel
from workbench.widgets.operation_form import OperationForm


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What the forms about a run share: the run of now, who sits here, and what is read anew after each."""

    run: Callable[[], RunView]
    author: ipywidgets.Text
    reread: Callable[[], None]

    def form(
        self,
        operation: type[Operation],
        button: str,
        *,
        given: Callable[[], Mapping[str, Any]] = dict,
        **options: Any,
    ) -> OperationForm:
        """Return the form of an operation on the run; unless it says otherwise the page shows the document elsewhere."""
        form = OperationForm(
            operation,
            self.run().home,
            button,
            given=lambda: {"run": self.run().run_id, **given()},
            done=lambda _document: self.reread(),
            **{"more": False, "draw": lambda _document: "", **options},
        )
        if "author" in form.inputs:
            ipywidgets.link((self.author, "value"), (form.inputs["author"], "value"))
        return form


class PeoplePane(ipywidgets.VBox):  # type: ignore[misc]
    """What people said of a run, and forms to say more, about the claim or the selected driver.

    `whole`: what stands for the run as a whole, where something can be said of that too.
    """

    def __init__(
        self,
        standing: Callable[[RunView], str],
        forms: list[OperationForm],
        select: Callable[[str], None],
        *,
        whole: str = "",
    ) -> None:
        self._standing, self.forms, self._whole = standing, forms, whole
        self._node: NodeId = ROOT
        self.standing = Panel()
        self.standing.on_select = select
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


def notes_pane(desk: Desk, select: Callable[[str], None]) -> PeoplePane:
    """Return the analyst's notes and tags."""
    form = desk.form(
        Note,
        "Keep note",
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
        select,
        whole="the run",
    )


def review_pane(desk: Desk, select: Callable[[str], None]) -> PeoplePane:
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

    return PeoplePane(standing, [comment, sign], select)


def estimates_pane(desk: Desk, select: Callable[[str], None]) -> PeoplePane:
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
        "Take mine back",
        given=lambda: {
            "node": give.inputs["node"].value,
            "author": give.inputs["author"].value,
            "withdraw": True,
        },
        fields=(),
    )
    return PeoplePane(
        lambda run: panels.rendered("estimates", rows=estimate_rows(run.state)), [give, back], select
    )


def asking_pane(desk: Desk, select: Callable[[str], None]) -> Any:
    """Return what explains the answer at once, and a question for a model, which says its price first; nothing of the run changes."""
    explain = desk.form(
        Ask,
        "Explain answer",
        fields=(),
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
    model = desk.run().state.settings.model
    ask.inputs["model"].value = "" if model == OFFLINE else model
    known = ask.given
    ask.given = lambda: {**known(), **_own_server(desk.run().state, ask.inputs["model"].value)}
    for form in (explain, ask):
        form.answer.on_select = select
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


#: What can be chosen, the format of ``workbench export --to``, and the file's media type.
_FORMS = {
    "note, HTML": ("html", "text/html"),
    "note, PDF": ("pdf", "application/pdf"),
    "note on one page, PDF": ("pdf", "application/pdf"),
    "note, Word": ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "note, Markdown": ("md", "text/markdown"),
    "package for a reviewer": ("zip", "application/zip"),
    "tree, JSON": ("json", "application/json"),
    "tree, CSV": ("csv", "text/csv"),
}


class DownloadForm(ipywidgets.HBox):  # type: ignore[misc]
    """A choice of form and a button; the file is what ``workbench export`` writes, byte for byte.

    `before`: Called first: it writes edits that are not in the log yet.
    """

    def __init__(self, home: Path, run_id: str, before: Callable[[], None]) -> None:
        self._home, self._run_id, self._before = home, run_id, before
        self.form = choice(list(_FORMS), "form of the file")
        self.take = action("Download", self._take, tooltip="as workbench export writes it")
        self.said = Panel()
        super().__init__([self.form, self.take, self.said], layout=look(ipywidgets.Layout))
        self.add_class("wb-keeping")

    def _take(self) -> None:
        from workbench.packages.package import export_run

        suffix, media = _FORMS[str(self.form.value)]
        try:
            self._before()
            with Store(self._home) as store:
                data, notes = export_run(
                    store,
                    self._run_id,
                    suffix,
                    environ=os.environ,
                    one_page="one page" in str(self.form.value),
                )
        except WorkbenchError as error:
            self.said.value = panels.refusal(error)
            return
        name = f"{self._run_id}.{suffix}"
        self.said.offer(name, media, data)
        self.said.value = panels.note(" ".join([f"{name}, {len(data) / 1000:,.0f} kB.", *notes]))
