"""Over-refusal is a fault too: what every endpoint answers at cutoffs near and far, of vendors with full histories.

``python -m tests.proxies.test_over_refusal`` prints the table.
"""

import functools
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.catalogue import Endpoint, load_catalogue
from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_world import SINGLE, World
from tests.proxies.worlds import NOW, REST, close_loop, in_loop, params_of, tell

pytestmark = pytest.mark.usefixtures("one_loop")
CUTOFFS = {"3 months": "2026-08-01", "2 years": "2024-11-01", "8 years": "2018-11-01"}
#: Every vendor has something from each of these moments, newest first: sixteen years, and some days before each cutoff.
MOMENTS = sorted(
    [NOW - timedelta(days=17 + 122 * n) for n in range(48)]
    + [Cutoff.parse(text).instant - timedelta(days=days, hours=7) for text in CUTOFFS.values() for days in (2, 5, 9, 100, 190, 400)],
    reverse=True,
)  # fmt: skip
ROWS = 10
#: Asked for by what names it, the vendor gives one row whatever its ``limit`` says.
ONE_THING = ("fmp/sec-filings/company-info/sec-profile", "fmp/earnings-transcripts/earning-call-transcript")


class Paged(World):
    """Vendors that give a list in pages: 10 rows, or as many as are asked for, at most 50."""

    def __init__(self, cutoff: datetime, endpoint: Endpoint) -> None:
        moments = list(MOMENTS)
        if endpoint.path in SINGLE:
            # one thing has one moment, the first that the world is given: it began long ago
            moments.reverse()
        elif endpoint.as_of.first:
            # a search ranks by its own account, and not by when its hits began
            moments = [MOMENTS[number * 29 % len(MOMENTS)] for number in range(len(MOMENTS))]
        super().__init__(cutoff, moments, [])
        self.endpoint = endpoint
        self.widest = 50
        # whether the vendor's lists end with the cutoff
        self.ends = False

    def answer(self, seen: Seen) -> Sent:
        page = self.endpoint.page
        # lists with cursors, which know no offset
        cursor = seen.query.get("after_cursor") or seen.query.get("cursor") or 0
        key = {"markets/keyset": "markets", "events/keyset": "events", "v2/trades": "data"}.get(
            self.endpoint.url
        )
        value = int(cursor or seen.query.get(page.param, 0) or 0) if page.style in ("page", "offset") else 0
        # the world itself knows no second page
        plain = {name: text for name, text in seen.query.items() if name not in ("page", "offset")}
        sent = super().answer(replace(seen, query=plain))
        listed = page.style in ("page", "offset", "limit") and self.endpoint.rows == "[]"
        window = self.endpoint.as_of.window
        # the world does not look at a window: where one is sent the vendor has no later rows to give
        listed = (
            listed
            and not (window and set(window.end) & seen.query.keys())
            and self.endpoint.path not in ONE_THING
        )
        if (
            not listed
            or not isinstance(sent.body, list)
            or not seen.path.endswith(self.endpoint.url.strip("/"))
        ):
            return sent
        asked = int(seen.query.get(page.size) or ROWS) if page.size else ROWS
        size = asked if page.style == "limit" else min(self.widest, asked)
        rows = [
            row for row in sent.body if not (self.ends and "latex0" in str(row) and "earlyx" not in str(row))
        ]
        rows = rows[::-1] if seen.query.get("ascending") == "true" else rows
        first = value if page.style == "offset" else value * size
        part = rows[first : first + size]
        beside = {"next_cursor": str(first + size)} if first + size < len(rows) else {}
        return Sent({key: part, "pagination": beside, **beside} if key else part)


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


def table() -> str:
    """What each source answers, then what is refused."""
    lines = [
        "| source | endpoints | "
        + " | ".join(f"answered {name} back" for name in CUTOFFS)
        + " | refused | with `--set max_residual=low` |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in [*dict.fromkeys(endpoint.source.name for endpoint in REST), ""]:
        own = [endpoint for endpoint in REST if name in ("", endpoint.source.name)]
        answered = [
            sum(verdicts(endpoint)[n].kind == "answered" for endpoint in own) for n in range(len(CUTOFFS))
        ]
        refused = sum(verdicts(endpoint)[0].kind == "refused" for endpoint in own)
        low = sum(e.as_of.residual in ("none", "low") and verdicts(e)[0].kind == "answered" for e in own)
        cells = [f"`{name}`" if name else "`all`", len(own), *answered, refused, low]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += ["", "| `refused` | why | instead |", "| --- | --- | --- |"]
    for endpoint in REST:
        words = dict.fromkeys(v.words for v in verdicts(endpoint) if v.kind == "refused")
        if words:
            present = endpoint.as_of.policy == "snapshot_refused"
            instead = f"`{endpoint.as_of.instead}`" if endpoint.as_of.instead else "nothing dated"
            lines.append(
                f"| `{endpoint.path}` | {'tells the present only' if present else '; '.join(words)} | {instead} |"
            )
    return "\n".join(lines)


@pytest.mark.long
def test_no_endpoint_is_empty_though_there_are_rows_of_before_the_cutoff() -> None:
    empty = [
        (e.path, text)
        for e in REST
        for text, v in zip(CUTOFFS, verdicts(e), strict=True)
        if v.kind == "empty"
    ]
    assert not empty


def test_what_is_refused_says_why_and_what_to_ask_for_instead() -> None:
    for endpoint in REST:
        said = verdict(endpoint.path, CUTOFFS["8 years"])
        assert said.kind != "refused" or ("use " in said.words or "there is no dated form" in said.words), (
            endpoint.path
        )


if __name__ == "__main__":
    try:
        print(table())
    finally:
        close_loop()
