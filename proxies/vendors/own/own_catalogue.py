"""Catalogue rows of the user's own sources, made from their manifests when a broker opens."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from proxies.vendors.own.own_manifest import KNOWN, MOST_ROWS, OwnManifest, Reader, own_sources

#: The one source of all own data in the catalogue; no file of endpoints may take this name.
OWN = "own"


@dataclass(frozen=True, slots=True)
class OwnCatalogue:
    """The catalogue file of a data folder's own sources, "" without any, and why some are not in it: ``(path, reason)``."""

    text: str = ""
    withheld: tuple[tuple[str, str], ...] = ()


def own_catalogue(folder: Path | None, reader: Reader, instant: datetime | None = None) -> OwnCatalogue:
    """Return the catalogue of a data folder's own sources, as one reader may see it. Raises as `own_sources`."""
    sources = own_sources(folder, instant)
    hidden = {name: item for name, item in sources.items() if reader == "model" and item.share == "none"}
    shown = [own_endpoint(item) for name, item in sources.items() if name not in hidden]
    reasons = tuple(
        (
            item.path,
            f"{item.path} is withheld: {name} was added with --share none, so no language model may see it",
        )
        for name, item in hidden.items()
    )
    if not shown:
        return OwnCatalogue(withheld=reasons)
    document = {
        "source": OWN,
        "title": "Own data",
        "about": "Data that this workbench's owner added; nobody else has them.",
        "endpoints": shown,
    }
    # JSON is YAML, and is read as such beside the shipped files
    return OwnCatalogue(text=orjson.dumps(document).decode(), withheld=reasons)


def own_endpoint(item: OwnManifest) -> dict[str, Any]:
    """Return the catalogue row of a source's rows; what a caller may ask, and what comes back.

    The path is ``own/NAME/rows``. Parameters, none of them needed:

    - ``column``: one column; rows are then ``{"date", "value"}``, as the embedded series have them. Without it a row is
      ``{"date", COLUMN: ..., ...}``, with every column under its own name.
    - ``start``, ``end``: first and last date (a day, or an instant where the dates have times), both included.
    - ``by``: one value of the column that tells rows of one date apart (only where the source has such a column).
    - ``known_by``: as known at an earlier instant than the cutoff.
    - ``limit``: the newest so many rows.

    Rows come oldest first; of a source with vintages each date once, as it was known. A date is ``YYYY-MM-DD``, or an instant in
    UTC with a Z.
    """
    names = [column.name for column in item.columns]
    kind = "date" if item.grain == "day" else "instant"
    params: dict[str, Any] = {
        "column": {"choices": names, "about": f"one column, told as value{f' (the series is {item.value})' if item.value else ''}"},
        "start": {"type": kind, "about": "first date"},
        "end": {"type": kind, "about": "last date"},
        "limit": {"type": "integer", "low": 1, "high": MOST_ROWS, "about": "the newest so many rows"},
    }  # fmt: skip
    if item.value:
        params["column"] |= {"example": item.value, "shown": True}
    if item.by:
        params["by"] = {"about": f"one value of {item.by}"}
    as_of: dict[str, Any] = {"policy": "static", "residual": item.residual}
    if item.policy.kind != "static":
        params["known_by"] = {"type": "instant", "about": "as known at an earlier instant"}
        as_of = {
            "policy": "publication_date",
            "residual": item.residual,
            "stamp": {"field": KNOWN, "zone": "UTC", "grain": "end"},
            "window": {"end": ["known_by"], "unit": "instant"},
            "drop": [KNOWN],
            "guards": ["clamp_params", "strip"],
        }
    unit = f" ({item.unit})" if item.unit else ""
    return {
        "path": item.path,
        "call": "LOCAL",
        "group": ["Own data"],
        "about": f"Own data {item.name}{unit}: {', '.join(names)[:200]}; {item.frequency or 'dated rows'}.",
        "caution": f"{item.policy.words()[:1].upper()}{item.policy.words()[1:]}.",
        "params": params,
        "rows": "[]",
        "fields": {"date": "", "value": "of the column asked for"} | dict.fromkeys(names, ""),
        "as_of": as_of,
    }
