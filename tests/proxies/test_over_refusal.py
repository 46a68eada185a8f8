"""Over-refusal is a fault too: what every endpoint answers at cutoffs near and far, of vendors with full histories.

``python -m tests.proxies.test_over_refusal`` writes the table of docs/data.md anew.
"""

import functools
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.catalogue import Endpoint, load_catalogue
from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_world import World
from tests.proxies.worlds import NOW, REST, close_loop, in_loop, params_of, tell

DOCS = Path(__file__).resolve().parents[2] / "docs" / "data.md"
START, END = "<!-- over-refusal: python -m tests.proxies.test_over_refusal -->\n", "\n<!-- end of over-refusal -->"
CUTOFFS = {"3 months": "2026-08-01", "2 years": "2024-11-01", "8 years": "2018-11-01"}
#: Every vendor has something from each of these moments, newest first: sixteen years, and some days before each cutoff.
MOMENTS = sorted(
    [NOW - timedelta(days=17 + 61 * n) for n in range(96)]
    + [Cutoff.parse(text).instant - timedelta(days=days, hours=7) for text in CUTOFFS.values() for days in (2, 5, 9, 100, 190, 400)],
    reverse=True,
)  # fmt: skip
ROWS = 20


class Paged(World):
    """Vendors that give a list in pages: 20 rows, or as many as are asked for, at most 50."""

    def __init__(self, cutoff: datetime, endpoint: Endpoint) -> None:
        super().__init__(cutoff, list(MOMENTS), [])
        self.endpoint = endpoint

    def answer(self, seen: Seen) -> Sent:
        page = self.endpoint.page
        value = int(seen.query.get(page.param, 0) or 0) if page.style in ("page", "offset") else 0
        # the world itself knows no second page
        plain = {name: text for name, text in seen.query.items() if name not in ("page", "offset")}
        sent = super().answer(replace(seen, query=plain))
        listed = page.style in ("page", "offset", "limit") and self.endpoint.rows == "[]"
        if not listed or not isinstance(sent.body, list) or not seen.path.endswith(self.endpoint.url.strip("/")):
            return sent
        asked = int(seen.query.get(page.size) or ROWS) if page.size else ROWS
        size = asked if page.style == "limit" else min(50, asked)
        rows = sent.body[::-1] if seen.query.get("ascending") == "true" else sent.body
        first = value if page.style == "offset" else value * size
        return Sent(rows[first : first + size])


@dataclass(frozen=True)
class Verdict:
    """What came of one call: ``answered``, ``refused`` with its words, or ``empty`` though there are rows of before the cutoff."""

    kind: str
    words: str = ""


def request(endpoint: Endpoint, cutoff: Cutoff, world: World) -> dict[str, Any]:
    """The documented example, over a window that ends after the cutoff."""
    params = params_of(endpoint, world)
    window = endpoint.as_of.window
    known = next(m for m in MOMENTS if m < cutoff.instant - timedelta(days=3))
    if endpoint.as_of.policy == "request_point" and window is not None:
        params[window.at] = known.date().isoformat()
    if endpoint.as_of.policy == "window_end" and window is not None:
        params[window.text] = "today 12-m"
    if "release" in params:
        params["release"] = known.strftime("%Y-%m")
    return params


@functools.cache
def verdict(path: str, cutoff_text: str) -> Verdict:
    endpoint, cutoff = load_catalogue().resolve(path), Cutoff.parse(cutoff_text)
    world = Paged(cutoff.instant, endpoint)
    outcome = in_loop(tell(endpoint, cutoff, world, request(endpoint, cutoff, world)))
    if outcome.answer is None:
        return Verdict("refused", str(outcome.refused))
    text = outcome.text()
    told = not world.early or any(token in text for token in world.early)
    return Verdict("answered" if told else "empty")


def verdicts(endpoint: Endpoint) -> list[Verdict]:
    return [verdict(endpoint.path, text) for text in CUTOFFS.values()]


def instead(endpoint: Endpoint) -> str:
    return f"`{endpoint.as_of.instead}`" if endpoint.as_of.instead else "nothing dated"


def table() -> str:
    """The table by source, and what is refused."""
    heads = [f"{name} back" for name in CUTOFFS]
    lines = [
        f"| source | endpoints | {' | '.join(heads)} | of these with `--max-residual low` |",
        "| --- | --- |" + " --- |" * (len(heads) + 1),
    ]
    total: Counter[str] = Counter()
    names = dict.fromkeys(endpoint.source.name for endpoint in REST)
    for name in [*names, ""]:
        own = [endpoint for endpoint in REST if not name or endpoint.source.name == name]
        cells = []
        for number in range(len(heads)):
            kinds = Counter(verdicts(endpoint)[number].kind for endpoint in own)
            cells.append(f"{kinds['answered']} answered, {kinds['refused']} refused, {kinds['empty']} empty")
        low = sum(e.as_of.residual in ("none", "low") and verdicts(e)[0].kind == "answered" for e in own)
        lines.append(f"| {f'`{name}`' if name else 'all'} | {len(own)} | {' | '.join(cells)} | {low} |")
    assert not total["empty"]
    refused = [endpoint for endpoint in REST if any(v.kind == "refused" for v in verdicts(endpoint))]
    lines += ["", "| refused | why | instead |", "| --- | --- | --- |"]
    for endpoint in refused:
        lines.append(f"| `{endpoint.path}` | {why(endpoint)} | {instead(endpoint)} |")
    return "\n".join(lines)


def why(endpoint: Endpoint) -> str:
    if endpoint.as_of.policy == "snapshot_refused":
        return "tells the present only"
    return "; ".join(dict.fromkeys(v.words for v in verdicts(endpoint) if v.kind == "refused"))


if __name__ == "__main__":
    try:
        print(table())
    finally:
        close_loop()
