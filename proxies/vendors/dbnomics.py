"""Unpack and pack DBnomics' lists and series."""

from typing import Any

from proxies.json_text import Fields


def unpack_docs(payload: Any, params: Fields) -> Any:
    """Bring DBnomics' lists into one form: upstream they are bare, under ``docs``, or an object of lists."""
    out = {}
    for name, value in payload.items():
        if name in ("datasets", "results", "providers"):
            docs = value.get("docs") if isinstance(value, dict) else value
            if isinstance(docs, dict):
                docs = [
                    doc
                    for listed in docs.values()
                    for doc in (listed if isinstance(listed, list) else [listed])
                ]
            out[name] = {"docs": docs or []}
    return out


def unpack_dbnomics(payload: Any, params: Fields) -> Any:
    """Unpack DBnomics series into one row per period, each with the series' frequency."""
    docs = []
    for doc in (payload.get("series") or {}).get("docs") or []:
        starts = doc.get("period_start_day") or []
        columns = {
            name: doc[name]
            for name in ("period", "period_start_day", "value")
            if len(doc.get(name) or ()) == len(starts)
        }
        frequency = str(doc.get("@frequency") or "")
        rows = [
            {"@frequency": frequency} | {name: column[place] for name, column in columns.items()}
            for place in range(len(starts))
        ]
        described = {
            k: doc[k]
            for k in (
                "@frequency",
                "provider_code",
                "dataset_code",
                "dataset_name",
                "series_code",
                "series_name",
                "dimensions",
            )
            if k in doc
        }
        docs.append({**described, "rows": rows})
    return {"series": {"docs": docs}}


def pack_dbnomics(data: Any, params: Fields) -> Any:
    """Pack DBnomics series in the upstream's shape, with recomputed totals."""
    docs = []
    for doc in data["series"]["docs"]:
        rows = doc["rows"]
        described = {k: v for k, v in doc.items() if k != "rows"}
        docs.append(
            described
            | {name: [row.get(name) for row in rows] for name in ("period", "period_start_day", "value")}
        )
    return {
        "series": {
            "docs": docs,
            "num_found": len(docs),
            "limit": len(docs),
            "offset": int(params.get("offset") or 0),
        }
    }
