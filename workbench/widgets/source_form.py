"""Adding data of one's own on the first page: what cutoffs would see of a file is shown, and copied at the second click."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ipywidgets

from workbench.blocking import run_blocking
from workbench.errors import WorkbenchError
from workbench.operations.sources import preview_lines
from workbench.sources.new_source import NewSource
from workbench.sources.own_store import store_source
from workbench.sources.source_origin import open_source
from workbench.store.home_folder import require_writable
from workbench.widgets import panels
from workbench.widgets.fields import action, box, choice, field, html, tried

#: What a person picks, and the option that it is; the field beside it takes the option's value.
POLICIES = {
    "known so long after its date": "lag",
    "known from a column": "known",
    "a column of revisions": "vintage",
    "a file of releases": "releases",
    "known always (static)": "static",
}


class SourceForm(ipywidgets.VBox):  # type: ignore[misc]
    """Name, file, date column and policy of a new source; nothing is stored before its preview was shown.

    `added`: Called once a source was stored, so that the list beside is read anew.
    """

    def __init__(self, home: Path, added: Any) -> None:
        self._home, self._added = home, added
        self._shown: NewSource | None = None
        self.name = field("name, such as orders")
        self.where = field("file on this machine: CSV, Parquet, Excel, Feather")
        self.date = field("date column")
        self.policy = choice(list(POLICIES), "when a row was known")
        self.said = field("how long (10d), which column, or which file")
        self.value = field("value column, where there are several")
        self.unit = field("unit", "wb-short")
        self.look_at = action(
            "Show what cutoffs see",
            tried(self._look, self._refuse),
            tooltip="reads the file; nothing is stored",
        )
        self.add = action("Add", self._add)
        self.add.disabled = True
        self.line = html()
        fields = (self.name, self.where, self.date, self.policy, self.said, self.value, self.unit)
        for each in fields:
            each.observe(self._forget, names=["value"])
        super().__init__([box(ipywidgets.HBox, [*fields, self.look_at, self.add], "wb-keeping"), self.line])

    def _forget(self, _change: Any = None) -> None:
        self._shown, self.add.disabled = None, True

    def _refuse(self, why: str) -> None:
        self.line.value = panels.refusal(why)

    def _look(self) -> None:
        require_writable(self._home)  # else whoever sees the page could read any file of this machine
        option, said = POLICIES[str(self.policy.value)], str(self.said.value).strip()
        options: dict[str, Any] = {
            "date": str(self.date.value).strip(),
            "value": str(self.value.value).strip(),
            "unit": str(self.unit.value).strip(),
            option: {"static": True, "releases": Path(said).expanduser() if said else ""}.get(option, said),
        }
        where = Path(str(self.where.value).strip())
        try:
            # no address of a database: its password's variable would be the server's
            self._shown = run_blocking(
                open_source(self._home, str(self.name.value).strip(), where, options, environ={})
            )
        except WorkbenchError as error:
            self._forget()
            self.line.value = panels.refusal(error)
            return
        self.add.disabled = False
        self.line.value = "".join(map(panels.note, preview_lines(self._shown.preview(datetime.now(UTC)))))

    def _add(self) -> None:
        if self._shown is None:
            return
        try:
            stored = store_source(self._home, self._shown)
        except WorkbenchError as error:
            self.line.value = panels.refusal(error)
            return
        self._forget()
        self.line.value = panels.note(f"Added. In claims it is own:{stored.name}, in calls {stored.path}.")
        self._added()
