"""Find the stretches of a text that speak of later than a cutoff: edits, outcomes, later days spoken of as past.

Fails closed: an edit that bears no date goes. `as_of` cuts what is found here.
"""

import re
from datetime import date, timedelta
from functools import partial
from typing import Any, Literal
from zoneinfo import ZoneInfo

from proxies.asof.clock import NEW_YORK, Cutoff, parse_day, parse_instant, start_of_day
from proxies.asof.edit_marks import later_edits
from proxies.asof.later_text import (
    LOOKS_BACK,
    MAY_BE_AHEAD,
    dates_beside_later,
    is_ahead,
    sentences,
    without_clauses_beside,
)
from proxies.asof.mentions import Mention, day_without_year, mentions, plain

#: ``text``: what stands beside a question, where doubt cuts. ``title``: what is asked, a claim that may be in the past tense.
#: ``label``: an option, where what is certain counts and "resigned by 1 May" is what is asked. ``record``: text of any origin that
#: an audit reads, where only what is certain counts.
Kind = Literal["text", "title", "label", "record"]
EDIT, PAST, SETTLED = (
    "an edit of later, or without a date",
    "speaks of a later day as past",
    "speaks of an outcome that is settled",
)

_ANOTHER = r"(?:another|other|previous|earlier|similar|sister|related|last year|prior|past|former|first version|linked|companion)"
_SETTLED = re.compile(
    r"\b(?:this|the|our) (?:question|market|contract|bet|event)s? (?:has |have |had |was |were )?(?:now |since |been |already |just )*"
    r"(?:resolved|settled|closed early|paid out)\b"
    r"|(?<!be )(?<!been )(?<!being )(?<!gets )\b(?:resolved|settled) (?:(?:to|as) )?['\"“]?(?:yes|no)\b|\b(?:settled|resolved|closed) early\b"
    r"|\b(?:final )?(?:resolution|outcome): ?['\"“]?(?:yes|no)\b(?! (?:if|when|unless|for|as))|\bresolved\s?[:=-]\s?['\"“]?(?:yes|no)\b|\b(?:resolved|settled) (?:this|it) (?:(?:to|as) )?['\"“]?(?:yes|no)\b|\bwinning outcome\b|\bresolving (?:this )?(?:to |as )?(?:yes|no)\b",
    re.IGNORECASE,
)
_AGE = re.compile(
    r"\b(?:updated|edited) (?:\d+|a few|an?) (?:minute|hour|day|week|month|year)s? ago\b", re.IGNORECASE
)
# what makes all that follows in its part of a sentence a condition or a thing to come
_GOVERNS = re.compile(
    r"\b(?:if|whether|unless|will|would|shall|must|should|may|might|could|can|needs? to|has to|have to|is to|are to|resolves?|resolving|settles|"
    r"in case|in the event|in order to|provided|assuming|suppose|otherwise|when|once|whenever|until|any|for (?:this|the) (?:question|market)|"
    r"counts? (?:as|towards?)|qualif(?:y|ies)|is defined as|means|eligible|required|regardless|"
    r"wird|werden|wenn|falls|sofern|soll|muss|ob|sera|seront|doit|doivent|si|será|serán|debe|se resolverá|resolverá|deve|resolve-se|"
    r"sarà|saranno|se|als|indien|zal|zullen|moet|wordt|если|будет|будут|должен|должна|jeśli|jeżeli|zostanie|będzie|musi|eğer|olacak|ise|"
    r"om|hvis|ska|skal|vil|jos|pokud|ha|dacă|jika|nếu|إذا|سوف|אם|αν|εάν|यदि|अगर)\b|如果|若|是否|将|將|場合|かどうか|もし|경우|여부|만약|หาก|\?\s*\Z",
    re.IGNORECASE,
)
# words of a calendar: a date beside one of them is no news
_CALENDAR = re.compile(
    r"\b(?:deadline|dead line|clos(?:es?|ing)|close date|end(?:s|ing)?|start(?:s|ing)?|begin(?:s|ning)?|open(?:s|ing)?|due|expir\w*|matur\w*|resolution (?:date|time|source)|"
    r"settlement|meetings?|elections?|votes?|voting|runoff|primary|primaries|referendum|inauguration|session|hearing|summit|conference|olympics|world cup|"
    r"final|season|match|games?|tournament|release|publication|report|decision|quarter|fiscal|term|mandate|window|period|between|from|through|inclusive|within|"
    r"during|by|before|after|prior|until|up to|no later than|not later than|at the latest|schedul\w*|planned|plans|expect\w*|forecast\w*|project\w*|target\w*|"
    r"goals?|runs|caucus\w*|conventions?|super tuesday|editions?|repayable|laps\w+|releases|comes? out|covers?|takes place|take place|is held|are held|deadlines?|frist|ende|bis|vor|zwischen|avant|jusqu|d.ici|entre|antes|hasta|até|entro|prima|fino|tot|"
    r"voor|uiterlijk|tussen|до|перед|между|do dnia|do końca|przed|kadar|önce|före|innan|senast|inden|ennen|mennessä|előtt|până|înainte|sebelum|trước|قبل|"
    r"לפני|πριν|έως|तक|से पहले)\b|之前|以前|前に|まで|期間|까지|이전|截止|截至|ภายใน",
    re.IGNORECASE,
)
# what a sentence says about itself: that it is a rule
_RULE = re.compile(
    r"\b(?:counts?|counted|(?:is|are|be) (?:treated|considered|ignored|disregarded|used)|do(?:es)? not matter|is (?:that|the one)\b|what (?:counts|matters)|"
    r"noon|midnight|UTC|GMT|CET|ET|EST|EDT)\b|\d ?[ap]\.?m\b|\b(?:has|have) (?:\w+ ){0,2}(?:by|before|until)\b",
    re.IGNORECASE,
)
# right before a day that bounds something
_BOUND = re.compile(
    r"\b(?:before|after|by|until|till|between|than|through|and|or|to)\s+(?:the\s)?\Z", re.IGNORECASE
)
_NO_LATER = re.compile(
    r"\b(?:(?:no|not) (?:later|earlier) than|on or (?:before|after)|not (?:before|after))\s+\Z", re.IGNORECASE
)
_AS_SHOWN = re.compile(
    r"\b(?:displayed|published|released|dated|listed|shown|reported|recorded|posted|issued|stated|announced|quoted)\s+(?:\w+\s)?\Z",
    re.IGNORECASE,
)
_MAJOR = re.compile(r"[;；]\s?|\s[–—-]{1,2}\s")
_PASSIVE = re.compile(r"\b(?:is|are|be|being|gets?) (?:\w+ )?\w+ed\b", re.IGNORECASE)
_PAPER = re.compile(
    r"\b(?:futures|contracts?|options?|bonds?|notes?|guidance|delivery|delivered)\b", re.IGNORECASE
)
# of what a sentence says after these, what stands before them is no condition
_BREAK = re.compile(
    r"[;；]\s?|\s[–—-]{1,2}\s|\s\(|\)\s|:\s(?=(?-i:[A-Z]))|\bbut\b|,\s+(?:which|as it|since|because)\b"
    r"|,\s+(?:and|so|as|yet|though|although|while)\s+(?=(?:(?:the|this|that|it|he|she|they|we)\b\s?(?:\w+\s){0,3})?(?:has|have|had|was|were|did|\w{3,}ed)\b)",
    re.IGNORECASE,
)
_HAPPENED = re.compile(
    r"\b(?:which|this|that|it|these|what) (?:has |have |had )?(?:since |already |indeed |in fact |now |thus |just )*"
    r"(?:happened|occurred|did|came true|took place)\b"
    # why a day that is to come was chosen: "since the cabinet quits on that day"
    r"|\b(?:since|because)\b[^.;:?!]{3,80}\bon (?:that|the same|this) day\b",
    re.IGNORECASE,
)
_AS_OF = re.compile(r"\bas (?:of|at)\b", re.IGNORECASE)
# in a title, what stands in brackets or behind a dash
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\s[-–—|]\s[^–—|()\[\]]*\Z")
_LINK = re.compile(r"https?://[^\s)\]>\"]+")
# a line of `workbench.studies.contexts.context.context_text`
_QUOTE = re.compile(r"Market at (?P<at>\S+), \S+: (?:(?:last|yes ask|no ask) [\d.e-]+(?:, )?)+")
_NEAR = timedelta(days=183)


def later_parts(text: str, cutoff: Cutoff, *, opened: str, kind: Kind) -> list[tuple[int, int, str]]:
    """Return begin, end and reason of each later part, in order and disjoint. Parameters as of `as_of`."""
    begun = date.fromisoformat(opened) if opened else None
    without_year = partial(day_without_year, last=cutoff.last_moment_day, opened=begun)
    normalised, places = plain(text)
    spans = _merged(_Reader(normalised, cutoff, without_year, kind).spans())
    return [(places[start], places[end], reason) for start, end, reason in spans]


class _Reader:
    """Finds the later stretches of one text."""

    def __init__(self, text: str, cutoff: Cutoff, without_year: Any, kind: Kind) -> None:
        self._text, self._cutoff, self._kind = text, cutoff, kind
        self._last = cutoff.last_moment_day
        self._without_year = without_year
        if kind == "record":
            self._dates = dates_beside_later(text, self._last)
        else:
            self._dates = list(mentions(text, without_year=without_year if kind == "text" else None))
        self._sentences = list(sentences(text, self._dates))

    def spans(self) -> list[tuple[int, int, str]]:
        if self._kind == "record" and not self._dates and not _SETTLED.search(self._text):
            return []
        spans: list[tuple[int, int, str]] = []
        record = self._kind == "record"
        for block in later_edits(
            self._text, self._last, undated=not record, without_year=None if record else self._without_year
        ):
            start = self._marked_from(block.start) if block.bare and self._kind == "text" else block.start
            spans.append((start, block.end, EDIT))
        for number, (start, first, end) in enumerate(self._sentences):
            if any(a <= start and first <= b for a, b, _ in spans):
                continue
            # what goes already says nothing of the rest
            for a, b, _ in spans:
                if a < first and start < b:
                    self._text = self._text[:a] + " " * (b - a) + self._text[b:]
            brackets = (
                self._in_brackets(start, first) if self._kind in ("title", "label") and number == 0 else []
            )
            spans += brackets
            if brackets or (self._kind == "title" and number == 0):
                continue
            if reason := self._late(start, first):
                spans.append((start, end, reason))
        return spans

    def _marked_from(self, place: int) -> int:
        for start, first, _ in reversed(self._sentences):
            if start >= place:
                continue
            if _GOVERNS.search(self._text[start:first]):
                break
            place = start
        return place

    def _in_brackets(self, start: int, end: int) -> list[tuple[int, int, str]]:
        out = [
            (start + m.start(), start + m.end(), reason)
            for m in _BRACKETED.finditer(self._text[start:end])
            if (reason := self._late(start + m.start() + 1, start + m.end() - 1))
        ]
        if not out and _SETTLED.search(self._text[start:end]) and not _GOVERNS.search(self._text[start:end]):
            out.append((start, end, SETTLED))
        return out

    def _late(self, start: int, end: int) -> str:
        sentence = self._text[start:end]
        if self._is_quote(sentence):
            return ""
        settled = _SETTLED.search(sentence)
        if (
            settled
            and not _GOVERNS.search(sentence[: settled.start()])
            and not re.search(_ANOTHER, sentence, re.IGNORECASE)
        ):
            return SETTLED
        if _AGE.search(sentence) or self._leads_later(sentence):
            return EDIT
        for mention in self._dates:
            later = (
                start <= mention.start < end
                and mention.day > self._last
                and not sentence[mention.start - start].isspace()
            )
            if later and self._looks_back(sentence, mention, start):
                return PAST
        return ""

    def _is_quote(self, sentence: str) -> bool:
        quote = _QUOTE.fullmatch(sentence.strip())
        if quote is None:
            return False
        day = parse_day(quote["at"])
        moment = parse_instant(quote["at"], ZoneInfo("UTC")) if day is None else start_of_day(day, NEW_YORK)
        return moment is not None and self._cutoff.admits(moment)

    def _leads_later(self, sentence: str) -> bool:
        return "://" in sentence and any(
            mention.day > self._last and mention.end - mention.start >= len("2024/3/1")
            for word in _LINK.findall(sentence)
            for mention in mentions(word, address=True)
        )

    def _looks_back(self, sentence: str, mention: Mention, offset: int) -> bool:
        place, end = mention.start - offset, mention.end - offset
        if self._kind == "label" and _BOUND.search(sentence[:place]):
            return False
        sentence = without_clauses_beside(sentence, place, end)
        first, last = _around(_BREAK, sentence, place, end)
        begin, stop = _around(_MAJOR, sentence, place, end)
        part = _PASSIVE.sub(" ", sentence[first:last])
        past = LOOKS_BACK.search(part) or _AS_OF.search(part)
        if _HAPPENED.search(part):
            return True
        if _GOVERNS.search(sentence[first:place]) or sentence.rstrip().endswith("?"):
            return False
        looked = LOOKS_BACK.search(_PASSIVE.sub(" ", sentence[first:place]))
        is_rule = looked is None or _BOUND.search(sentence[:place]) or _AS_SHOWN.search(sentence[:place])
        if _NO_LATER.search(sentence[:place]) or (is_rule and _RULE.search(sentence[begin:stop])):
            return False
        certain = past is not None and not MAY_BE_AHEAD.search(part) and not _PAPER.search(part)
        if (
            not mention.has_year
        ):  # it may as well be of the year before: only what is near in time and plainly past
            return certain and mention.day - self._last <= _NEAR
        if certain or self._kind != "text":
            return certain
        if is_ahead(sentence, place, end):
            return False
        return past is not None or not (_CALENDAR.search(sentence) or _GOVERNS.search(sentence))


def _around(breaks: re.Pattern[str], sentence: str, start: int, end: int) -> tuple[int, int]:
    cuts = [m for m in breaks.finditer(sentence) if not (m.start() < end and start < m.end())]
    first = max((m.end() for m in cuts if m.end() <= start), default=0)
    return first, min((m.start() for m in cuts if m.start() >= end), default=len(sentence))


def _merged(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    out: list[tuple[int, int, str]] = []
    for start, end, reason in sorted(spans):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end), out[-1][2])
        else:
            out.append((start, end, reason))
    return out
