"""An answer of Yahoo's chart with bars at the moments of a test."""

from datetime import datetime
from typing import Any


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def chart(zone: str, kind: str, *stamps: str) -> dict[str, Any]:
    meta = {"exchangeTimezoneName": zone, "instrumentType": kind}
    quote = {"close": [float(n) for n in range(len(stamps))]}
    result = {"meta": meta, "timestamp": [at(text) for text in stamps], "indicators": {"quote": [quote]}}
    return {"chart": {"result": [result], "error": None}}
