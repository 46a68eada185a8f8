"""What the net compares of a document: names of fields, numbers, flags, days and single words; no sentence, hash, time or path."""

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from proxies.asof.clock import Cutoff

#: Fields whose values are another time's or another machine's.
_OF_THE_MOMENT = re.compile(
    r"utc|seconds|wall|took|elapsed|age$|^at$|sha|hash|digest|fingerprint|pid|path$|folder|file|url|address|home|machine|platform"
    r"|python|bytes|size_|cpu|memory|version|isolation|started|finished|instant|resolved_on|reviewed|due$|expires|next|seq$|id$|^key$|^when$|^begun$|^last$|fetched|days_left|per_usd|^gain$|last_in|^number$|^workbench$"
)
_HEX = re.compile(r"(?:sha256:)?[0-9a-f]{8,}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
TODAY = datetime.now(UTC).date()


def values(document: Any, runs: Mapping[str, str]) -> Any:
    """Return the document without what may differ from run to run; ``runs`` are ids of runs and their names.

    Numbers keep nine digits, which another machine's last bits do not reach.
    """
    match document:
        case dict():
            # which of several dialogues side by side is the first with what they share
            passing = ("folded", "sent") if {"folded", "sent"} <= document.keys() else ()
            passing += ("installed",)  # versions of packages
            return {
                runs.get(name, name): "*" if name in passing or (_OF_THE_MOMENT.search(name) and not isinstance(item, dict | list)) else values(item, runs)
                for name, item in document.items()
            }  # fmt: skip
        case list():
            found = [values(item, runs) for item in document]
            # leaves that are grounded side by side end in any order
            by_node = bool(found) and all(isinstance(item, dict) and "node" in item for item in found)
            return sorted(found, key=lambda item: json.dumps(item, sort_keys=True)) if by_node else found
        case float() if not math.isfinite(document):
            return str(document)
        case float():
            return float(f"{document:.9g}")
        case str():
            return _word(runs.get(document, document))
        case _:
            return document


def _word(text: str) -> str:
    # today, or one and five years ago as `source add` shows
    if _DAY.fullmatch(text) and text[4:] == f"{TODAY:-%m-%d}" and TODAY.year - int(text[:4]) in (0, 1, 5):
        return f"today, {TODAY.year - int(text[:4])} years ago"
    # how far a record of closes may reach: the last day that is over in New York, five hours after ours is
    if text == f"{Cutoff.parse('now').last_visible_day}":
        return "yesterday"
    single = len(text) <= 60 and not re.search(r"\s|/", text)
    return text if (single and not _HEX.search(text)) or _DAY.fullmatch(text) else "*"


def differences(recorded: Any, now: Any, place: str = "") -> list[str]:
    """Return what of the recorded values is not there now, a line each; a field that only ``now`` has is none."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        return [
            line
            for name, item in recorded.items()
            for line in (
                differences(item, now[name], f"{place}/{name}")
                if name in now
                else [f"{place}/{name} is gone"]
            )
        ]
    if isinstance(recorded, list) and isinstance(now, list):
        if len(recorded) != len(now):
            return [f"{place} had {len(recorded)} entries and has {len(now)}"]
        return [
            line
            for number, (old, new) in enumerate(zip(recorded, now, strict=True))
            for line in differences(old, new, f"{place}/{number}")
        ]
    return (
        [] if recorded == now and type(recorded) is type(now) else [f"{place}: was {recorded!r}, is {now!r}"]
    )
