"""Tell whether a sentence merely names a later day, without a word of the future and without news of it: "5 July 2024 is a Friday".

It takes a sign here, and the absence of any past tense that an earlier day of the same clause does not account for.
"""

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

from proxies.asof.mentions import Mention, mentions

# the rules of a list's markets are one form filled in: of 500 descriptions most sentences are the same few
REPEATED = 4096
# characters of a sentence in which it is asked whether a day is merely named; of a longer one it is not
_LONGEST = 600

_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+(?:the\s+)?)?"
_DAY_OF_CALENDAR = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekday|weekend|(?:public |bank |national )?holiday|working day|leap day|"
    r"(?:day|date) (?:on which|for|by which|when|of the)|(?:first|last|final|closing|opening|polling|election|voting|cut-?off|due|key|"
    r"target|new|earliest|latest|likeliest|next) (?:day|date)|deadline|eve of|anniversary)"
)
#: Right before the day.
_NAMES_BEFORE = re.compile(
    # what is sold, kept or hoped for a day
    r"\b(?:tickets?|seats?|rooms?|flights?|fares?|hotels?|places|slots?|bookings?|reservations?|registrations?|invitations?|appointments?|"
    r"bets?|wagers?|tips?|hopes?|fears?|contracts?|preparations?|options?|futures|calls?|puts?|dates?|fixtures?|venues?|billed|pencil(?:l)?ed in|earmarked|"
    r"reserved|timetabled|diaried|eyed|lined up|preparing|prepares?|braced?|bracing|ready|time) for\s+(?:the\s+)?" + _WEEKDAY + r"\Z"
    # a date as the thing that is named
    r"|\b(?:dates?|day|deadline|term|polling day|time)\b[^.;:|]{0,50}?\b(?:is|are|as|remains|falls on|of|stays)\s+(?:the\s+)?" + _WEEKDAY + r"\Z"
    r"|\b(?:named?|names|lists?|gives?|shows?|circles?|favou?rs?|suggests?|mentions?|fix(?:es)?|compares?|threatens?|keeps?|kept|allows?)\s+(?:the\s+)?" + _WEEKDAY + r"\Z"
    # what a timetable says
    r"|\b(?:opens?(?: (?:its|the|their) \w+)?|closes?|votes?|kicks? off|gets? under ?way|takes? place|falls?|lapses?|goes to the polls|go to the polls|go(?:es)? on sale|"
    r"(?:is|are) (?:held|repayable|payable|counted|open|closed)|comes? up|runs? out|runs? from [^.;:|]{2,30}? to|stops?)"
    r"\s+(?:on|in|at|from)\s+(?:the\s+)?" + _WEEKDAY + r"\Z"
    r"|\b(?:countdown|run-?up|road|way|weeks?|days?|months?|an eye|on course|eyes) (?:to|for|on)\s+(?:the\s+)?" + _WEEKDAY + r"\Z"
    # what a day is the object of; "on" and "in" would say when something was
    r"|\b(?:until|till|up to|(?:closer|nearer|refers?) to|\d (?:day|week|month)s? to|from [^.;:|]{2,30}? to|with|about|regarding|concerning|towards?|before|beyond|ahead of|heard of|think of|thinks of|between [^.;:|]{2,30}? and)"
    r"\s+(?:the\s+)?" + _WEEKDAY + r"\Z",
    re.IGNORECASE,
)  # fmt: skip
#: Right after the day, matched at its end.
_NAMES_AFTER = re.compile(
    r",?\s+(?:is|falls on|marks|remains|being|would be|looks like)\s+(?:still\s+)?(?:a|an|the|its|their)?\s*" + _DAY_OF_CALENDAR + r"\b"
    r"|\s+(?:contracts?|futures|options?|deadline|delivery|expiry|maturity|fixture|edition)\b"
    # a year as part of a name: the 2024 presidential race
    r"|(?<=\d{4})\s+(?:\w+\s+){0,2}?(?:elections?|race|campaign|primar(?:y|ies)|caucus(?:es)?|ballot|vote|cycle|ticket|convention|season|edition|"
    r"festival|games|olympics|tournament|championships?|world cup|euros?|tour|budget|summit|conference|event|presidential|midterms?|"
    r"meetings?|hearings?|trial|launch|ballot|line-?up|dates?)\b"
    # "In 2024, many will": what follows a day at the beginning of a sentence and its comma
    r"|,\s+(?:[^\s,.;:]+\s+){1,9}(?:will|won['’]t|shall|may|might|could|should)\b",
    re.IGNORECASE,
)  # fmt: skip
#: Anywhere in the day's clause: somebody who puts a number on what is to come.
_PROBABLE = re.compile(
    r"\b(?:(?:bookmakers?|bookies|bettors|traders|swaps|models?|simulations?|markets?|pollsters|punters|forecasters|bets?|wagers?)\b[^;:|]{0,60}?"
    r"\b(?:gives?|puts?|prices?|sees?|assigns?|implies|imply|pays?|offers?|quotes?|bets?|has|have)\b[^;:|]{0,40}?"
    r"(?:\d ?%|per ?cent|chance|probability|odds|to one|evens|\d[/-]\d)"
    r"|(?:chances?|probabilit(?:y|ies)|likelihood|odds|risks?) (?:of|at)\b|potential|possible\b)",
    re.IGNORECASE,
)
#: Words of which one alone lets a sentence go: it tells how things stand on the day.
_STANDS = re.compile(
    r"\b(?:as (?:of|at|things)|stands?|stood|now|so far|already|finally|update[sd]?|edit(?:ed|s)?|results?|outcome|winners?|victor\w*|recap|"
    # a headline's present tense, which tells what came out
    r"wins?|winning|beats|loses|secures|clinch(?:es|ed)?|concedes?|sweeps|defeats?|cuts|raises|hikes|lowers|resigns|quits|dies|rises|falls(?! (?:on|due))|"
    r"signs|passes|rejects|approves|claims|celebrates?|elects|collapses|crashes|surges|plunges|topples|ousts|survives|retains|regains|confirms|"
    r"takes (?!place|part)|becomes?|lands|returns|holds(?! (?:\d|its|talks))|backs|stuns|triumphs?|"
    r"footage|photos?|pictures?|video|aftermath|after(?! \d{4})|since(?! \d{4})|following|once(?! again))\b|[!]",
    re.IGNORECASE,
)
#: A figure for a month is a figure that was published, whatever the tense.
_FIGURE = re.compile(
    r"\b(?:rates?|inflation|unemployment|jobless\w*|index|cpi|gdp|pce|pmi|payrolls?|sales|figures?|data|numbers?|readings?|growth|levels?|total|count|tall(?:y|ies)|"
    r"turnout|scores?|earnings|revenues?|profits?|income|output|reports?|minutes|statement|summary|accounts|news|headlines?|story|champions?|leaders?|"
    r"exit polls?|shares?|deficit|exports|imports|production|demand)\b[^;:|]*\bfor\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
_ANY_PAST = re.compile(
    r"\b(?!need|speed|feed|seed|exceed|proceed|indeed|hundred|united|red\b|fed\b|bed\b)[a-z]{2,}ed\b"
    r"|\b(?:was|were|had|did|won|lost|rose|fell|grew|beat(?:en)?|became|took|taken|came|made|said|went|gone|saw|led|held|met|struck|shrank|sank|broken?|began|"
    r"drew|left|gave|given|kept|paid|sold|bought|stood|knew|told|thought|got|won|hit|shot|cut|set|put|quit|shut|split|spent|sent|built|felt|found|"
    r"wrote|spoke|chose|froze|drove|flew|fought|sought|caught|taught|brought|ran|swore|sworn|threw|withdrew|overcame|overtook|overthrew|swung|swept|slid|leapt|sprang|burst|shook|stole|tore|dealt|clung|stuck|hung|strove|fled|bled|wound|lent|bent|rode|upset|undid|outdid|forbade|gained|done|over|died|dead)\b",
    re.IGNORECASE,
)
# of what is to come one may have said so, or put it off
_SAID_AHEAD = re.compile(
    r"announced|revealed|unveiled|scheduled|proposed|planned|pushed|moved|postponed|delayed|booked|discussed|anticipated|expected|confirmed",
    re.IGNORECASE,
)
# "is held", "are named": said of what is; and a noun's own participle
_OF_NOW = re.compile(
    r"\b(?:is|are|be|being|gets?)\s+(?:not\s+|to be\s+)?(?:held|named|counted|opened|closed|accepted|known|repeated|pencil(?:l)?ed|earmarked|reserved|billed|diaried|"
    r"timetabled|fixed|marked|printed|listed|called|needed|allowed|lined|eyed|given|set|put|braced|asked|used|due)\b"
    r"|\b(?:pencil(?:l)?ed in|earmarked|lined up|timetabled) for\b|\bset to\b|\b(?:an?|the|of|no) (?:cut|hit|set|put|split|shot|run)\b|\bunited (?:states|kingdom|nations)\b",
    re.IGNORECASE,
)  # fmt: skip
# right before an earlier day that says when something was
_WHEN = re.compile(
    r"\b(?:on|in|by|since|until|late|early|dated|from|(?:letter|paper|page|note|essay|report|poll|survey|issue|statement|ruling|article|column|notice)s? of)"
    r"\s+(?:the\s+)?" + _WEEKDAY + r"\Z",
    re.IGNORECASE,
)
_PHRASE = re.compile(
    r"[;:|·•()\[\]]|\s[–—-]+\s|,\s+(?!\d)|\s(?:but|while|because|although|so|yet|then)\s", re.IGNORECASE
)


@lru_cache(maxsize=REPEATED)
def names_a_day(sentence: str, start: int, end: int, last: date) -> bool:
    """Whether a sentence names a later date and can reveal nothing of it."""
    if len(sentence) > _LONGEST:
        return False
    dates = dates_in(sentence)
    named = next((mention for mention in dates if mention.start < end and start < mention.end), None)
    earlier = [mention for mention in dates if mention.day <= last]
    return named is not None and merely_names(sentence, named, earlier)


def merely_names(sentence: str, date: Mention, dates: Sequence[Mention]) -> bool:
    """Whether a sentence names a later day and can reveal nothing of it.

    `dates`: The days of the sentence that are not of later; places are those in the sentence.
    """
    first, last = around(_PHRASE, sentence, date.start, date.end)
    before = sentence[: date.start]
    if not (
        _NAMES_BEFORE.search(before)
        or _NAMES_AFTER.match(sentence, date.end)
        or _PROBABLE.search(sentence[first:last])
    ):
        return False
    later_words = _OF_NOW.sub(lambda match: " " * len(match[0]), sentence)
    if _STANDS.search(later_words) or _FIGURE.search(before):
        return False
    anchors = [mention.start for mention in dates if _WHEN.search(sentence[: mention.start])]
    for verb in _ANY_PAST.finditer(later_words):
        begin, end = around(_PHRASE, sentence, verb.start(), verb.end())
        if not _SAID_AHEAD.fullmatch(verb[0]) and not any(begin <= anchor < end for anchor in anchors):
            return False
    return True


def around(breaks: re.Pattern[str], sentence: str, start: int, end: int) -> tuple[int, int]:
    """Return the stretch of a sentence around a place that no break parts from it."""
    cuts = [m for m in breaks.finditer(sentence) if not (m.start() < end and start < m.end())]
    first = max((m.end() for m in cuts if m.end() <= start), default=0)
    return first, min((m.start() for m in cuts if m.start() >= end), default=len(sentence))


@lru_cache(maxsize=REPEATED)
def dates_in(words: str) -> tuple[Mention, ...]:
    """Return the dates of a piece of text."""
    return tuple(mentions(words))
