"""Notes, comments, the sign-off and what a page gives to take away, as forms of a run's page."""

import os
from collections.abc import Callable
from pathlib import Path

import ipywidgets

from workbench.annotations.entries import (
    CHECKLIST,
    add_comment,
    add_note,
    sign_off,
)
from workbench.errors import UsageError, WorkbenchError
from workbench.propositions import ROOT, NodeId
from workbench.store import Store
from workbench.views.run_view import RunView
from workbench.widgets import panels
from workbench.widgets.fields import action, box, choice, field, html, look, offer, plain_widget, tried
from workbench.widgets.html_panel import Panel


class NotesForm(ipywidgets.VBox):  # type: ignore[misc]
    """What was noted, and a row to note more: on the run, or on the selected proposition."""

    def __init__(self, author: Callable[[], str], noted: Callable[[], None]) -> None:
        self._author, self._noted = author, noted
        self._run: RunView | None = None
        self.node: NodeId = ROOT
        self.standing = html()
        self.line = html()
        self.text = field("note")
        self.tags = field("tags, with commas")
        self.tags.tooltip = "a tag with a minus before it is taken off"
        self.about = choice(["the run"], "what the note is about")
        self.keep = action("Keep note", self._keep)
        row = box(ipywidgets.HBox, [self.text, self.about, self.tags, self.keep], "wb-form-row")
        super().__init__([self.standing, row, self.line], layout=look(ipywidgets.Layout))

    def show(self, run: RunView, node: NodeId) -> None:
        """Show the notes of a run; a new one may be about it or about ``node``."""
        self._run, self.node = run, node
        said = run.state.annotations
        self.standing.value = panels.notes(said.notes, said.tags)
        options = ["the run", *([node] if node in run.tree else [])]
        offer(self.about, options)

    def _keep(self) -> None:
        run = self._run
        assert run is not None
        words = [word.strip() for word in self.tags.value.split(",") if word.strip()]
        node = None if self.about.value == "the run" else str(self.about.value)
        try:
            with Store(run.home) as store:
                if not (self.text.value.strip() or words):
                    raise UsageError("nothing to note: write a text or a tag")
                add_note(
                    store,
                    run.run_id,
                    self.text.value,
                    node=node,
                    tags=[word for word in words if not word.startswith("-")],
                    untagged=[word[1:] for word in words if word.startswith("-")],
                    author=self._author(),
                )
        # An exception in a widget's callback is seen by nobody.
        except WorkbenchError as error:
            self.line.value = panels.refusal(error)
            return
        self.line.value = self.text.value = self.tags.value = ""
        self._noted()


_VERDICTS = {"accept it": "accept", "return it": "return"}


class ReviewPane(ipywidgets.VBox):  # type: ignore[misc]
    """What reviewers said, a row for a comment, and the form that signs: what ``comment`` and ``sign-off`` do."""

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
        self.standing.value = panels.rendered(
            "review", comments=run.state.annotations.comments, rows=run.sign_offs
        )
        places = [each for each in dict.fromkeys([ROOT, node]) if each in run.tree]
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
        with Store(run.home) as store:
            add_comment(
                store,
                run.run_id,
                str(self.about.value),
                self.remark.value,
                author=self.name.value.strip(),
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
        with Store(run.home) as store:
            attested = sign_off(store, run.run_id, author=self.name.value, verdict=verdict, done=done)
        self.line.value = panels.note(f"Signed. What is attested has the hash {attested}.")
        # The next to sign ticks for themselves.
        for point in self.points.values():
            point.value = False
        self._reviewed()

    def _refuse(self, why: str) -> None:
        self.line.value = panels.refusal(why)


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
