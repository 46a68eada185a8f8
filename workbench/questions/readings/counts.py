"""Numbers of a text that are no level: how often, of how many, averages of days, highs of weeks, the length of a volatility."""

import re
from dataclasses import dataclass

from workbench.questions.readings.amounts import SMALL
from workbench.questions.readings.tokens import Text

_N = "|".join(["\\d+", *sorted(SMALL, key=len, reverse=True)])
_STEP = (
    r"(?P<step>trading day|day|session|week|month|quarter|close|meeting|reading|print|release|sesh)(?:s|es)?"
)
_MORE = r"(?P<more>at least |more than |a minimum of |no fewer than |no less than )?"
_ROW = r"(?: (?:in a row|running|straight|on the trot|on end)| consecutively)"
_COLOUR = r"(?:(?P<up>green|up|positive|winning|higher)|(?P<down>red|down|negative|losing|lower))"
#: What a step is where it is counted, and what so many of them are to a calendar.
STEPS = {"session": "day", "trading day": "day", "close": "day", "sesh": "day", "reading": "month", "print": "month", "release": "month"}  # fmt: skip
UNITS = {"trading day": "session", "close": "session", "day": "session", "sesh": "session", "meeting": "month", "reading": "month", "print": "month", "release": "month"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """``times`` steps, in a ``row`` or not, of the next ``of``."""

    times: int
    step: str = "day"
    of: int | None = None
    row: bool = False
    way: str = ""


_FORMS = (
    rf"(?:in |on |for )?(?:every(?: single)?(?: one)?|each(?: and every)?(?: one)?|all)(?: of)? (?:the |its )?(?:next |coming |following )?(?P<all>{_N}) (?:trading |monthly )?{_STEP}\b",
    rf"(?:(?:on|in|at|for) )?{_MORE}(?P<n>{_N})(?: or more)? (?:out )?of (?:the |its )?(?:next |coming |following )(?P<of>{_N})(?: (?:trading |monthly |weekly )?{_STEP}\b| (?=(?:on|in|by|before)\b)|$)",
    rf"(?:(?:on|in|at|for) )?{_MORE}(?P<n>{_N})(?: or more)? (?:out )?of (?:the |its )?(?P<of>{_N}) (?:trading |monthly |weekly )?{_STEP}\b",
    rf"(?:on |in )?{_MORE}(?P<n>{_N}) of them\b",
    rf"(?:(?:on|at) )?{_MORE}(?:(?P<twice>twice)|(?P<n>{_N}) (?:times|occasions|separate days))(?! (?:as|more|the|that|higher|lower))",
    rf"(?P<n>{_N}) (?P<row>straight|consecutive|successive) (?P<adverb>daily|weekly|monthly|quarterly)(?= (?:gains?|loss(?:es)?|declines?|rises?|falls?|increases?|drops?|closes|advances?)\b)",
    rf"(?P<on>(?:on|in|for) )?{_MORE}(?P<n>{_N})(?: or more)?(?P<row> (?:consecutive|straight|successive))? (?:{_COLOUR} )?(?:different |separate |trading )?{_STEP}(?P<more2> or more)?(?P<row2>{_ROW})?(?! (?:from|high|low|hence|ahead|out|later|average|moving))\b(?P<which> on which| in which| of gains| of losses)?(?: (?:in|of|during)(?= (?:the|its) next))?",
)  # fmt: skip
_COMPILED = [re.compile(rf"(?<![\w.]){form}") for form in _FORMS]


def take_counts(text: Text) -> None:
    """Take what counts steps, as the piece ``count``; averages, highs of so many weeks and lengths of volatilities as their own.

    >>> from workbench.questions.readings.tokens import text_of
    >>> text = text_of("closes higher on 3 of the next 5 days")
    >>> take_counts(text)
    >>> text.pieces[0].value
    Count(times=3, step='day', of=5, row=False, way='')
    """
    average = r"(?<![a-z0-9.])(\d{1,3}) ?(?:(?:trading )?days?|d)? ?(?:simple |exponential )?(?:moving average|average|d?ma|sma)(?!\w)"
    text.find(average, "average", lambda match: int(match[1]) if int(match[1]) < 400 else None)
    text.find(r"(?<!week )(?<!wk )\b(?:moving average|long term average)\b", "average", lambda match: 0)
    weeks = {"year": 52, "month": 52 / 12, "week": 1, "wk": 1, "day": 1 / 5}
    text.find(r"(?:a |an |its )?(?:new |fresh )?(?<![\d.])(\d+) ?(year|month|week|wk|day)(?= (?:closing )?(?:highs?|lows?)\b)", "weeks", lambda match: max(1, round(int(match[1]) * weeks[match[2]])))  # fmt: skip
    units = {"m": "month", "d": "trading day", "w": "week", "y": "year"}
    text.find(r"(?<![\d.])(\d+) ?(months?|days?|weeks?|years?|m|d|w|y)(?= (?:(?:annuali[sz]ed|forward|trailing) )*(?:realised|realized|actual|historical|vol|volatility)\b)", "length", lambda match: (int(match[1]), units[match[2][0]]))  # fmt: skip
    text.find(r"\b([2-9]) ?x(?= |$)", "multiple", lambda match: float(match[1]))
    text.find(r"\b(?:(?:new|fresh|its) (?:highs?|lows?|highest level|lowest level)|at its (?:highest|lowest) (?:level|close)) (?:for|of|on) the (?:yr|year)\b", "turn", lambda match: match[0])  # fmt: skip
    text.find(r"\b(?:into |in )?(?:the )?(single|double|triple) digits?\b", "digits", lambda match: match[1])
    for match in reversed([*re.finditer(r"(?:%|percent|points?|pts?|bps?) (?:(?:up|down|green|red) )?(?P<day>day|session)\b", text.masked)]):  # fmt: skip
        text.take(match.start("day"), match.end(), "step", "day")
    for form in _COMPILED:
        counted = form.search(text.masked)
        if counted and (found := _count(counted)) is not None:
            text.take(counted.start(), counted.end(), "count", found)
            return


def _count(match: re.Match[str]) -> Count | None:
    groups = match.groupdict()
    said = groups.get("all") or groups.get("n")
    times = 2 if groups.get("twice") else _number(said or "")
    row = bool(groups.get("row") or groups.get("row2"))
    way = "up" if groups.get("up") else "down" if groups.get("down") else ""
    step = groups.get("step") or {"daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter"}.get(groups.get("adverb") or "", "day")  # fmt: skip
    if match.re is _COMPILED[-1]:
        before = match.string[: match.start()]
        which = groups["which"] or ""
        way = way or ("up" if "gains" in which else "down" if "losses" in which else "")
        if times < 2 or re.search(r"(?:next|within|in|over|coming|following|past|last|the|first|final) $", before) or not (groups["more"] or (groups["on"] or "in").strip() != "in" or groups["more2"] or row or way or which):  # fmt: skip
            return None
    more = (groups.get("more") or "").startswith("more")
    of = groups.get("all") or groups.get("of")
    return Count(times=times + more, step=step, of=_number(of) if of else None, row=row, way=way)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else SMALL[text]
