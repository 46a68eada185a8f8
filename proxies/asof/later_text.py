"""Cut sentences that speak of a later day as past from pages and rules, whose own dates cannot be trusted.

A page may have been edited since the day it bears, and the edit names its own day. A day that is merely ahead (a meeting, a
deadline, a maturity) was known and is what a forecaster needs: such a sentence stays. Where the words leave it open the sentence
goes. Everything here is by rule and can only take away.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from proxies.asof.clock import Cutoff
from proxies.asof.edit_marks import later_edits
from proxies.asof.mentions import YEAR_IN_WORDS, Mention, mentions, plain
from proxies.asof.named_days import merely_names

LATER_PAGE = "the page speaks of a later day as past, or its address is dated later"

# every date of `mentions` holds a year, written in four digits or, after a sign or a quarter, in two
_YEARS = re.compile(
    r"(?P<epoch>\b1[4-9]\d{8}(?:\d{3})?\b)|" + YEAR_IN_WORDS + "|"
    r"(?:19|20)\d{2}|(?<=[-'’QqYy1-4])\d{2}\b|(?<=[QqYy1-4]\s)\d{2}\b|(?<=\sof\s)\d{2}\b"
    r"|(?<=\d[/.-]\d[/.-])\d{2}\b|(?<=\d[/.-]\d\d[/.-])\d{2}\b",
    re.IGNORECASE,
)
# the rules of a list's markets are one form filled in: of 500 descriptions most sentences are the same few
REPEATED = 4096
# the longest words before and after the year of a date
_BEFORE, _AFTER = 40, 24
# characters of a sentence in which it is asked whether a day is merely named; of a longer one it is not
_LONGEST = 600
_AGO = re.compile(r"\bupdated \d+ (?:minutes?|hours?|days?) ago\b", re.IGNORECASE)
# no sentence ends after "U.S.", "p.m." or "vs.", unless a word follows that begins one
_END = re.compile(
    r"(?<=[.!?])(?:(?<!\b[A-Z]\.)(?<!\.[A-Za-z]\.)(?<!\bvs\.)(?<!\bNo\.)(?<!\bDr\.)(?<!\bM[rs]\.)(?<!\bSt\.)(?<!\bSen\.)(?<!\bRep\.)(?<!\bGov\.)"
    r"|(?=[\"'”’)\]]?\s+(?:The|This|That|These|It|He|She|They|We|I|In|On|At|As|A|An|If|For|However|But|And|Otherwise|Resolves|Update|Edit)\b))"
    r"[\"'”’)\]]?\s+|(?<=[。！？])\s*|\n+"
)
_CLAUSE = re.compile(r"[;:]\s|,\s+(?!\d)|\s+[–—-]\s+|\s(?:but|while|after|although|because)\s", re.IGNORECASE)
# at most so long: a rule's "which ..., if ..." is a condition of all that follows
_ASIDE = re.compile(r",\s+(?:which|who|whom|whose|that)\b[^,;.!?]{1,120},(?=\s)", re.IGNORECASE)
_AHEAD = re.compile(
    r"\b(?:will|shall|would|may not|might|could|should|won['’]t|next|upcoming|ahead|due|until|till|by|before|through to|no later than|deadline|"
    r"scheduled?|schedules|slated|set (?:to|for)|on track|plans?|planning|planned|targets?|targeting|aims?|aiming|goals?|pledge[sd]?|commits? to|"
    r"matur(?:es?|ing|ity)|expires?|expiring|expiry|expiration|expects?|expecting|(?:is|are|was|were|be|been|widely) expected|forecasts?|"
    r"predicts?|predictions?|projects?|projected|projections?|estimates?|anticipates?|anticipated|outlook|guidance|preview|calendar|agenda|"
    r"proposed?|proposes|proposal|intends?|if|whether|resolves|meets on|begins on|starts on|ends on|closes on|takes effect|effective|"
    r"is to|are to|likely|odds|futures|election day|wird|werden|soll|bis)\b|\?\s*\Z",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:(?:was|were|has been|have been|had been)(?! (?:not )?(?:scheduled|expected|due|set|planned|slated|projected|forecast|proposed|to\b|likely))|"
    r"had|did|won|lost|rose|fell|grew|beat|missed|resolved|settled|defeated|became|died|resigned|happened|occurred|took place|ended|closed|"
    r"updated?|edited|correct(?:ed|ion)|clarif(?:ied|ication)|as of|since|results?|recap|last (?:week|month|year|night))\b",
    re.IGNORECASE,
)

#: No sentence with one of these looks back on its date for certain.
MAY_BE_AHEAD = re.compile(
    r"\b(?:will|would|shall|may|might|can|could|should|must|if|whether|unless|until|till|before|ahead|due|next|upcoming|expect\w*|schedul\w*|"
    r"plan(?:s|ned|ning)?|forecast\w*|predict\w*|project\w*|anticipat\w*|propos\w*|slated|set (?:to|for)|target\w*|aim\w*|to be|is to|are to|"
    r"matur\w*|expir\w*|deadline|likely|odds|chance|postponed|delayed|moved|booked|announced|agreed|intend\w*|outlook|estimat\w*)\b",
    re.IGNORECASE,
)
#: A verb in the past tense.
LOOKS_BACK = re.compile(
    r"\b(?!need|speed|feed|seed|exceed|proceed|indeed|hundred|united|red\b|fed\b|bed\b|led\b)[a-z]{2,}ed\b"
    r"|\b(?:was|were|had|did|won|lost|rose|fell|beat|became|took|came|made|said|went|grew|saw|led|held|met|struck|shrank|sank|broke|began|"
    r"drew|left|gave|kept|paid|sold|bought|stood|knew|told|thought)\b",
    re.IGNORECASE,
)


def cut_page(row: Any, cutoff: Cutoff, fields: tuple[str, ...]) -> tuple[Any, str | None]:
    """Cut later sentences from a row's texts; return the row and the reason to drop it whole, or None.

    Fields may lead through lists. A field ``url`` is an address, a field ``title`` speaks for the whole page. A text of which nothing
    is left reads like one that never was.
    """
    for name in fields:
        for text in _texts(row, name.split(".")):
            if _gives_away(name.rpartition(".")[2], text, cutoff):
                return row, LATER_PAGE
    bodies = [name.split(".") for name in fields if name.rpartition(".")[2] not in ("url", "title")]
    changed = row
    for parts in bodies:
        changed = _changed(changed, parts, cutoff)
    # of a page that says nothing else not even the title is told
    had, has = (any(text for parts in bodies for text in _texts(item, parts)) for item in (row, changed))
    if had and not has and len(bodies) < len(fields):
        return row, LATER_PAGE
    return changed, None


def _gives_away(kind: str, text: str, cutoff: Cutoff) -> bool:
    if kind == "url":
        return dated_later(text, cutoff)
    if kind == "title":
        return without_later(text, cutoff) != text.strip()
    return bool(_AGO.search(text))


def _texts(value: Any, parts: list[str]) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _texts(item, parts)
    elif parts and isinstance(value, dict):
        yield from _texts(value.get(parts[0]), parts[1:])
    elif not parts and isinstance(value, str):
        yield value


def _changed(value: Any, parts: list[str], cutoff: Cutoff) -> Any:
    if parts and isinstance(value, list):
        return [_changed(item, parts, cutoff) for item in value]
    if parts and isinstance(value, dict):
        return {**value, parts[0]: _changed(value.get(parts[0]), parts[1:], cutoff)}
    if isinstance(value, list):
        # an empty place would tell that something was written later
        return [
            item for item in (_changed(item, parts, cutoff) for item in value) if item is not None
        ] or None
    return (without_later(value, cutoff) or None) if isinstance(value, str) else value


def dated_later(address: str, cutoff: Cutoff) -> bool:
    """Whether an address holds a date after the cutoff, as those of news sites do."""
    last = cutoff.last_moment_day
    return any(mention.day > last for mention in mentions(plain(unquote(address))[0], address=True))


def without_later(text: str, cutoff: Cutoff) -> str:
    """Cut the sentences that speak of a later day as past, and the edits of a later day.

    Stripped in every case, so that nothing tells of a cut.
    """
    normalised, places = plain(text)
    last = cutoff.last_moment_day
    dates = dates_beside_later(normalised, last)
    if not dates:
        return text.strip()
    edits = list(later_edits(normalised, last, undated=False))
    out = []
    for start, first, end in sentences(normalised, dates):
        inside = [d for d in dates if start <= d.start < end and d.day > last]
        if any(block.start < first and start < block.end for block in edits):
            continue
        if all(speaks_ahead(normalised[start:first], d.start - start, d.end - start, cutoff) for d in inside):
            out.append(text[places[start] : places[end]])
    return "".join(out).strip()


def dates_beside_later(text: str, last: date) -> list[Mention]:
    """Return all dates of a text if one is after a day; else none."""
    matches = list(_YEARS.finditer(text))
    # most texts name no year of later: the search for dates takes a hundred times as long as this look
    if not any(
        match["epoch"] or match["words"] or _year_at(text, *match.span()) >= last.year for match in matches
    ):
        return []
    places = [match.span() for match in matches]
    dates = [
        replace(mention, start=start + mention.start, end=start + mention.end)
        for start, end in _around(text, places)
        for mention in _dates_in(text[start:end])
    ]
    return dates if any(mention.day > last for mention in dates) else []


def sentences(text: str, dates: Sequence[Mention]) -> Iterator[tuple[int, int, int]]:
    """Yield the sentences of a text as (start, end of its words, end); a full stop inside one of ``dates`` ends none."""
    start = 0
    for match in _END.finditer(text):
        if not any(d.start < match.end() and match.start() < d.end for d in dates):
            yield start, match.start(), match.end()
            start = match.end()
    if start < len(text):
        yield start, len(text), len(text)


def later_dates(text: str, cutoff: Cutoff) -> list[tuple[int, int]]:
    """Return the places of the dates after the cutoff in a text, as (start, end)."""
    last = cutoff.last_moment_day
    return [(mention.start, mention.end) for mention in mentions(text) if mention.day > last]


def _year_at(text: str, start: int, end: int) -> int:
    return int(text[start:end]) + (2000 if end - start == 2 else 0)


def _around(text: str, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in places:
        first, last = max(0, start - _BEFORE), min(len(text), end + _AFTER)
        while first > 0 and not text[first - 1].isspace():
            first -= 1
        while last < len(text) and not text[last].isspace():
            last += 1
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], last)
        else:
            out.append((first, last))
    return out


@lru_cache(maxsize=REPEATED)
def _dates_in(words: str) -> tuple[Mention, ...]:
    return tuple(mentions(words))


def speaks_ahead(sentence: str, start: int, end: int, cutoff: Cutoff) -> bool:
    """Whether a sentence with a later date may stay: it speaks of the future, or only names the day."""
    return is_ahead(sentence, start, end) or names_a_day(sentence, start, end, cutoff.last_moment_day)


@lru_cache(maxsize=REPEATED)
def names_a_day(sentence: str, start: int, end: int, last: date) -> bool:
    """Whether a sentence names a later date and can reveal nothing of it (`named_days`)."""
    if len(sentence) > _LONGEST:
        return False
    dates = _dates_in(sentence)
    named = next((mention for mention in dates if mention.start < end and start < mention.end), None)
    earlier = [mention for mention in dates if mention.day <= last]
    return named is not None and merely_names(sentence, named, earlier)


def without_clauses_beside(sentence: str, start: int, end: int) -> str:
    """Blank the clauses between commas that do not hold the date: "which will be replaced"."""
    return _ASIDE.sub(
        lambda match: match[0] if match.start() < end and start < match.end() else " " * len(match[0]),
        sentence,
    )


@lru_cache(maxsize=REPEATED)
def is_ahead(sentence: str, start: int, end: int) -> bool:
    """Whether a sentence treats the date as future, in the date's own clause or an earlier one."""
    sentence = without_clauses_beside(sentence, start, end)
    cuts = [m for m in _CLAUSE.finditer(sentence) if not (m.start() < end and start < m.end())]
    first = max((m.end() for m in cuts if m.end() <= start), default=0)
    last = min((m.start() for m in cuts if m.start() >= end), default=len(sentence))
    return bool(_AHEAD.search(sentence[:last])) and not _PAST.search(sentence[first:last])
