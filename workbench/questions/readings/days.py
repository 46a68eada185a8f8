"""The days that a text speaks of: as it writes them, and as a window, which lies on a day, by it, during a period, or is measured from one."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache, partial
from typing import Any, Literal

from workbench.questions.readings.amounts import SMALL, number_in_words
from workbench.questions.readings.calendar_days import (
    FOMC,
    MONTHS,
    WEEKDAYS,
    Period,
    after,
    holiday,
    later_month,
    months_of,
    period_of,
    weekday_after,
)
from workbench.questions.readings.lexicon import lexicon
from workbench.questions.readings.tokens import Text

Kind = Literal["on", "by", "during", "since", "next_release", "next_meeting"]
#: What a choice between two meanings of a date is called.
DAY_FIRST, NEXT_WEEKDAY, SEASON_END = "day first", "next weekday", "season end"
_Match = re.Match[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window of a text; a day or a period that a text names is one whose kind nothing has said yet."""

    #: ``on`` its last day; at any time ``by`` it; ``during`` all of it; ``since``: what changes are measured from; ``next_release`` and
    #: ``next_meeting``: of the period, or on the day, that ``end`` is.
    kind: Kind = "on"
    end: date
    #: The day whose close changes are measured from; None is the last known value. Of ``since`` in "up on the week" the last day of that
    #: period, which is meant where no other day is named.
    start: date | None = None
    #: The calendar period that is named.
    period: Period | None = None
    #: The last day of the first month in "from June to July", which a change of a monthly series is measured from.
    from_month: date | None = None
    notes: tuple[str, ...] = ()
    #: The year is written.
    full: bool = False
    #: How often such a day or period comes, where no text says which one is meant; it is the coming one until a second day shows another.
    recurs: Literal["", "week", "year"] = ""
    #: Its name, where it is one.
    holiday: str = ""
    #: "At some point in", and "throughout".
    once: bool = False
    always: bool = False
    #: The end of a period is named: before it, it counts itself.
    edge: bool = False
    #: No text names it.
    supposed: bool = False


@dataclass(slots=True)
class Calendar:
    """What days are counted from, and how their open choices are settled; ``asked`` are those that came up. No day: none is counted."""

    today: date | None
    choices: Mapping[str, int] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def choose(self, name: str) -> int:
        """Return which of two meanings is taken, from 0."""
        self.asked.add(name)
        return self.choices.get(name, 0)

    def coming(self, of_year: Callable[[int], Window | None], *, begun: bool = True) -> Window | None:
        """The next of what comes once a year; one that has ``begun`` counts as long as it lasts."""
        if self.today is None:
            return None
        for year in range(self.today.year - 1, self.today.year + 4):
            found = of_year(year)
            if found and found.end >= self.today and (begun or not found.period or found.period.first > self.today):  # fmt: skip
                return found
        return None


def _of(period: Period, **fields: Any) -> Window:
    return Window(end=period.last, period=period, **fields)


_M = "(?P<m>" + "|".join(MONTHS) + r")\b\.?"
_Y = r"(?P<y>(?:19|20)\d\d|'\d\d)"
_OF_YEAR = r"(?:[ ,'/-]*(?:of |in )?(?P<y>(?:19|20)\d\d|'?\d\d(?! ?(?:\d|%|k))|(?:the|this|next) year))?"
_COUNT = r"(?P<n>\d+|" + "|".join(sorted((*(f"{ten} {one}" for ten in ("twenty", "thirty") for one in ("one", "five")), *SMALL, "couple of"), key=len, reverse=True)) + ")"  # fmt: skip
_UNIT = r"(?P<unit>h(?:ou)?r|trading day|business day|session|day|d|wk|week|fortnight|month|mth|quarter|half year|year|yr|half|(?<=\d)(?:mo?|w|y))s?"
_UNITS = {"yr": "year", "y": "year", "d": "day", "w": "week", "wk": "week", "m": "month", "mo": "month", "mth": "month", "half year": "half"}  # fmt: skip
_RANKS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 0, "final": 0, "closing": 0, "opening": 1}  # fmt: skip
_RANK = "(?P<rank>" + "|".join(_RANKS) + ")"
_PRINT = (
    r"(?: (?:jobs |cpi |inflation |employment )?(?:report|number|print|reading|release|figure|data)s?\b)?"
)


def _year(match: _Match, calendar: Calendar) -> int | None:
    text = match.groupdict().get("y")
    if text is None:
        return None
    if text.endswith("year"):
        return calendar.today.year + ("next" in text) if calendar.today else None
    return int(text) if len(text) == 4 else 2000 + int(text[-2:])


def _yearly(
    match: _Match, calendar: Calendar, of_year: Callable[[int], Window | None], **how: bool
) -> Window | None:
    """In the year that is written, else the next time."""
    year = _year(match, calendar)
    if year is None:
        coming = None if match.groupdict().get("y") else calendar.coming(of_year, **how)
        return coming and replace(coming, recurs="year")
    found = of_year(year)
    return found and replace(found, full=True)


def _day(month: int, day: int, year: int) -> Window | None:
    try:
        return Window(end=date(year, month, day))
    except ValueError:
        return None


def _months(first: int, count: int, year: int) -> Window:
    return _of(months_of(year, first, count))


def _iso(match: _Match, calendar: Calendar) -> Window | str:
    found = _day(int(match[2]), int(match[3]), int(match[1]))
    return replace(found, full=True) if found else "impossible"


def _slashed(match: _Match, calendar: Calendar) -> Window | None:
    first, second, sign, year = int(match["a"]), int(match["b"]), match["sign"], match["y"]
    if not year and sign != "/":
        return None
    orders = [(first, second), (second, first)]  # (month, day): the American order is the first
    if sign == ".":
        orders.reverse()
    fits = [pair for pair in orders if pair[0] <= 12 and pair[1] <= 31]
    if len(fits) == 2 and first != second and sign == "/":
        fits = fits[calendar.choose(DAY_FIRST) :]
    return _yearly(match, calendar, partial(_day, *fits[0])) if fits else None


def _day_month(match: _Match, calendar: Calendar) -> Window | str:
    return _yearly(match, calendar, partial(_day, MONTHS[match["m"]], int(match["d"]))) or "impossible"


def _holiday(match: _Match, calendar: Calendar) -> Window | None:
    def of_year(year: int) -> Window | None:
        day = holiday(match["name"], year)
        return day and Window(end=day, holiday=match["name"])  # type: ignore[return-value]

    found = _yearly(match, calendar, of_year)
    if found and re.search(r"\b(?:by|until|till|come) (?:the )?$", match.string[: match.start()]) and re.fullmatch(r"new years?(?:'s?)?(?: (?:of )?\d{4})?", match[0]):  # fmt: skip
        return replace(found, end=found.end - timedelta(days=1))  # "by new year 2027" is by the end of 2026
    return found


def _weekday(match: _Match, calendar: Calendar) -> Window | str | None:
    if calendar.today is None:
        return None
    if re.search(r"\b(?:an?|any|some|each|every) $", match.string[: match.start()]):
        return "impossible"  # "on a Friday" is none in particular
    weeks = calendar.choose(NEXT_WEEKDAY) if (match["next"] or "").strip() == "next" else 0
    return Window(end=weekday_after(calendar.today, WEEKDAYS[match["w"]], weeks), recurs="week")


def _part_of_year(match: _Match, calendar: Calendar) -> Window | None:
    """The quarter or half that a match numbers: in figures, by its rank, or by its last month."""
    groups = match.groupdict()
    size = 6 if "h" in groups or groups.get("part") == "half" else 3
    if figure := groups.get("q") or groups.get("h"):
        number = int(figure)
    elif last := groups.get("last"):
        number = MONTHS[last] // 3
    else:
        number = _RANKS[match["rank"]] or 12 // size
    return _yearly(match, calendar, partial(_months, size * (number - 1) + 1, size)) if number <= 12 // size else None  # fmt: skip


def _month(match: _Match, calendar: Calendar) -> Window | None:
    return _yearly(match, calendar, partial(_months, MONTHS[match["m"]], 1), begun=not match.groupdict().get("next"))  # fmt: skip


def _end_of_month(match: _Match, calendar: Calendar) -> Window | None:
    found = _month(match, calendar)
    return found and replace(found, period=None, edge=True)


def _whole_year(match: _Match, calendar: Calendar) -> Window | None:
    year = _year(match, calendar)
    if (
        match.string[: match.start()].endswith("than ")
        and calendar.today
        and abs((year or 0) - calendar.today.year) > 5
    ):
        return None  # "no lower than 2000" is a level
    return year and replace(_months(1, 12, year), full=True)  # type: ignore[return-value]


def _this_or_next(match: _Match, calendar: Calendar) -> Window | None:
    shift = int(re.search("next|coming|following|upcoming", match["which"]) is not None)
    return calendar.today and _of(period_of(calendar.today, match["unit"], shift))  # type: ignore[return-value]


def _rest(match: _Match, calendar: Calendar) -> Window | None:
    today, unit = calendar.today, match["unit"]
    if today is None:
        return None
    if unit.isdigit():
        end = date(int(unit), 12, 31)
    elif unit in MONTHS:
        end = months_of(today.year, MONTHS[unit]).last
    else:
        end = period_of(today, unit).last
    return _of(Period(first=today, last=end)) if end >= today else None


def _end_of_unit(match: _Match, calendar: Calendar) -> Window | None:
    unit = {"y": "year", "m": "month", "q": "quarter", "w": "week"}[match["unit"][0]]
    return calendar.today and Window(end=period_of(calendar.today, unit).last, edge=True)  # type: ignore[return-value]


def _season(match: _Match, calendar: Calendar) -> Window | None:
    first = {"winter": 12, "spring": 3, "summer": 6}.get(match["season"], 9)

    def of_year(year: int) -> Window:
        last = months_of(year + (first == 12), (first + 1) % 12 + 1).last
        return _of(Period(first=date(year, first, 1), last=last))

    found = _yearly(match, calendar, of_year, begun=match["which"] != "next")
    if not found or not found.period:
        return found
    if calendar.choose(SEASON_END):
        # By the sun a season ends about the 21st of the month after.
        year, month = later_month(found.end.year, found.end.month, 1)
        found = _of(Period(first=found.period.first, last=date(year, month, 22 if month == 9 else 20)))
    assert found.period
    return replace(found, notes=(f"the season is read as {found.period.first} to {found.period.last}",))


def _week_of_month(match: _Match, calendar: Calendar) -> Window | None:
    month = _month(match, calendar)
    if month is None or month.period is None:
        return None
    rank = _RANKS[match["rank"]]
    monday = weekday_after(month.period.first - timedelta(days=1), 0, rank - 1) if rank else weekday_after(month.end - timedelta(days=7), 0)  # fmt: skip
    return _of(Period(first=monday, last=monday + timedelta(days=4)))


def _expiry(match: _Match, calendar: Calendar) -> Window | None:
    if calendar.today is None:
        return None
    months = [(calendar.today.year, MONTHS[match["m"]])] if match["m"] else [later_month(calendar.today.year, calendar.today.month, i) for i in (0, 1)]  # fmt: skip
    fridays = (weekday_after(date(*month, 1) - timedelta(days=1), 4, 2) for month in months)
    day = next((day for day in fridays if day >= calendar.today), None)
    return day and Window(end=day, notes=("options expire on the third Friday of the month",))  # type: ignore[return-value]


def _year_end(match: _Match, calendar: Calendar) -> Window | None:
    year = _year(match, calendar) or (2000 + int(match["short"]) if match["short"] else None)
    return year and Window(end=date(year, 12, 31), full=True, edge=True)  # type: ignore[return-value]


def _middle_of_year(match: _Match, calendar: Calendar) -> Window | None:
    return _yearly(match, calendar, partial(_day, 6, 30))


def _today(match: _Match, calendar: Calendar) -> Window | None:
    return calendar.today and Window(end=calendar.today + timedelta(days=match[0] == "tomorrow"))  # type: ignore[return-value]


def _fiscal(match: _Match, calendar: Calendar) -> Window | None:
    found = _whole_year(match, calendar)
    return found and replace(found, notes=(f"the fiscal year is read as the calendar year {found.end.year}",))


_BEFORE_A_PERIOD = r"(?:(?<=in )|(?<=of )|(?<=during )|(?<=for )|(?<=over )|(?<=by )|(?<=before )|(?<=until )|(?<=till )|(?<=through )|(?<=year )|(?<=ends )|(?<=end )|(?<=closes )|(?<=close )|(?<=finishes )|(?<=finish )|(?<=settles )|(?<=settle )|(?<=ending )|(?<=closing )|(?<=finishing )|(?<=since )|(?<=mid )|(?<=early )|(?<=late )|(?<=than )|(?<=throughout )|(?<=to )|(?<=into )|(?<=after )|(?<=all )|(?<=calendar )|(?<=from )|(?<=next )|(?<=between )|(?<=start )|(?<=out )|(?<=on )|(?<=at )|(?<=and ))"
_Meaning = Callable[[_Match, Calendar], Any]
_FORMS: tuple[tuple[str, _Meaning], ...] = (
    (r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b", _iso),
    (r"(?<![\d.,$-])(?<!\d )(?P<a>\d{1,2})(?P<sign>[/.-])(?P<b>\d{1,2})(?:(?P=sign)(?P<y>(?:20)?\d\d))?(?![\d%/.,])\b(?! ?(?:%|percent|points?|bps?|k\b))", _slashed),
    (rf"\b(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_M}(?:[ ,]+{_Y}\b)?", _day_month),
    (rf"\b(?P<m>{'|'.join(MONTHS)})(?:\b\.?|(?=\d)) ?(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?![,.]?\d)(?:,? {_Y}\b)?", _day_month),
    (r"\b(?:november'?s )?(?P<name>{holidays})\b(?: day)?(?: (?:of )?(?P<y>(?:19|20)\d\d))?", _holiday),
    (r"\b(?:this )?(?P<next>next |this |coming |this coming )?(?P<w>" + "|".join(WEEKDAYS) + r")\b(?:'s (?:close|bell))?", _weekday),
    (r"(?<!than )(?<!from )(?<!versus )(?<!vs )(?<!above )(?<!below )(?:\btomorrow\b|\btoday\b|\btonight\b)(?!'s)", _today),
    (rf"\b(?:year ?end|eoy|ye)(?: (?:of )?|-)?{_Y}\b|\b(?:eoy|ye) ?(?P<short>\d\d)\b", _year_end),
    (r"\b(?:the )?(?P<rank>last|final) (?:three|3) months of (?P<y>the year|(?:19|20)\d\d)\b", _part_of_year),
    (r"\b(?:the )?(?P<rank>first|opening) (?:three|3) months of (?P<y>the year|next year|(?:19|20)\d\d)\b", _part_of_year),
    (rf"\b(?:the )?{_RANK} week (?:of|in) {_M}(?:,? {_Y}\b)?", _week_of_month),
    (rf"\b(?:{_M} )?(?:opex|options? expir(?:y|ation))\b", _expiry),
    (r"\bthis time next (?P<unit>week|month|quarter|year)\b", lambda match, calendar: calendar.today and Window(end=after(calendar.today, 1, match["unit"]))),
    (r"\bthis (?P<unit>week|month|quarter|year) (?:or|and) next\b", lambda match, calendar: calendar.today and _of(Period(first=calendar.today, last=period_of(calendar.today, match["unit"], 1).last))),
    (r"\b(?:the )?(?:rest|remainder|balance) of (?:the |this )?(?P<unit>week|month|quarter|half|year|(?:19|20)\d\d|" + "|".join(MONTHS) + r")\b", _rest),
    (r"(?:\b(?P<which>the|this|next|the coming|coming|the whole) |(?<=end of )|(?<=end )|(?<=by )|(?<=before )|(?<=all )|(?<=until )|(?<=in )(?=[a-z]+ 20\d\d))(?P<season>winter|summer|spring(?! (?:meeting|strip))|autumn|(?<=this )fall|(?<=by )fall|(?<=in the )fall)\b(?! strip)(?: (?:of )?(?P<y>20\d\d))?(?: (?:is|runs) (?:out|over))?", _season),
    (r"\bmid ?year(?: (?:of )?(?P<y>(?:19|20)\d\d))?\b", _middle_of_year),
    (rf"\b(?:eo[mqy]|(?:the )?end of (?:the )?month|month ?end)(?: of| in)? (?!(?:may|march|mar) [a-z]){_M}(?:,? {_Y}\b)?", _end_of_month),
    (r"\b(?:the )?(?:turn of the )?(?P<unit>year|month|quarter|week)(?:'s)? ?end\b(?! (?:of )?(?:19|20)\d\d)", _end_of_unit),
    (r"\b(?:the )?turn of the (?P<unit>year)\b", _end_of_unit),
    (r"\beo(?=q[1-4])q(?P<q>[1-4])" + _OF_YEAR, _part_of_year),
    (r"\beo(?P<unit>[ymqw])\b", _end_of_unit),
    (r"\bye\b(?=$|[ ,.])(?<!until ye)", lambda match, calendar: calendar.today and Window(end=date(calendar.today.year, 12, 31), edge=True)),
    (r"\b(?P<y>(?:19|20)\d\d) ?q(?P<q>[1-4])\b", _part_of_year),
    (r"\b(?P<y>(?:19|20)\d\d) ?h(?P<h>[12])\b", _part_of_year),
    (rf"\b(?:quarter |q)(?P<q>[1-4])\b{_OF_YEAR}", _part_of_year),
    (rf"\b(?P<q>[1-4])q\b{_OF_YEAR}", _part_of_year),
    (rf"\bh(?P<h>[12])\b{_OF_YEAR}", _part_of_year),
    (r"\b(?P<q>[1-4])q(?P<y>\d\d)\b", _part_of_year),
    (rf"\b(?P<h>[12])h{_OF_YEAR}", _part_of_year),
    (rf"\b(?:the )?(?:{_M}(?: |-| to | through )(?P<last>march|mar|june|jun|september|sept|sep|december|dec)\b\.?) (?:quarter|period)\b", _part_of_year),
    (r"\b(?:the )?(?:three|3) months (?:to|through|ending(?: in)?|until) (?P<last>march|mar|june|jun|september|sept|sep|december|dec)\b", _part_of_year),
    (rf"\b(?:the )?{_RANK} (?P<part>quarter|half)\b{_OF_YEAR}", _part_of_year),
    (rf"(?<=the )(?P<m>may|march|mar){_PRINT.removesuffix('?')}", _month),
    (rf"\b(?!may\b)(?!mar\b)(?!march\b)(?:the month of )?(?P<next>next )?{_M},?(?: (?:of )?{_Y}\b)?(?:'s)?{_PRINT}", _month),
    (rf"{_BEFORE_A_PERIOD}(?P<m>may|march|mar)\b,?(?: {_Y}\b)?{_PRINT}|\b(?P<next>next )(?P<m2>may|march|mar)\b", lambda match, calendar: _month(match, calendar) if match["m"] else None),
    (r"\b(?P<m>may|march|mar) (?:of )?(?P<y>(?:19|20)\d\d)\b", _month),
    (r"\b(?P<which>this|the current|current|the next|next|the coming|coming|the following|the upcoming)(?: calendar| trading)? (?P<unit>week|month|quarter|half|year)\b(?! (?:highs?|lows?)\b)", _this_or_next),
    (r"(?:(?<=of )|(?<=ends )|(?<=end )|(?<=closes )|(?<=close )|(?<=finishes )|(?<=finish )|(?<=ending )|(?<=closing )|(?<=finishing )|(?<=out )|(?<=for )|(?<=into )|(?<=before )|(?<=time )|(?<=until )|(?<=when ))(?P<which>the|this) (?P<unit>week|month|quarter|half|year)\b(?! (?:highs?|lows?)\b)", _this_or_next),
    (r"(?:(?<=ends )|(?<=end )|(?<=end of )|(?<=finishes )|(?<=finish )|(?<=closes )|(?<=all )|(?<=into ))(?P<which>)(?P<unit>week|month|quarter|year)\b", _this_or_next),
    (rf"{_BEFORE_A_PERIOD}(?P<y>(?:19|20)\d\d)(?![\d%.,]\d)\b(?! ?(?:points?|dollars?|usd|a |%|percent|bp|handle))", _whole_year),
    (r"^(?P<y>(?:19|20)\d\d)(?= (?:closes?|ends?|will|higher|lower|is|up|down))", _whole_year),
    (r"(?<=[\dk%] )(?P<y>(?:19|20)\d\d)$", _whole_year),
    (r"\b(?P<y>(?:19|20)\d\d)(?='?s? (?:clos(?:e|ing)|final|year end|gains?|returns?|rise|loss|fall|performance|high|low|average|up|down|higher|lower)\b)", _whole_year),
    (r"\bfy ?(?P<y>(?:20)?\d\d)\b", _fiscal),
)  # fmt: skip


@cache
def _forms() -> list[tuple[re.Pattern[str], _Meaning]]:
    holidays = "|".join(sorted(map(re.escape, lexicon().holidays), key=len, reverse=True))
    return [(re.compile(pattern.replace("{holidays}", holidays)), meaning) for pattern, meaning in _FORMS]


#: "Early 2019", "the end of Q3", "mid-July".
_EDGES = (
    r"(?P<word>early|late)(?: in(?: the)?)? (?P<p>P++)",
    r"(?:the )?(?<!\d )(?<!% )(?P<word>end|close|start|beginning|middle|back end|first day|opening|(?:last|final) (?:trading |business )?(?:day|session))(?: of)?(?: the)? (?P<p>[DP]++)(?: (?:is|runs) (?:out|over))?",
    r"(?P<word>mid) ?(?P<p>[DP]++)",
    r"(?P<p>P++)(?P<word>)(?:'s)? (?:end|close)(?= |$)(?<! close of)",
    r"(?P<p>P++) (?:year|quarter|month) ?end\b(?P<word>)",
    r"(?:(?<=before )|(?<=time )|(?<=until )|(?<=when ))(?P<p>P++)(?P<word>) (?:(?:is|runs) (?:out|over|through|done|finished|up)|ends|closes|draws to (?:a|its) close|comes to an end)\b",
)  # fmt: skip


def take_days(text: Text, calendar: Calendar, *, iso: bool = False) -> None:
    """Take the days and periods of a text, as pieces ``D`` and ``P``; ``iso`` only those written so."""
    for pattern, meaning in _forms()[: 1 if iso else None]:
        for match in reversed([*pattern.finditer(text.masked)]):
            found = meaning(match, calendar)
            if isinstance(found, str):
                text.take(match.start(), match.end(), found, match[0])
            elif found is not None:
                text.take(match.start(), match.end(), "P" if found.period else "D", found)
    for edge in _EDGES:
        text.find(rf"\b{edge}", "D", partial(_edge, text))
    # "On election day, November 4th": the second says which day the first is.
    for match in reversed([*re.finditer(r"D+(?:,? ?\(?)(?=D)", text.masked)]):
        if match.end() - match.start() and not re.search(r"D\d|-$", match[0]) and match[0].strip("D"):
            second = text.at(match.end())
            text.take(match.start(), second.end, "D", second.value)


def _edge(text: Text, match: _Match) -> Window | None:
    if re.search(r"\b(?:best|worst|highest|lowest|record)(?: S+)? $", text.masked[: match.start()]):
        return None  # "the highest close of the quarter" is not its last
    found: Window = text.at(match.start("p")).value
    word, period = match["word"], found.period
    if word in ("early", "late"):
        if period is None:
            return None
        cut = _third(period, early=word == "early")
        note = f"{word!r} is read as {cut.first} to {cut.last}"
        return replace(found, end=cut.last, period=cut, notes=(*found.notes, note))
    period = period or Period(first=found.end, last=found.end)
    if word in ("start", "beginning", "first day", "opening"):
        return replace(found, end=period.first, period=None)
    if word in ("mid", "middle"):
        days = (period.last - period.first).days
        day = period.first + timedelta(days=14 if 27 <= days <= 30 else days // 2)
        if days > 200:
            day = date(period.first.year, 6, 30)
        return replace(found, end=day, period=None, notes=(*found.notes, f"the middle is read as {day}"))
    return replace(found, end=period.last, period=None, edge=True)


def _third(period: Period, *, early: bool) -> Period:
    """A quarter of a year, a month of a quarter, ten days of a month."""
    days = (period.last - period.first).days
    months = 3 if days > 300 else 1 if days > 80 else 0
    if not months:
        cut = timedelta(days=days // 3 - 1)
        return replace(period, last=period.first + cut) if early else replace(period, first=period.last - cut)
    edge = period.first if early else period.last
    month = date(*later_month(edge.year, edge.month, months if early else 1 - months), 1)
    return replace(period, last=month - timedelta(days=1)) if early else replace(period, first=month)


_LEVEL = r"(?:levels?|price|close|value|settings?|stance|quote|reading|print)"
_WHERE = r"(?:where (?:it|they) (?:is|are|stands?|trades?)|(?:it|they) (?:is|are|does|do|was|were|stands?))"


def last_weekday(calendar: Calendar) -> str:
    """The name of the weekday whose close is the last known one."""
    assert calendar.today is not None, "what a text without a day of its own says is not counted from one"
    return tuple(WEEKDAYS)[[*WEEKDAYS.values()].index(min(calendar.today.weekday(), 4))]


def _counted_from(match: _Match, today: date) -> date:
    said, unit = match.groupdict().get("n"), _UNITS.get(match["unit"], match["unit"])
    count = 1 if said is None else 2 if said == "couple of" else int(said) if said.isdigit() else int(number_in_words(said))  # fmt: skip
    if unit in ("hour", "hr"):
        return after(today, -(-count // 24), "day")
    return after(today, 2 * count, "week") if unit == "fortnight" else after(today, count, unit)


def _over(text: Text, today: date, match: _Match) -> Window:
    once, always = _SOME.match(match[0]) is not None, "throughout" in match[0]
    return Window(kind="during", end=_counted_from(match, today), once=once, always=always)


def _later(text: Text, today: date, match: _Match) -> Window:
    return Window(kind="on", end=_counted_from(match, today))


def _on_the_week(text: Text, today: date, match: _Match) -> Window:
    # "Up on the week": since the close of the week before.
    week = period_of(today, match["unit"])
    return Window(kind="since", end=week.before, start=week.last)


_SOME = re.compile(r"at (?:any|some)|(?:any|some) ?time|(?:at least )?once")
_MEETS = r"(?:(?:fomc|fed|federal reserve)(?:'?s)?(?: policy| rate)? (?:meeting|decision)|fomc|rate decision|meeting|gathering|get together)"
_NEXT = "(?:next|coming|upcoming|following)"
_MEETINGS = (
    rf"\b(?:(?:at|on|by|after|in|following|before|ahead of|prior to|until) )?(?:the |its |their )?{_NEXT} (?:policy |rate setting |rate )?{_MEETS}\b",
    r"\b(?:when|once|the next time|next time) (?:the )?(?:it|they|fed|fomc|committee|policy ?makers|officials|rate setters)(?: next)? (?:meets?|convenes?|gathers?|sits? down)(?: next| again)?\b",
    rf"\b(?:at|on|by|by the time(?: of)?|after|in|following|before|ahead of|prior to|until) (?:the |its )?(?:\d{{1,2}}(?:[a-z]+)? )?{_M}(?: \d{{1,2}}(?:-\d{{1,2}})?)?(?: \d{{4}})? {_MEETS}(?: ends| is over)?\b",
    r"\bat the next (?:one|go)\b",
)  # fmt: skip
_RELEASE = r"(?:(?:us )?(?:core )?(?:employment situation|cpi|inflation|jobs|payrolls?|nfp|employment|unemployment|gdp|pce|ppi|retail sales|data) )?(?:release|report|print|reading|number|figure|data)s?(?: come out)?"
_RELEASES = (
    rf"\b(?:(?:when|on|in|at|with|by|as) )?(?:the )?{_NEXT}(?: monthly| weekly)? {_RELEASE}(?: (?:drops?|lands?|comes? out|(?:is|are) (?:out|released|published)))?\b",
    r"\bwhen (?:the )?(?:[a-z]+ ){1,3}next (?:reports?|publishes)\b",
    r"\b(?:in )?(?:next |this |this coming )?(?:monday|tuesday|wednesday|thursday|friday)'s (?:jobs |payrolls? |employment |cpi )?(?:report|release|print|number|figure|data)\b",
)  # fmt: skip


def _meeting(text: Text, today: date, match: _Match) -> Window | None:
    month = match.groupdict().get("m")
    if today < date(FOMC[0].year, 1, 1):
        return None
    day = next((day for day in FOMC if day >= today and (month is None or day.month == MONTHS[month])), None)
    if day is not None and re.match("before|ahead|prior|until", match[0]):
        return Window(kind="by", end=day - timedelta(days=1))
    return day and Window(kind="next_meeting", end=day)  # type: ignore[return-value]


def _release(text: Text, today: date, match: _Match) -> Window:
    # A month's figure comes out about the middle of the next month; jobs on its first Friday.
    early = re.search("jobs|payroll|nfp|employment", text.plain) is not None
    return Window(kind="next_release", end=period_of(today, "month", -1 if today.day < (7 if early else 13) else 0).last)  # fmt: skip


_UNTIL = r"at any (?:point|time) (?:before|during|in|by|until)|at some (?:point|stage) (?:in|during|before|by|over)|(?:any ?time|some ?time|(?:at least )?once) (?:before|during|in|by|through|until|this|over)|by the time|all through|by or before|on or before|(?:no|not) later than|prior to|ahead of|this side of|before|by|through to|through|thru|until|till|up to|up until|within|during|throughout|over the course of|over|in the course of|in|into|for|on|as of|at|come|this|all of|all|for all of|(?:for |over |through )?(?:the )?(?:whole|entirety|duration|length|full length|entire) (?:of)?|@|between now and|from (?:now|here|today) (?:to|until|till|through)|when|of"


def _between(text: Text, today: date, match: _Match) -> Window:
    first, last = text.at(match.start("a")).value, text.at(match.start("b")).value
    longer = first.period is not None and (first.period.last - first.period.first).days > 31
    if last.recurs:
        # "In 2018 through September" ends in that year, "from July to July" in the next.
        last = _after(last, first.period.first if longer else first.end)
    else:  # "from 9 January to 30 June 2026": the year belongs to both
        first = before(first, last.end)
    since = first.period.before if first.period else first.end
    months = first.period and last.period and not longer
    return Window(kind="during", start=since, end=last.end, from_month=first.period.last if months else None, notes=first.notes + last.notes, full=last.full)  # fmt: skip


def _since(text: Text, today: date, match: _Match) -> Window:
    found: Window = text.at(match.start("p")).value
    known = found.recurs == "week" or re.search(r"\b(?:its|their|close|level|value)\b", match[0])
    if found.end > today and found.recurs and not found.period and known:
        found = before(found, today + timedelta(days=1))  # "its June 29 close" is the last one
    return Window(kind="since", end=found.end, period=found.period, notes=found.notes, full=found.full, recurs=found.recurs)  # fmt: skip


def _as_its_word_says(text: Text, today: date, match: _Match) -> Window:
    piece = text.at(match.start("p"))
    word = (match["word"] or "").strip()
    if word in ("until", "till") and re.search(r"\b(?:not|never)\b", text.plain[: match.start()]):
        word = "before"  # "not until 2019"
    return _meaning(word, piece.value, text.plain[piece.start : piece.end], today)


def _at_its_close(text: Text, today: date, match: _Match) -> Window:
    found: Window = text.at(match.start("p")).value
    return replace(found, kind="on", start=found.period.before if found.period else None)


_DURING = r"(?:in|over|during|for|across|throughout|within|inside)"
_ANY_TIME = r"(?:(?:at )?(?:any|some) ?(?:point|time|stage) |any ?time |some ?time |once )?"
_SO_MANY = rf"(?:{_COUNT}|an?|one)(?: calendar)?"
_CLOSES = "|".join(f"(?<={verb} )" for verb in ("close", "closes", "end", "ends", "finish", "finishes", "settle", "settles", "closing", "ending", "finishing", "closes out", "ends off", "close out"))  # fmt: skip

_Says = Callable[[Text, date, _Match], Window | None]
#: Releases and meetings; before series, which they name too.
EVENTS: tuple[tuple[str, _Says], ...] = (*((each, _meeting) for each in _MEETINGS), *((each, _release) for each in _RELEASES))  # fmt: skip
#: What is counted from today: "within 90 days", "in three months", "over the next year".
SPANS: tuple[tuple[str, _Says], ...] = (
    (rf"(?<!of )(?<!of the )\b{_ANY_TIME}(?:(?:within|inside)(?: the (?:next|coming|following))?|{_DURING} ?the (?:next|coming|following)|{_DURING} (?:next|coming)|(?:the )?next|over|in less than|for|in under) {_SO_MANY} ?{_UNIT}\b(?! (?:high|low|average|moving|yield|treasur))(?: period)?(?: from (?:now|today))?", _over),
    (rf"\b(?:on|over|at) an? {_SO_MANY} {_UNIT} horizon\b", _over),
    (rf"\b{_ANY_TIME}{_DURING} the (?:next|coming|following) (?P<unit>week|month|half year|year)\b", _over),
    (r"\b(?:within|inside) (?:the|a) (?P<unit>week|month|quarter|year)\b(?! of)", _over),
    (rf"\bin (?!(?:an?|one|1|any) (?:single )?(?:day|session)\b)(?!one ){_SO_MANY} ?{_UNIT}(?:'?s?'? time)?\b(?! (?:high|low|of))", _later),
    (rf"\b{_SO_MANY}(?: |(?<=\d)){_UNIT} (?:from (?:now|today)|hence|out|ahead|later)\b", _later),
    (r"(?:(?<=up )|(?<=down )|(?<=higher )|(?<=lower ))on the (?P<unit>week|month|quarter|year)\b", _on_the_week),
)  # fmt: skip
#: Days together with the words before them; ``D`` and ``P`` are days and periods that were taken.
WINDOWS: tuple[tuple[str, _Says], ...] = (
    (r"(?P<a>D+)(?: close)? ?- ?(?P<b>[DP]++)", _between),
    (r"(?:at some point |once |sometime )?\b(?:from|between|in|in either|during) (?:the )?(?P<a>[DP]+)(?: close)?(?:'s close)? ?(?:to|and|until|through|till|or|-) (?:the )?(?P<b>[DP]++)", _between),
    (r"(?P<a>P+)(?: close)? (?:to|through|until|till) (?P<b>[DP]++)", _between),
    (r"(?<!later )\b(?:than|since|from|versus|vs\.?|compared (?:to|with)|relative to|against|off)(?: it (?:was|did|closed|is))?(?: (?:on|in|at|the|its))* (?P<p>[DP]++)(?:'s)?(?: close| level| value)?(?! (?:to|through|until|high|low|peak|top))", _since),
    (r"\b(?:its|their) (?:close (?:on|of)|level (?:on|of|at)) (?P<p>[DP]++)", _since),
    (r"\b(?:(?:its|their|the) )?(?P<p>[DP]++)(?:'s)? (?:close|level|value)(?! to)", _since),
    (r"(?:(?<=above )|(?<=below )|(?<=over )|(?<=under )|(?<=beyond )|(?<=exceeds )|(?<=exceed )|(?<=tops ))(?:its|the|their) (?P<p>[DP]++)(?:'s)?(?: (?:close|level|value))?(?= |$)", _since),
    (rf"(?:{_CLOSES})(?<!\d close )(?<!% close )(?<!a close )(?P<p>[DP]++)", _at_its_close),
    (rf"\b(?P<word>{_UNTIL})(?: the)?(?: (?:close (?:of|on)|full|whole|entire|calendar|data for|month of|us|u\.s\.|presidential))* *(?<= )(?P<p>[DP]++)(?:'s close|'s data)?(?: (?:data|reading|print)\b)?", _as_its_word_says),
    (r"(?P<p>[DP]++)(?P<word>)(?:'s)?", _as_its_word_says),
)  # fmt: skip


def take_windows(text: Text, rules: Sequence[tuple[str, _Says]], today: date) -> None:
    """Take what a table of windows has patterns for, as pieces ``W``."""
    for pattern, says in rules:
        text.find(pattern, "W", partial(says, text, today))


def before(found: Window, day: date) -> Window:
    """Return a window that recurs as the last one of its kind before a day; any other as it is."""
    found = _after(found, day)
    while found.recurs and found.end >= day and found.end.year > _ERAS[0]:
        found = _shifted(found, -1)
    return found


def _after(found: Window, day: date) -> Window:
    while found.recurs and found.end <= day and found.end.year < _ERAS[1]:
        found = _shifted(found, 1)
    return found


def _shifted(found: Window, times: int) -> Window:
    def shift(day: date, *, last: bool = found.edge) -> date:
        # Of a last day the day after it is shifted, so that the last day of February stays one.
        return after(day + timedelta(days=last), times, found.recurs) - timedelta(days=last)

    if found.holiday:
        years = (holiday(found.holiday, found.end.year + times * i) for i in range(1, 5))
        return replace(found, end=next(filter(None, years)))
    if (period := found.period) is None:
        return replace(found, end=shift(found.end))
    period = Period(first=shift(period.first, last=False), last=shift(period.last, last=True))
    return replace(found, end=period.last, period=period)


#: Years that a day without one may lie in.
_ERAS = (1900, 2200)


def _meaning(word: str, found: Window, written: str, today: date) -> Window:
    period = found.period
    early = re.search("before|prior|ahead|this side", word) is not None and word not in ("by or before", "on or before")  # fmt: skip
    once = _SOME.match(word) is not None
    if early and period is not None and period.first <= today and not re.search(r"\d\d|'\d|\b(?:this|current|next|coming|year)\b|^(?:the )?(?:week|month|quarter|half)$", written):  # fmt: skip
        shifted = Period(first=after(period.first, 1, "year"), last=after(period.last, 1, "year"))
        period = shifted
    if early and found.edge:
        return replace(found, kind="by", once=once)  # before the end of a year its last day counts
    if early:
        return replace(found, kind="by", end=(period.first if period else found.end) - timedelta(days=1), period=period, once=once)  # fmt: skip
    until = word in ("by", "by the time", "by or before", "on or before", "no later than", "not later than", "through", "thru", "through to", "until", "till", "up to", "up until", "between now and") or word.startswith("from ") or (word == "within" and not period) or (word == "come" and period is not None)  # fmt: skip
    if until or once:
        start = period.before if period and re.search("(?:in|during|this|over)$", word) else None
        return replace(found, kind="by", start=start, once=once)
    always = re.search("throughout|^all|^for all|whole|entire|duration|length|all through", word) is not None
    if period:
        return replace(found, kind="during", start=period.before, always=always)
    if word in ("throughout", "during", "over"):
        return replace(found, kind="during", always=always)
    return replace(found, kind="on", always=always)
