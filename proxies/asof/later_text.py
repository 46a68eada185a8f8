"""Sentences that speak of a later day as past: cut from the texts of pages and rules, whose stated dates cannot be trusted.

A page may have been edited since the day it bears, and the edit names its own day. A day that is merely ahead (a meeting, a
deadline, a maturity) was known and is what a forecaster needs: such a sentence stays. Where the words leave it open the sentence
goes. Everything here is by rule and can only take away.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from proxies.asof.clock import Cutoff

LATER_PAGE = "the page speaks of a later day as past, or its address is dated later"

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan januar janvier enero gennaio janeiro januari", "february feb februar février fevrier febrero febbraio fevereiro februari",
         "march mar märz maerz mars marzo março marco maart", "april apr avril abril aprile", "may mai mayo maggio maio mei",
         "june jun juni juin junio giugno junho", "july jul juli juillet julio luglio julho", "august aug août aout agosto augustus",
         "september sep sept septembre septiembre settembre setembro", "october oct oktober okt octobre octubre ottobre outubro",
         "november nov novembre noviembre novembro", "december dec dezember dez décembre decembre diciembre dicembre dezembro"), start=1,
    )
    for name in names.split()
}  # fmt: skip
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_YEAR = r"(?:19|20)\d{2}"
_DATES = re.compile(
    rf"(?<![\d.,])(?P<y_a>{_YEAR})(?P<sep>[-/.])(?P<m_a>\d{{1,2}})(?P=sep)(?P<d_a>\d{{1,2}})(?!\d)"
    rf"|(?<!\d)(?P<y_b>{_YEAR})(?P<m_b>\d{{2}})(?P<d_b>\d{{2}})(?!\d)"
    rf"|\b(?P<n_c>{_NAME})\.?\s+(?P<d_c>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y_c>{_YEAR})\b"
    rf"|\b(?P<d_d>\d{{1,2}})(?:st|nd|rd|th|\.|er|º)?\s+(?:of\s+|de\s+)?(?P<n_d>{_NAME})\.?,?\s+(?:de\s+|del\s+)?(?P<y_d>{_YEAR})\b"
    rf"|\b(?P<y_e>{_YEAR})\s+(?P<n_e>{_NAME})\b(?:\s+(?P<d_e>\d{{1,2}})\b)?"
    rf"|\b(?P<n_f>{_NAME})\.?,?\s+(?:of\s+|de\s+)?(?P<y_f>{_YEAR})\b"
    rf"|\b(?P<n_g>{_NAME})\.?\s?[-'’](?P<z_g>\d{{2}})\b(?![-/])"
    rf"|\b(?P<a_h>\d{{1,2}})[/.](?P<b_h>\d{{1,2}})[/.](?P<y_h>{_YEAR})\b"
    rf"|(?<![\d.,])(?P<y_i>{_YEAR})[-/](?P<m_i>0[1-9]|1[0-2])(?![\d])"
    rf"|\bQ(?P<q_j>[1-4])\s*(?:of\s+)?(?:FY\s?)?(?:(?P<y_j>{_YEAR})\b|['’]?(?P<z_j>\d{{2}})\b(?!\s*%))"
    rf"|\b(?P<q_k>[1-4])Q\s*['’]?(?:(?P<y_k>{_YEAR})|(?P<z_k>\d{{2}}))\b"
    rf"|\b(?P<y_l>{_YEAR})[\s-]?Q(?P<q_l>[1-4])\b"
    rf"|\bH(?P<h_m>[12])\s*(?:of\s+)?['’]?(?P<y_m>{_YEAR})\b"
    rf"|\b(?P<o_n>first|second|third|fourth|1st|2nd|3rd|4th)[\s-]quarter(?:\s+of)?(?:\s+fiscal)?\s+(?P<y_n>{_YEAR})\b"
    rf"|\b(?P<s_o>spring|summer|autumn|fall|winter)\s+(?:of\s+)?(?P<y_o>{_YEAR})\b"
    rf"|(?<![\d$€£#.,/=_-])\b(?P<y_p>{_YEAR})\b(?!\s*(?:%|percent|dollars|points|shares|people|units|[kK]m\b))(?![,.]?\d)",
    re.IGNORECASE,
)
# every date above holds a year, written in four digits or, after a sign or a quarter, in two
_YEARS = re.compile(
    r"(?:19|20)\d{2}|(?<=[-'’QqYy1-4])\d{2}\b|(?<=[QqYy1-4]\s)\d{2}\b|(?<=\sof\s)\d{2}\b", re.IGNORECASE
)
# the rules of a list's markets are one form filled in: of 500 descriptions most sentences are the same few
_REPEATED = 4096
# the longest words before and after the year of a date
_BEFORE, _AFTER = 40, 24
_ADDRESS = re.compile(
    rf"(?<!\d)(?P<y_a>{_YEAR})(?P<sep>[-/._])(?P<m_a>0?[1-9]|1[0-2])(?P=sep)(?P<d_a>0?[1-9]|[12]\d|3[01])(?!\d)"
    rf"|(?<!\d)(?P<y_b>{_YEAR})(?P<m_b>0[1-9]|1[0-2])(?P<d_b>0[1-9]|[12]\d|3[01])(?!\d)"
    rf"|(?<=/)(?P<y_i>{_YEAR})[-/](?P<m_i>0?[1-9]|1[0-2])(?=/|\Z)"
    rf"|(?<=/)(?P<y_e>{_YEAR})[-/](?P<n_e>{_NAME})\b"
    rf"|(?<=/)(?P<y_p>{_YEAR})(?=/)",
    re.IGNORECASE,
)
_AGO = re.compile(r"\bupdated \d+ (?:minutes?|hours?|days?) ago\b", re.IGNORECASE)
_END = re.compile(r"(?<=[.!?])[\"'”’)\]]?\s+|\n+")
_CLAUSE = re.compile(r"[;:]\s|,\s+(?!\d)|\s+[–—-]\s+|\s(?:but|while|after|although|because)\s", re.IGNORECASE)
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


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    # the earliest day that it may mean
    day: date


def cut(row: Any, cutoff: Cutoff, fields: tuple[str, ...]) -> tuple[Any, str | None]:
    """A row whose texts have lost what speaks of later days as past; and why the whole row must go, or None.

    Fields may lead through lists. A field ``url`` is an address, a field ``title`` speaks for the whole page.
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
    if isinstance(value, list):
        return [_changed(item, parts, cutoff) for item in value]
    if parts and isinstance(value, dict) and parts[0] in value:
        return {**value, parts[0]: _changed(value[parts[0]], parts[1:], cutoff)}
    return without_later(value, cutoff) if not parts and isinstance(value, str) else value


def dated_later(address: str, cutoff: Cutoff) -> bool:
    """Whether an address holds a date after the cutoff, as those of news sites do."""
    last = cutoff.last_moment_day
    return any(mention.day > last for mention in _mentions(_ADDRESS, unquote(address)))


def without_later(text: str, cutoff: Cutoff) -> str:
    """A text without the sentences that speak of a later day as past. Stripped in every case, so that nothing tells of a cut."""
    last = cutoff.last_moment_day
    places = [match.span() for match in _YEARS.finditer(text)]
    # most texts name no year of later: the search for dates takes a hundred times as long as this look
    if not any(_year_at(text, *place) >= last.year for place in places):
        return text.strip()
    mentions = [
        replace(mention, start=start + mention.start, end=start + mention.end)
        for start, end in _around(text, places)
        for mention in _dates_in(text[start:end])
    ]
    if not any(mention.day > last for mention in mentions):
        return text.strip()
    out, start = [], 0
    # a full stop inside a date ends no sentence
    ends = [
        m for m in _END.finditer(text) if not any(d.start < m.end() and m.start() < d.end for d in mentions)
    ]
    for first, end in [*((m.start(), m.end()) for m in ends), (len(text), len(text))]:
        inside = [d for d in mentions if start <= d.start < end and d.day > last]
        if all(_is_ahead(text[start:first], d.start - start, d.end - start) for d in inside):
            out.append(text[start:end])
        start = end
    return "".join(out).strip()


def later_dates(text: str, cutoff: Cutoff) -> list[tuple[int, int]]:
    """Where in a text the dates after the cutoff stand, as (start, end), whatever is said of them."""
    last = cutoff.last_moment_day
    return [(mention.start, mention.end) for mention in _mentions(_DATES, text) if mention.day > last]


def _year_at(text: str, start: int, end: int) -> int:
    return int(text[start:end]) + (2000 if end - start == 2 else 0)


def _around(text: str, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The stretches of a text that can hold the dates of some years: whole words around them."""
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


@lru_cache(maxsize=_REPEATED)
def _dates_in(words: str) -> tuple[_Mention, ...]:
    return tuple(_mentions(_DATES, words))


@lru_cache(maxsize=_REPEATED)
def _is_ahead(sentence: str, start: int, end: int) -> bool:
    """Whether a sentence speaks of the date at a place as one that is to come, in the date's own clause or one before it."""
    cuts = [m for m in _CLAUSE.finditer(sentence) if not (m.start() < end and start < m.end())]
    first = max((m.end() for m in cuts if m.end() <= start), default=0)
    last = min((m.start() for m in cuts if m.start() >= end), default=len(sentence))
    return bool(_AHEAD.search(sentence[:last])) and not _PAST.search(sentence[first:last])


def _mentions(pattern: re.Pattern[str], text: str) -> Iterator[_Mention]:
    for match in pattern.finditer(text):
        day = _earliest(match)
        if day is not None:
            yield _Mention(match.start(), match.end(), day)


def _earliest(match: re.Match[str]) -> date | None:
    """The earliest day that a match may mean, or None where it is no date of the calendar."""
    parts = {
        name.partition("_")[0]: value for name, value in match.groupdict().items() if value and name != "sep"
    }
    year = int(parts["y"]) if "y" in parts else 2000 + int(parts["z"])
    try:
        if "q" in parts or "o" in parts:
            return date(year, 3 * int(parts.get("q") or _ORDINALS[parts["o"].lower()]) - 2, 1)
        if "h" in parts:
            return date(year, 6 * int(parts["h"]) - 5, 1)
        if "s" in parts:
            return date(year, _SEASONS[parts["s"].lower()], 1)
        if "a" in parts:
            return _either(year, int(parts["a"]), int(parts["b"]))
        month = _MONTHS[parts["n"].lower()] if "n" in parts else int(parts.get("m") or 1)
        return date(year, month, int(parts.get("d") or 1))
    except ValueError:
        return None


def _either(year: int, first: int, second: int) -> date | None:
    """Of a day and a month in unknown order the later reading, since a later one is reason enough to look at the sentence."""
    days = []
    for month, day in ((first, second), (second, first)):
        try:
            days.append(date(year, month, day))
        except ValueError:
            continue
    return max(days, default=None)
