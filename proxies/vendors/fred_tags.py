"""Restore FRED's lists of tags as of a day."""

from collections.abc import Mapping
from typing import Any


def pack_tags(data: Any, params: Mapping[str, Any]) -> Any:
    """Return the requested part of the tags of then, by name or in the requested order.

    FRED's own order is by how many series bear a tag today.
    """
    key = str(params.get("order_by") or "name")
    rows = sorted(data["tags"], key=lambda row: str(row.get("name")))
    rows.sort(key=lambda row: str(row.get(key)), reverse=params.get("sort_order") == "desc")
    first = int(params.get("offset") or 0)
    described = {"order_by": key, "sort_order": params.get("sort_order") or "asc"}
    described |= {name: params[name] for name in ("offset", "limit") if name in params}
    envelope = {name: described.get(name, item) for name, item in data.items()}
    return {**envelope, "tags": rows[first : first + int(params.get("limit") or len(rows))]}
