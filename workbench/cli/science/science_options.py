"""What commands over forecasts of sets share: options, and lists of words."""

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import unlisted

ForecastsFile = Annotated[Path, typer.Option("--forecasts", help="Forecasts: CSV (gzip too) or parquet.")]
QuantilesFile = Annotated[
    Path,
    typer.Option(
        "--quantiles", help="Forecasts of numbers: method, event_id, share, value; CSV (gzip too) or parquet."
    ),
]
Methods = Annotated[str, typer.Option("--method", help="Methods, by comma; all when not given.")]
Variant = Annotated[str, unlisted("--variant", help="Which published forecast of a file that has several.")]


def listed(text: str) -> list[str]:
    """Words separated by commas, in order, without repetition.

    >>> listed("a, b,a")
    ['a', 'b']
    """
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
