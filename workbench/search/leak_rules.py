"""Filter results by rules (layer 2) that find words of after the cutoff, before a model is paid for reading them.

The same words were looked at by the broker (layer 1), which cuts single sentences. Here a result goes whole: what speaks of later
in one sentence was written later.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from proxies.asof.clock import Cutoff, end_of_day, parse_day, parse_instant
from proxies.asof.later_text import dated_later, late_words, stamped_later

if TYPE_CHECKING:
    from workbench.search.engines import Hit

_UTC = ZoneInfo("UTC")


def late_by_rule(hit: Hit, cutoff: Cutoff) -> str:
    """Explain why a result is later than the cutoff, for the audit; "" if no rule says so. An agent is never told."""
    if cutoff.live:
        return ""
    if not was_published(hit.published, cutoff):
        return "no date before the cutoff"
    if dated_later(hit.url, cutoff) or stamped_later(hit.url, cutoff):
        return "its address is of a later day"
    for part, text in (("title", hit.title), ("text", hit.text)):
        if late := late_words(text, cutoff):
            return f"{part}: {late}"
    return ""


def was_published(published: str, cutoff: Cutoff) -> bool:
    """Whether a day or an instant lies before the cutoff; a day counts from its end in New York or UTC, the later one."""
    day = parse_day(published)
    if day is not None:
        # a day alone is over at the latest when it is over in New York
        return cutoff.admits(end_of_day(day, ZoneInfo("America/New_York")))
    moment = parse_instant(published, _UTC)
    return moment is not None and cutoff.admits(moment + timedelta(microseconds=1))
