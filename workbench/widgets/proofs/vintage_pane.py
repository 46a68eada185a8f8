"""The vintage picker of the Evidence tab: the values of a series that a proof read, as they were known on a day of one's choice."""

from datetime import date
from typing import Any

import ipywidgets

from workbench.audit.vintages import publication_days, values_known
from workbench.errors import WorkbenchError
from workbench.propositions import NodeId
from workbench.store import Store
from workbench.views.run_view import RunView
from workbench.views.trail import revised_series
from workbench.widgets import panels
from workbench.widgets.fields import box, choice, offer, show_if
from workbench.widgets.html_panel import Panel

#: Periods in the table, the newest first.
MOST_SHOWN = 60


class VintagePane(ipywidgets.VBox):  # type: ignore[misc]
    """A choice of series and day, and the values known then beside those of the cutoff.

    All of it is in the answers on record, so nothing is asked of a vendor, and no day after the cutoff is offered.
    """

    def __init__(self) -> None:
        self._series: dict[str, list[Any]] = {}
        self.series = choice([], "series", "wb-long")
        self.day = choice([], "as known on")
        self.table = Panel()
        self.series.observe(lambda _change: self._offer_days(), names=["value"])
        self.day.observe(lambda _change: self._draw(), names=["value"])
        self._choices = box(ipywidgets.HBox, [self.series, self.day], "wb-keeping")
        self._choices.add_class("wb-labelled")
        super().__init__([self._choices, self.table])

    def show(self, run: RunView, node: NodeId) -> None:
        """Show the series of a proposition; one whose series came in one vintage each says so."""
        try:
            with Store(run.home) as store:
                self._series = revised_series(store, run.state, node)
        except WorkbenchError as error:  # a damaged database: the page shows the rest
            self._series = {}
            self.table.value = panels.refusal(error)
            return
        show_if(bool(self._series), self._choices)
        _offer_first(self.series, list(self._series))
        self._offer_days()

    def _offer_days(self) -> None:
        days = publication_days(self._series.get(str(self.series.value)))
        _offer_first(self.day, [day.isoformat() for day in days])
        self._draw()

    def _draw(self) -> None:
        rows = self._series.get(str(self.series.value))
        if not rows or not self.day.value:
            self.table.value = panels.note(
                "No series that it read came in several vintages: each value has been known since it was published, unrevised."
            )
            return
        known = values_known(rows, date.fromisoformat(str(self.day.value)))
        self.table.value = panels.rendered(
            "known_values", day=self.day.value, known=known[:MOST_SHOWN], more=max(0, len(known) - MOST_SHOWN)
        )


def _offer_first(dropdown: ipywidgets.Dropdown, options: list[str]) -> None:
    """Change what a choice offers; what was chosen stays where it still is among them, else the first is."""
    offer(dropdown, options, dropdown.value if dropdown.value in options else next(iter(options), None))
