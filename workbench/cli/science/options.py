"""What the science commands share: options, lists, and the forecasts of one method."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.science.arrays import FloatArray
    from workbench.science.tables import Events, Forecasts

EventsFile = Annotated[Path, typer.Option("--events", help="Events: CSV (gzip too) or parquet.")]
ForecastsFile = Annotated[Path, typer.Option("--forecasts", help="Forecasts: CSV (gzip too) or parquet.")]
Methods = Annotated[str, typer.Option("--method", help="Methods, by comma; all when not given.")]
Variant = Annotated[
    str, typer.Option("--variant", help="Which published forecast of a file that has several.")
]
Pool = Annotated[str, typer.Option("--pool", help="How trials are pooled.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the resampling.")]


def listed(text: str) -> list[str]:
    """Words separated by commas, in order, without repetition.

    Examples
    --------
    >>> listed("a, b,a")
    ['a', 'b']
    """
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def numbers(text: str, *, option: str) -> list[float]:
    """Numbers separated by commas.

    Examples
    --------
    >>> numbers("0,0.25", option="--risk-aversion")
    [0.0, 0.25]
    """
    try:
        found = [float(word) for word in listed(text)]
    except ValueError as wrong:
        raise UsageError(f"{option} wants numbers separated by commas, not {text!r}") from wrong
    if not found:
        raise UsageError(f"{option} wants at least one number")
    return found


def chosen_methods(asked: str, forecasts: "Forecasts") -> list[str]:
    """Methods asked for, or all of the file."""
    names = listed(asked)
    for name in names:
        if name.partition("@")[0] not in forecasts.methods:
            known = ", ".join(forecasts.methods)
            raise UsageError(f"{forecasts.path} has no method {name!r}; it has: {known}")
    return names or list(forecasts.methods)


def raw_values(forecasts: "Forecasts", method: str, variant: str) -> "FloatArray":
    """Trials (n, K) or published forecasts (n,) of a method; ``METHOD@VARIANT`` names another variant."""
    name, _, other = method.partition("@")
    if forecasts.keyed_by == "trial":
        return forecasts.trials(name)
    return forecasts.variant(name, other or variant)


def load(events: Path, forecasts: Path) -> "tuple[Events, Forecasts]":
    """Both files, checked against each other."""
    from workbench.science.tables import read_events, read_forecasts

    table = read_events(events)
    return table, read_forecasts(forecasts, table)


def show_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print aligned columns on stdout; numbers with 4 decimals, nothing for None."""

    def cell(value: Any) -> str:
        if value is None:
            return "-"
        return f"{value:.4f}" if isinstance(value, float) else str(value)

    text = [list(map(str, header)), *[[cell(value) for value in row] for row in rows]]
    widths = [max(len(row[i]) for row in text) for i in range(len(header))]
    for row in text:
        first, rest = (
            row[0].ljust(widths[0]),
            [value.rjust(width) for value, width in zip(row[1:], widths[1:], strict=True)],
        )
        typer.echo("  ".join([first, *rest]).rstrip())
