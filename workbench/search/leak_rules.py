"""Filter results by rules (layer 2) that find words of after the cutoff, before a model is paid for reading them.

The same words were looked at by the broker (layer 1), which cuts single sentences. Here a result goes whole: what speaks of later
in one sentence was written later.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from proxies.asof.clock import (
    Cutoff,
    end_of_day,
    parse_day,
    parse_instant,
)
from proxies.asof.later_text import (
    LOOKS_BACK,
    MAY_BE_AHEAD,
    dated_later,
    later_dates,
    names_a_day,
    without_later,
)

if TYPE_CHECKING:
    from workbench.search.engines import Hit

_UTC = ZoneInfo("UTC")
_RESOLVED = re.compile(
    r"\b(?:this|the) (?:question|market|contract)s? (?:has |was |is )?(?:now |been |already )*(?:resolved|settled)\b"
    r"|\bresolved (?:to |as )?(?:yes|no)\b(?! later)|\b(?:resolution|outcome): ?(?:yes|no)\b|\bwinning outcome\b",
    re.IGNORECASE,
)
_AGE = re.compile(
    r"\b(?:updated|published|posted|edited) (?:\d+|a few|an?) (?:minute|hour|day|week|month|year)s? ago\b",
    re.IGNORECASE,
)
# a reader's comment, a post, an edit, and the day it bears
_BYLINE = re.compile(
    r"(?<!to )\b(?:comments?|commented|posts?|posted|repl(?:y|ied)|wrote|writes|edited|revised|reader|user|review(?:ed)?|thread)\b[^.!?\n]{0,60}\Z",
    re.IGNORECASE,
)
# "is held", "are accepted": said of what is
_PASSIVE = re.compile(
    r"\b(?:is|are|be|being) (?:\w+ )?(?:\w+ed|held|made|sold|paid|met|kept|given|told|left)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
# an archive's or a program's stamp: 20240703120000, 1720000000
_DIGITS = re.compile(r"(?<!\d)(?:20\d{12}|1[5-9]\d{8})(?!\d)")


def late_by_rule(hit: Hit, cutoff: Cutoff) -> str:
    """Explain why a result is later than the cutoff, for the audit; "" if no rule says so. An agent is never told."""
    if cutoff.live:
        return ""
    if not was_published(hit.published, cutoff):
        return "no date before the cutoff"
    if dated_later(hit.url, cutoff) or _stamped_later(hit.url, cutoff):
        return "its address is of a later day"
    for part, text in (("title", hit.title), ("text", hit.text)):
        if late := late_words(text, cutoff):
            return f"{part}: {late}"
    return ""


def late_words(text: str, cutoff: Cutoff) -> str:
    """Explain what in a text is later than the cutoff; "" if nothing is."""
    if without_later(text, cutoff) != text.strip():
        return "speaks of a later day as past"
    if _dated_back(text, cutoff):
        return "looks back on a later day"
    if _RESOLVED.search(text):
        return "speaks of an outcome that is settled"
    if _AGE.search(text):
        return "tells an age that counts from today"
    return "holds a stamp of later" if _stamped_later(text, cutoff) else ""


def _dated_back(text: str, cutoff: Cutoff) -> bool:
    for start, _ in later_dates(text, cutoff):
        byline = _BYLINE.search(text[max(0, start - 100) : start])
        if byline and not MAY_BE_AHEAD.search(byline[0]):
            return True
    return any(
        LOOKS_BACK.search(_PASSIVE.sub(" ", sentence))
        and not MAY_BE_AHEAD.search(sentence)
        and not all(names_a_day(sentence, start, end, cutoff.last_moment_day) for start, end in dates)
        for sentence in _SENTENCE.split(text)
        if (dates := later_dates(sentence, cutoff))
    )


def was_published(published: str, cutoff: Cutoff) -> bool:
    """Whether a day or an instant lies before the cutoff; a day counts from its end in New York or UTC, the later one."""
    day = parse_day(published)
    if day is not None:
        # a day alone is over at the latest when it is over in New York
        return cutoff.admits(end_of_day(day, ZoneInfo("America/New_York")))
    moment = parse_instant(published, _UTC)
    return moment is not None and cutoff.admits(moment + timedelta(microseconds=1))


def _stamped_later(text: str, cutoff: Cutoff) -> bool:
    for match in _DIGITS.finditer(text):
        digits = match[0]
        if len(digits) == 10:
            if int(digits) >= cutoff.instant.timestamp():
                return True
        else:
            moment = parse_instant(
                f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{digits[8:10]}:{digits[10:12]}:{digits[12:14]}Z",
                _UTC,
            )
            if moment is not None and moment >= cutoff.instant:
                return True
    return False
