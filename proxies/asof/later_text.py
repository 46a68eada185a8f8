"""Find what in a text speaks of later than a cutoff: edits, outcomes, later days spoken of as past.

The one reader for every door: questions and their rules, rows of vendors, pages of a search. A text may have been edited since the
day it bears, and the edit names its own day. A day that is merely ahead (a meeting, a deadline, a maturity) was known and is what a
forecaster needs: such a sentence stays. Everything here is by rule and fails closed; `as_of` cuts what is found.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache, partial
from typing import Literal
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from proxies.asof.clock import NEW_YORK, Cutoff, parse_day, parse_instant, start_of_day
from proxies.asof.edit_marks import later_edits
from proxies.asof.mentions import YEAR_IN_WORDS, Mention, day_without_year, mentions, plain
from proxies.asof.named_days import REPEATED, around, dates_in, names_a_day

#: ``text``: what stands beside a question, where doubt cuts. ``title``: what is asked, a claim that may be in the past tense.
#: ``label``: an option, where what is certain counts and "resigned by 1 May" is what is asked. ``record``: text of any origin that
#: an audit reads, where only what is certain counts. ``page``: text with a day of its own, which goes by whole sentences.
Kind = Literal["text", "title", "label", "record", "page"]
EDIT, PAST, SETTLED = (
    "an edit of later, or without a date",
    "speaks of a later day as past",
    "speaks of an outcome that is settled",
)
_UTC = ZoneInfo("UTC")
# every date of `mentions` holds a year, written in four digits or, after a sign or a quarter, in two
_YEARS = re.compile(
    r"(?P<epoch>\b1[4-9]\d{8}(?:\d{3})?\b)|" + YEAR_IN_WORDS + "|"
    r"(?:19|20)\d{2}|(?<=[-'’QqYy1-4])\d{2}\b|(?<=[QqYy1-4]\s)\d{2}\b|(?<=\sof\s)\d{2}\b"
    r"|(?<=\d[/.-]\d[/.-])\d{2}\b|(?<=\d[/.-]\d\d[/.-])\d{2}\b",
    re.IGNORECASE,
)
# the longest words before and after the year of a date
_BEFORE, _AFTER = 40, 24
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

# No sentence with one of these looks back on its date for certain.
_MAY_BE_AHEAD = re.compile(
    r"\b(?:will|would|shall|may|might|can|could|should|must|if|whether|unless|until|till|before|ahead|due|next|upcoming|expect\w*|schedul\w*|"
    r"plan(?:s|ned|ning)?|forecast\w*|predict\w*|project\w*|anticipat\w*|propos\w*|slated|set (?:to|for)|target\w*|aim\w*|to be|is to|are to|"
    r"matur\w*|expir\w*|deadline|likely|odds|chance|postponed|delayed|moved|booked|announced|agreed|intend\w*|outlook|estimat\w*)\b",
    re.IGNORECASE,
)
# A verb in the past tense.
_LOOKS_BACK = re.compile(
    r"\b(?!need|speed|feed|seed|exceed|proceed|indeed|hundred|united|red\b|fed\b|bed\b|led\b)[a-z]{2,}ed\b"
    r"|\b(?:was|were|had|did|won|lost|rose|fell|beat|became|took|came|made|said|went|grew|saw|led|held|met|struck|shrank|sank|broke|began|"
    r"drew|left|gave|kept|paid|sold|bought|stood|knew|told|thought)\b",
    re.IGNORECASE,
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
# What makes a whole page one of later
_RESOLVED = re.compile(
    r"\b(?:this|the) (?:question|market|contract)s? (?:has |was |is )?(?:now |been |already )*(?:resolved|settled)\b"
    r"|\bresolved (?:to |as )?(?:yes|no)\b(?! later)|\b(?:resolution|outcome): ?(?:yes|no)\b|\bwinning outcome\b",
    re.IGNORECASE,
)
_COUNTED_AGE = re.compile(
    r"\b(?:updated|published|posted|edited) (?:\d+|a few|an?) (?:minute|hour|day|week|month|year)s? ago\b",
    re.IGNORECASE,
)
# a reader's comment, a post, an edit, and the day it bears
_BYLINE = re.compile(
    r"(?<!to )\b(?:comments?|commented|posts?|posted|repl(?:y|ied)|wrote|writes|edited|revised|reader|user|review(?:ed)?|thread)\b[^.!?\n]{0,60}\Z",
    re.IGNORECASE,
)
# "is held", "are accepted": said of what is
_HELD_NOW = re.compile(
    r"\b(?:is|are|be|being) (?:\w+ )?(?:\w+ed|held|made|sold|paid|met|kept|given|told|left)\b", re.IGNORECASE
)
_LINE = re.compile(r"(?<=[.!?])\s+|\n+")
# an archive's or a program's stamp: 20240703120000, 1720000000
_DIGITS = re.compile(r"(?<!\d)(?:20\d{12}|1[5-9]\d{8})(?!\d)")


def later_parts(text: str, cutoff: Cutoff, *, kind: Kind, opened: str = "") -> list[tuple[int, int, str]]:
    """Return begin, end and reason of each later part, in order and disjoint. Parameters as of `as_of`."""
    normalised, places = plain(text)
    reader = _Reader(normalised, cutoff, kind, date.fromisoformat(opened) if opened else None)
    return [(places[start], places[end], reason) for start, end, reason in reader.spans()]


def later_dates(text: str, cutoff: Cutoff) -> list[tuple[int, int]]:
    """Return the places of the dates after the cutoff in a text, as (start, end)."""
    last = cutoff.last_moment_day
    return [(mention.start, mention.end) for mention in mentions(text) if mention.day > last]


def dated_later(address: str, cutoff: Cutoff) -> bool:
    """Whether an address holds a date or a stamp after the cutoff, as those of news sites do."""
    last = cutoff.last_moment_day
    return any(mention.day > last for mention in mentions(plain(unquote(address))[0], address=True))


def late_words(text: str, cutoff: Cutoff) -> str:
    """Explain why a text was written later than the cutoff, by any sign in it; "" if none says so.

    For a result that goes whole: what speaks of later in one sentence was written later.
    """
    if later_parts(text, cutoff, kind="page"):
        return PAST
    if _dated_back(text, cutoff):
        return "looks back on a later day"
    if _RESOLVED.search(text):
        return SETTLED
    if _COUNTED_AGE.search(text):
        return "tells an age that counts from today"
    return "holds a stamp of later" if stamped_later(text, cutoff) else ""


def _dated_back(text: str, cutoff: Cutoff) -> bool:
    for start, _ in later_dates(text, cutoff):
        byline = _BYLINE.search(text[max(0, start - 100) : start])
        if byline and not _MAY_BE_AHEAD.search(byline[0]):
            return True
    return any(
        _LOOKS_BACK.search(_HELD_NOW.sub(" ", sentence))
        and not _MAY_BE_AHEAD.search(sentence)
        and not all(names_a_day(sentence, start, end, cutoff.last_moment_day) for start, end in dates)
        for sentence in _LINE.split(text)
        if (dates := later_dates(sentence, cutoff))
    )


def stamped_later(text: str, cutoff: Cutoff) -> bool:
    """Whether a text holds the stamp of an archive or a program after the cutoff: 20240703120000, 1720000000."""
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


class _Reader:
    """Finds the later stretches of one text."""

    def __init__(self, text: str, cutoff: Cutoff, kind: Kind, opened: date | None) -> None:
        self._text, self._cutoff, self._kind = text, cutoff, kind
        self._last = cutoff.last_moment_day
        self._certain = kind in ("record", "page")
        self._without_year = (
            None if self._certain else partial(day_without_year, last=self._last, opened=opened)
        )
        if self._certain:
            self._dates = _dates_beside_later(text, self._last)
        else:
            self._dates = list(mentions(text, without_year=self._without_year if kind == "text" else None))
        self._sentences: list[tuple[int, int, int]] = []

    def spans(self) -> list[tuple[int, int, str]]:
        if self._certain and not self._dates and (self._kind == "page" or not _SETTLED.search(self._text)):
            return []
        self._sentences = list(_sentences(self._text, self._dates))
        edits = [
            (block.start, block.end, block.bare)
            for block in later_edits(
                self._text, self._last, undated=not self._certain, without_year=self._without_year
            )
        ]
        if self._kind == "page":
            return self._late_sentences(edits)
        spans = [
            (self._marked_from(start) if bare and self._kind == "text" else start, end, EDIT)
            for start, end, bare in edits
        ]
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
        return _merged(spans)

    def _late_sentences(self, edits: list[tuple[int, int, bool]]) -> list[tuple[int, int, str]]:
        spans = []
        for start, first, end in self._sentences:
            sentence = self._text[start:first]
            if any(a < first and start < b for a, b, _ in edits):
                spans.append((start, end, EDIT))
            elif not all(
                _is_ahead(sentence, mention.start - start, mention.end - start)
                or names_a_day(sentence, mention.start - start, mention.end - start, self._last)
                for mention in self._dates
                if start <= mention.start < end and mention.day > self._last
            ):
                spans.append((start, end, PAST))
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
        moment = parse_instant(quote["at"], _UTC) if day is None else start_of_day(day, NEW_YORK)
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
        sentence = _without_clauses_beside(sentence, place, end)
        first, last = around(_BREAK, sentence, place, end)
        begin, stop = around(_MAJOR, sentence, place, end)
        part = _PASSIVE.sub(" ", sentence[first:last])
        past = _LOOKS_BACK.search(part) or _AS_OF.search(part)
        if _HAPPENED.search(part):
            return True
        if _GOVERNS.search(sentence[first:place]) or sentence.rstrip().endswith("?"):
            return False
        looked = _LOOKS_BACK.search(_PASSIVE.sub(" ", sentence[first:place]))
        is_rule = looked is None or _BOUND.search(sentence[:place]) or _AS_SHOWN.search(sentence[:place])
        if _NO_LATER.search(sentence[:place]) or (is_rule and _RULE.search(sentence[begin:stop])):
            return False
        certain = past is not None and not _MAY_BE_AHEAD.search(part) and not _PAPER.search(part)
        if (
            not mention.has_year
        ):  # it may as well be of the year before: only what is near in time and plainly past
            return certain and mention.day - self._last <= _NEAR
        if certain or self._kind != "text":
            return certain
        if _is_ahead(sentence, place, end):
            return False
        return past is not None or not (_CALENDAR.search(sentence) or _GOVERNS.search(sentence))


def _merged(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    out: list[tuple[int, int, str]] = []
    for start, end, reason in sorted(spans):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end), out[-1][2])
        else:
            out.append((start, end, reason))
    return out


def _dates_beside_later(text: str, last: date) -> list[Mention]:
    """Return all dates of a text if one is after a day; else none."""
    matches = list(_YEARS.finditer(text))
    # most texts name no year of later: the search for dates takes a hundred times as long as this look
    if not any(
        match["epoch"] or match["words"] or int(match[0]) + (2000 if len(match[0]) == 2 else 0) >= last.year
        for match in matches
    ):
        return []
    places = [match.span() for match in matches]
    dates = [
        replace(mention, start=start + mention.start, end=start + mention.end)
        for start, end in _stretches(text, places)
        for mention in dates_in(text[start:end])
    ]
    return dates if any(mention.day > last for mention in dates) else []


def _sentences(text: str, dates: Sequence[Mention]) -> Iterator[tuple[int, int, int]]:
    """Yield the sentences of a text as (start, end of its words, end); a full stop inside one of ``dates`` ends none."""
    start = 0
    for match in _END.finditer(text):
        if not any(d.start < match.end() and match.start() < d.end for d in dates):
            yield start, match.start(), match.end()
            start = match.end()
    if start < len(text):
        yield start, len(text), len(text)


def _stretches(text: str, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
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


def _without_clauses_beside(sentence: str, start: int, end: int) -> str:
    """Blank the clauses between commas that do not hold the date: "which will be replaced"."""
    return _ASIDE.sub(
        lambda match: match[0] if match.start() < end and start < match.end() else " " * len(match[0]),
        sentence,
    )


@lru_cache(maxsize=REPEATED)
def _is_ahead(sentence: str, start: int, end: int) -> bool:
    """Whether a sentence treats the date as future, in the date's own clause or an earlier one."""
    sentence = _without_clauses_beside(sentence, start, end)
    first, last = around(_CLAUSE, sentence, start, end)
    return bool(_AHEAD.search(sentence[:last])) and not _PAST.search(sentence[first:last])
