"""What a page gives to take away: the note in four forms, and the package a reviewer needs, as files the browser saves."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import ipywidgets

from workbench.errors import WorkbenchError
from workbench.store import Store
from workbench.widgets import panels
from workbench.widgets.fields import action, choice, look
from workbench.widgets.panel import Panel

#: What can be chosen, the format of ``workbench export --to``, and the file's media type.
_FORMS = {
    "note, HTML": ("html", "text/html"),
    "note, PDF": ("pdf", "application/pdf"),
    "note, Word": ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "note, Markdown": ("md", "text/markdown"),
    "package for a reviewer": ("zip", "application/zip"),
    "tree, JSON": ("json", "application/json"),
}


class TakingOut(ipywidgets.HBox):  # type: ignore[misc]
    """A choice of form and a button; the file is what ``workbench export`` writes, byte for byte.

    Parameters
    ----------
    home : Path
        The data folder.
    run_id : str
    before : callable
        Called first: it writes edits that are not in the log yet.
    """

    def __init__(self, home: Path, run_id: str, before: Callable[[], None]) -> None:
        self._home, self._run_id, self._before = home, run_id, before
        self.form = choice(list(_FORMS), "form of the file")
        self.take = action("Download", self._take, tooltip="as workbench export writes it")
        self.said = Panel()
        super().__init__([self.form, self.take, self.said], layout=look(ipywidgets.Layout))
        self.add_class("wb-keeping")

    def _take(self) -> None:
        from workbench.engine.evidence.package import export_run

        suffix, media = _FORMS[str(self.form.value)]
        try:
            self._before()
            with closing(Store(self._home)) as store:
                data, notes = export_run(store, self._run_id, suffix, environ=os.environ)
        except WorkbenchError as error:
            self.said.value = panels.refusal(str(error))
            return
        name = f"{self._run_id}.{suffix}"
        self.said.offer(name, media, data)
        self.said.value = panels.note(" ".join([f"{name}, {len(data) / 1000:,.0f} kB.", *notes]))
