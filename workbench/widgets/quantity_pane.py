"""The first page's form for a series: its value on a day, or its highest and lowest until then, as quantiles and a fan."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import ipywidgets

from proxies.errors import ProxyError
from workbench.errors import UsageError
from workbench.operations.base import Home, answered
from workbench.operations.quantity import Quantity
from workbench.views.fan_chart import fan_svg, fan_words
from workbench.widgets.background import Background
from workbench.widgets.fields import action, box, choice, field, look
from workbench.widgets.html_panel import Panel
from workbench.widgets.page_terms import on_page
from workbench.widgets.panels import note, refusal, rendered

_STATISTICS = {"its value on the day": False, "its highest and lowest until then": True}


class QuantityPane(ipywidgets.VBox):  # type: ignore[misc]
    """What `workbench quantity` prints, asked for on the page: series, day and cutoff go in, the forecast stands below."""

    def __init__(self, environ: Mapping[str, str], *, cutoff: str = "now") -> None:
        self._environ = environ
        self.series = field("series: VIX, Bitcoin, yahoo:AAPL")
        self.day = field("day, YYYY-MM-DD")
        self.cutoff = field("its cutoff: date or now", "wb-cutoff")
        self.cutoff.value = cutoff
        self.statistic = choice(list(_STATISTICS), "what is forecast of it")
        self.forecast = action("Forecast", self.ask, tooltip="quantiles, with how such forecasts did before")
        self.answer = Panel()
        self.work = Background(self._refuse)
        row = box(
            ipywidgets.HBox, [self.series, self.statistic, self.day, self.cutoff, self.forecast], "wb-keeping"
        )
        super().__init__([row, self.answer], layout=look(ipywidgets.Layout))

    def ask(self) -> None:
        """Forecast what the fields say; the page goes on answering meanwhile."""
        series, extremes = self.series.value.strip(), _STATISTICS[self.statistic.value]
        cutoff = self.cutoff.value.strip() or "now"
        try:
            day = date.fromisoformat(self.day.value.strip() if series else "")
        except ValueError:
            self._refuse("name a series and a day, such as VIX and 2018-12-31")
            return

        def document() -> dict[str, Any]:
            asked = Quantity.read({"series": series, "by" if extremes else "on": day, "cutoff": cutoff})
            try:
                forecast: dict[str, Any] = answered(asked, Home.of(self._environ))
            except ProxyError as problem:
                raise UsageError(on_page(problem)) from None
            return forecast

        if not self.work.busy:
            self.answer.value = note("Forecasting, here and at past cutoffs ...")
        self.work.start(document, self._show)

    def _show(self, document: dict[str, Any]) -> None:
        self.answer.value = quantity_html(document)

    def _refuse(self, line: str) -> None:
        self.answer.value = refusal(line)


def quantity_html(document: Mapping[str, Any]) -> str:
    """Return the document of `workbench quantity` as HTML: how far to trust it, the fan, quantiles, levels with one chance in so many."""
    shares = next(iter(document["quantiles"].values()))
    return rendered(
        "quantity", document=document, shares=shares, chart=fan_svg(document), words=fan_words(document)
    )
