"""The document of ``workbench quantity``: a series read through the broker at a cutoff, and forecast by the house's ensemble."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from workbench.backtests.series_source import read_quantity
from workbench.blocking import run_blocking
from workbench.environment import home_from, proxy_settings
from workbench.forecasts.ensemble import Ensemble
from workbench.questions.series.series_quantity import MOST, quantity_document


def quantity_at(
    series: str,
    day: date,
    cutoff: str,
    *,
    extremes: bool = False,
    past: int = MOST,
    environ: Mapping[str, str],
) -> dict[str, Any]:
    """Return the forecast of a series on a day, or of its extremes by then, with its record at ``past`` cutoffs.

    Raises `UsageError, ProxyError`: As of `read_quantity` and `quantity_document`.
    """
    instant = Cutoff.parse(cutoff)

    async def read() -> Any:
        broker = open_broker(proxy_settings(environ, home_from(environ), reader="person"))
        try:
            return await read_quantity(series, day, instant, broker, extremes=extremes)
        finally:
            await broker.aclose()

    quantity, later = run_blocking(read())
    return {
        "cutoff": cutoff,
        **quantity_document(quantity, Ensemble(), later=later, most=past),
    }
