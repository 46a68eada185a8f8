"""Which days a text speaks of: on a day, by a day, during a period, at a release or a meeting, measured from a day."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from workbench.questions.readings import calendar_days
from workbench.questions.readings.calendar_days import (
    FOMC,
    HOLIDAYS,
    MONTHS,
    WEEKDAYS,
    Period,
    after,
    holiday,
    months_of,
    period_of,
    weekday_after,
)

Kind = Literal["on", "by", "during", "since", "next_release", "next_meeting"]

#: What a choice between two meanings of a date is called in `Choices`.
DAY_FIRST, NEXT_WEEKDAY = "day first", "next weekday"
Choices = Mapping[str, int]

_M = "(?P<m>" + "|".join(MONTHS) + r")\b\.?"
_M_OR_DIGIT = "(?P<m>" + "|".join(MONTHS) + r")(?:\b\.?|(?=\d))"
_UNIT = r"(?P<unit>trading day|business day|session|day|d|week|month|quarter|half year|year|yr|half)s?"
_YEAR = r"(?P<y>(?:19|20)\d\d|'\d\d)"
_SEASON = r"(?P<rank>first|second|third|fourth|last|final|1st|2nd|3rd|4th)"
_RANKS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_SHIFT = {"this": 0, "the current": 0, "current": 0, "the": 0, "next": 1, "the next": 1, "the coming": 1, "coming": 1, "the following": 1}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWindow:
    """One window of a text, and where it stands.

    Parameters
    ----------
    kind : str
        ``on`` its last day; at any time ``by`` it; ``during`` all of it; ``since``: what changes are measured from;
        ``next_release`` and ``next_meeting``: of the period, or on the day, that ``end`` is.
    start : date, optional
        The day whose close changes are measured from; None is the last known value. Of ``since`` in "up on the week" the last day of
        that period, which is meant where no other day is named.
    period : bool
        Whether a calendar period is named, and not its end.
    from_month : date, optional
        The last day of the first month in "from June to July", which a change of a monthly series is measured from.
    """

    kind: Kind
    end: date
    start: date | None = None
    period: bool = False
    from_month: date | None = None
    span: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Day:
    span: tuple[int, int]
    day: date
    period: Period | None = None
    notes: tuple[str, ...] = ()


#: Stands for a day that the calendar does not have.
IMPOSSIBLE = "impossible"

DateMeaning = str | date | Period | tuple[date | Period, str] | None


def events(plain: str, today: date) -> tuple[str, tuple[ClaimWindow, ...]]:
    """Return the text with releases and meetings written over by ``W``, and these; before series are, which they name too."""
    matched: list[ClaimWindow] = []

    def take(match: re.Match[str], **fields: object) -> str:
        matched.append(ClaimWindow(span=match.span(), **fields))  # type: ignore[arg-type]
        return "W" * len(match[0])

    return _events(plain, today, take), tuple(matched)


def windows(plain: str, today: date, choices: Choices) -> tuple[str, tuple[ClaimWindow, ...], frozenset[str]]:
    """Return the text with its windows written over by ``W``, the windows, and the choices that their dates left open.

    >>> text, matched, _ = windows("wti above 80 by year end", date(2018, 6, 30), {})
    >>> text, matched[0].kind, matched[0].end.isoformat()
    ('wti above 80 WWWWWWWWWWW', 'by', '2018-12-31')
    """
    unsettled: set[str] = set()
    matched: list[ClaimWindow] = []

    def take(match: re.Match[str], **fields: object) -> str:
        matched.append(ClaimWindow(span=match.span(), **fields))  # type: ignore[arg-type]
        return "W" * len(match[0])

    plain = whole = _durations(plain, today, take)
    plain, days = _dates_written(plain, today, choices, unsettled)
    plain = _with_prepositions(plain, days, take, whole)
    return plain, tuple(sorted(matched, key=lambda each: each.span)), frozenset(unsettled)


_Take = Callable[..., str]


def _durations(plain: str, today: date, take: _Take) -> str:
    """Take lengths of time from now, as in "within 30 days" and "over the next 3 months"."""
    words = (
        "two|three|four|five|six|seven|eight|nine|ten|twelve|eighteen|twenty|thirty|sixty|ninety|couple of"
    )
    count = rf"(?:(?P<n>\d+|{words})|a|an|one)(?: calendar)?"
    values = dict(zip(words.split("|"), (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 18, 20, 30, 60, 90, 2), strict=True))

    def counted(text: str | None) -> int:
        return 1 if text is None else values.get(text) or int(text)

    def end(match: re.Match[str]) -> date:
        unit = {"yr": "year", "d": "day", "half year": "half"}.get(match["unit"], match["unit"])
        return after(today, counted(match["n"]), unit)

    plain = re.sub(
        rf"(?<!of )(?<!of the )\b(?:within|inside|(?:(?:at )?(?:any|some) ?(?:point|time) )?(?:in|over|during|for|across|throughout|within)? ?the (?:next|coming|following)|"
        rf"(?:in|over|during|for|within) (?:next|coming)|(?<=[ ])next|over|in less than|for)(?: the next)? {count}[- ]?{_UNIT}\b(?! (?:high|low|average|moving|yield|treasur))(?: period)?(?: from now)?",
        lambda m: take(m, kind="during", end=end(m)),
        plain,
    )
    plain = re.sub(
        rf"\b(?:on|over|at) an? {count}[- ]{_UNIT} horizon\b",
        lambda m: take(m, kind="during", end=end(m)),
        plain,
    )
    plain = re.sub(
        r"\b(?:(?:at )?some ?time |any ?time )?(?:in|over|during|within|for) the (?:next|coming|following) (?P<unit>week|month|half year|year)\b",
        lambda m: take(m, kind="during", end=after(today, 1, m["unit"].removesuffix(" year"))),
        plain,
    )
    plain = re.sub(
        rf"\b{count}[- ]{_UNIT} (?:from (?:now|today)|hence|out|ahead)\b|\bin {count.replace('<n>', '<n2>')}[- ]{_UNIT.replace('<unit>', '<unit2>')}(?:'?s?'? time)?\b(?! (?:high|low|of))",
        lambda m: take(
            m,
            kind="on",
            end=after(today, counted(m["n"] or m["n2"]), {"yr": "year"}.get(m["unit"] or m["unit2"], m["unit"] or m["unit2"])),
        ),
        plain,
    )  # fmt: skip
    plain = re.sub(
        r"\b(?:within|inside) the (?P<unit>week|month|quarter|year)\b(?! of)",
        lambda m: take(m, kind="during", end=after(today, 1, m["unit"])),
        plain,
    )
    # "up on the week": since the close of the week before
    return re.sub(
        r"\b(?:(?<=up )|(?<=down )|(?<=higher )|(?<=lower ))on the (?P<unit>week|month|quarter|year)\b",
        lambda m: take(
            m, kind="since", end=period_of(today, m["unit"]).before, start=period_of(today, m["unit"]).last
        ),
        plain,
    )


_MEETING = (
    r"(?:fomc|fed|federal reserve)(?:'?s)?(?: policy| rate)? (?:meeting|decision)|(?:fomc|rate decision)"
)
_RELEASE = (
    r"(?:(?:us )?(?:core )?(?:employment situation|cpi|inflation|jobs|payrolls?|nfp|employment|unemployment|gdp|pce|ppi|retail sales|data) )?"
    r"(?:release|report|print|reading|number|figure|data)s?(?: come out)?"
)


def _events(plain: str, today: date, take: _Take) -> str:
    def meeting(match: re.Match[str]) -> str:
        month = match.groupdict().get("m")
        if today < date(FOMC[0].year, 1, 1):
            return match[0]
        for day in FOMC:
            if day >= today and (month is None or day.month == MONTHS[month]):
                return take(match, kind="next_meeting", end=day)
        return match[0]

    def release(match: re.Match[str]) -> str:
        # A month's figure comes out about the middle of the next month; jobs on its first Friday.
        early = re.search("jobs|payroll|nfp|employment", plain) is not None
        day_of_release = 7 if early else 13
        month = period_of(today, "month", -1 if today.day < day_of_release else 0)
        return take(match, kind="next_release", end=month.last)

    plain = re.sub(
        rf"\b(?:(?:at|on|by|after|in|following) )?(?:the |its )?(?:next|coming|upcoming|following) (?:{_MEETING}|meeting)\b|\bwhen it next meets\b", meeting, plain
    )  # fmt: skip
    plain = re.sub(
        rf"\b(?:at|on|by|by the time of|after|in|following) (?:the |its )?{_M}(?: \d{{4}})? (?:{_MEETING}|meeting)\b", meeting, plain
    )  # fmt: skip
    return re.sub(
        rf"\b(?:(?:when|on|in|at|with|by) )?(?:the )?(?:next|coming|upcoming|following)(?: monthly)? {_RELEASE}\b", release, plain
    )  # fmt: skip


def _written_year(text: str, today: date) -> int:
    return int(text) if len(text) == 4 else today.year // 100 * 100 + int(text[-2:])


def _dates_written(plain: str, today: date, choices: Choices, unsettled: set[str]) -> tuple[str, list[_Day]]:
    """Write days over by ``D`` and periods by ``P``."""
    days: list[_Day] = []

    def put(match: re.Match[str], value: DateMeaning) -> str:
        notes: tuple[str, ...] = ()
        if isinstance(value, tuple):
            value, note = value
            notes = (note,)
        if value is None:
            return match[0]
        if isinstance(value, str):
            return "z" * len(match[0])  # a word that nobody knows: it stands in the way of a reading
        lead = len(match[0]) - len(match[0].lstrip())
        span = (match.start() + lead, match.end())
        if isinstance(value, Period):
            days.append(_Day(span, value.last, value, notes))
            return match[0][:lead] + "P" * (span[1] - span[0])
        days.append(_Day(span, value, None, notes))
        return match[0][:lead] + "D" * (span[1] - span[0])

    for pattern, meaning in _FORMS:
        for match in reversed([*pattern.finditer(plain)]):
            plain = (
                plain[: match.start()]
                + put(match, meaning(match, today, choices, unsettled))
                + plain[match.end() :]
            )
    return plain, days


_Meaning = Callable[[re.Match[str], date, Choices, set[str]], DateMeaning]


def _day_of(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _iso(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return _day_of(int(match[1]), int(match[2]), int(match[3])) or IMPOSSIBLE


def _slashed(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    first, second, sign = int(match["a"]), int(match["b"]), match["sign"]
    if not match["y"] and sign != "/":
        return None
    orders = [(first, second), (second, first)]  # (month, day): the American order is the first
    if sign == ".":
        orders.reverse()
    fits = [pair for pair in orders if pair[0] <= 12 and pair[1] <= 31]
    if not fits:
        return None
    if len(fits) == 2 and first != second and sign == "/":
        unsettled.add(DAY_FIRST)
        fits = fits[choices.get(DAY_FIRST, 0) :]
    month, day = fits[0]
    if match["y"]:
        text = match["y"]
        return _day_of(int(text) if len(text) == 4 else 2000 + int(text), month, day)
    return _next_such(today, month, day)


def _next_such(today: date, month: int, day: int) -> date | None:
    value = _day_of(today.year, month, day)
    return value if value is None or value >= today else _day_of(today.year + 1, month, day)


def _day_month(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    month, day = MONTHS[match["m"]], int(match["d"])
    if match["y"]:
        return _day_of(_written_year(match["y"], today), month, day) or IMPOSSIBLE
    return _next_such(today, month, day) or IMPOSSIBLE


def _holiday(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    years = [int(match["y"])] if match["y"] else [today.year, today.year + 1, today.year + 2]
    return next((day for year in years if (day := holiday(match["name"], year)) and day >= today), None)


def _weekday(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    if (match["next"] or "").strip() == "next":
        unsettled.add(NEXT_WEEKDAY)
        return weekday_after(today, WEEKDAYS[match["w"]], choices.get(NEXT_WEEKDAY, 0))
    return weekday_after(today, WEEKDAYS[match["w"]])


def _near(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return today + timedelta(days=1) if match[0] == "tomorrow" else today


def _quarter(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return _part_of_year(match, today, int(match["q"]), 3)


def _half(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return _part_of_year(match, today, int(match["q"]), 6)


def _ranked(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    size = 3 if match["part"] == "quarter" else 6
    rank = _RANKS.get(match["rank"], 12 // size)
    return _part_of_year(match, today, rank, size) if rank <= 12 // size else None


def _part_of_year(match: re.Match[str], today: date, number: int, size: int) -> Period:
    text = match["y"]
    if text and text.endswith("year"):
        return months_of(today.year + ("next" in text), size * (number - 1) + 1, size)
    if text:
        return months_of(_written_year(text, today), size * (number - 1) + 1, size)
    part = months_of(today.year, size * (number - 1) + 1, size)
    return part if part.last >= today else months_of(today.year + 1, size * (number - 1) + 1, size)


def _month(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    month, year = MONTHS[match["m"]], match.groupdict().get("y")
    if year:
        return months_of(_written_year(year, today), month)
    part = months_of(today.year, month)
    over = part.last < today or (
        "next" in match.groupdict() and match["next"] is not None and part.first <= today
    )
    return months_of(today.year + 1, month) if over else part


def _year(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return months_of(int(match["y"]), 1, 12)


def _this_or_next(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return period_of(today, match["unit"], _SHIFT[match["which"]])


def _rest(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    unit = match["unit"]
    end = period_of(today, unit).last if unit in ("week", "month", "quarter", "half", "year") else months_of(int(unit), 1, 12).last  # fmt: skip
    return Period(first=today, last=end) if end >= today else None


def _end_of_unit(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    unit = {"y": "year", "m": "month", "q": "quarter", "w": "week"}[match["unit"][0]]
    return period_of(today, unit).last


def _season(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    first = {"winter": 12, "spring": 3, "summer": 6}.get(match["season"] or "fall", 9)
    seasons = (
        Period(first=date(year, first, 1), last=months_of(year + (first == 12), (first + 1) % 12 + 1).last)
        for year in range(today.year - 1, today.year + 3)
    )
    season = next(
        each for each in seasons if each.last >= today and (match["which"] != "next" or each.first > today)
    )
    return season, f"the season is read as {season.first} to {season.last}"


def _over(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return period_of(today, match["unit"] or "year").last


def _fiscal_year(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    year = _written_year(match["y"], today)
    return months_of(year, 1, 12), f"the fiscal year is read as the calendar year {year}"


def _week_of_month(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    month = _month(match, today, choices, unsettled)
    if not isinstance(month, Period):
        return None
    rank = _RANKS.get(match["rank"])
    monday = weekday_after(month.first - timedelta(days=1), 0, rank - 1) if rank else weekday_after(month.last - timedelta(days=7), 0)  # fmt: skip
    return Period(first=monday, last=monday + timedelta(days=4))


def _option_expiry(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    months = (period_of(today, "month", shift).first for shift in (0, 1))
    days = (weekday_after(first - timedelta(days=1), 4, 2) for first in months)
    return next(day for day in days if day >= today), "options expire on the third Friday of the month"


def _a_unit_later(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return after(today, 1, match["unit"])


def _this_and_next(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return Period(first=today, last=period_of(today, match["unit"], 1).last)


def _last_quarter(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return months_of(today.year, 10, 3)


def _year_turn(match: re.Match[str], today: date, choices: Choices, unsettled: set[str]) -> DateMeaning:
    return date(_written_year(match["y"] or match.groupdict().get("short") or "", today), 12, 31)


#: "The June number": of the month, whenever it comes out.
_PRINT = r"(?: (?:jobs |cpi )?(?:report|number|print|reading|release|figure|data)s?\b)?"
_OF_YEAR = r"(?:[ ,'/-]*(?:of )?(?P<y>(?:19|20)\d\d|'?\d\d(?!\d|%|k)|(?:the|this|next) year))?"
_FORMS: tuple[tuple[re.Pattern[str], _Meaning], ...] = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b", _iso),
        (r"(?<![\d.,$])(?<!\d )(?P<a>\d{1,2})(?P<sign>[/.-])(?P<b>\d{1,2})(?:(?P=sign)(?P<y>(?:20)?\d\d))?(?![\d%/.,])\b(?! ?(?:%|percent|points?|bps?|k\b))", _slashed),
        (rf"\b(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:[ -]of)?[ -]{_M}(?:[ ,-]+{_YEAR}\b)?", _day_month),
        (rf"\b{_M_OR_DIGIT}[ -]?(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?![,.]?\d)(?:,? {_YEAR}\b)?", _day_month),
        (rf"\b(?P<name>{HOLIDAYS})\b(?: day)?(?: (?:of )?(?P<y>(?:19|20)\d\d))?", _holiday),
        (r"\b(?:this )?(?P<next>next |this |coming |this coming )?(?P<w>" + "|".join(WEEKDAYS) + r")\b(?:'s (?:close|bell))?", _weekday),
        (r"\btomorrow\b|\btoday\b|\btonight\b", _near),
        (rf"\b(?:year[- ]?end|eoy|ye)(?: (?:of )?|-)?{_YEAR}\b|\b(?:eoy|ye) ?(?P<short>\d\d)\b", _year_turn),
        (r"\bend[- ](?P<y>(?:19|20)\d\d)\b", _year_turn),
        (r"(?:(?<=before )|(?<=by the time )|(?<=until ))(?P<which>the|this) (?P<unit>year|quarter|month|week) (?:(?:is|runs) (?:out|over)|ends)\b", _over),
        (r"(?:(?<=before )|(?<=by the time )|(?<=until ))(?P<y>(?:19|20)\d\d) (?:is|runs) (?:out|over)\b", _year_turn),
        (r"\b(?:the )?(?:last|final) (?:three|3) months of (?:the )?(?P<unit>year)\b", _last_quarter),
        (rf"\b(?:the )?{_SEASON} week (?:of|in) {_M}(?:,? {_YEAR}\b)?", _week_of_month),
        (r"\bopex\b|\boptions? expir(?:y|ation)\b", _option_expiry),
        (r"\bthis time next (?P<unit>week|month|quarter|year)\b", _a_unit_later),
        (r"\bthis (?P<unit>week|month|quarter|year) or next\b", _this_and_next),
        (r"\b(?:the )?(?:rest|remainder|balance) of (?:the |this )?(?P<unit>week|month|quarter|half|year|(?:19|20)\d\d)\b", _rest),
        (r"(?:\b(?P<which>the|this|next|the coming|coming) |(?<=end of )|(?<=end )|(?<=by )|(?<=before ))(?P<season>winter|summer|spring(?! (?:meeting|strip))|autumn)\b(?! strip)|(?:(?<=this )|(?<=in the )|(?<=over the ))(?P<fall>fall)\b", _season),
        (r"\b(?:the )?(?P<unit>year|month|quarter|week)(?:'s)?[- ]?end\b", _end_of_unit),
        (r"\beo(?P<unit>[ymqw])\b", _end_of_unit),
        (r"\bend of (?P<unit>year|month|quarter|week)\b", _end_of_unit),
        (r"\b(?P<y>(?:19|20)\d\d) ?q(?P<q>[1-4])\b", _quarter),
        (r"\b(?P<y>(?:19|20)\d\d) ?h(?P<q>[12])\b", _half),
        (rf"\b(?:quarter |q)(?P<q>[1-4])\b{_OF_YEAR}", _quarter),
        (rf"\b(?P<q>[1-4])q{_OF_YEAR}", _quarter),
        (rf"\bh(?P<q>[12])\b{_OF_YEAR}", _half),
        (rf"\b(?P<q>[12])h{_OF_YEAR}", _half),
        (rf"\b(?:the )?{_SEASON} (?P<part>quarter|half)\b{_OF_YEAR}", _ranked),
        (r"(?<=the )(?P<m>may|march|mar) (?:jobs |cpi )?(?:report|number|print|reading|release|figure|data)s?\b", _month),
        (r"\b(?P<next>next )(?P<m>may|march|mar)\b", _month),
        (rf"\b(?!may )(?!mar )(?!march )(?:the month of )?(?P<next>next )?{_M},?(?: (?:of )?{_YEAR}\b)?(?:'s)?{_PRINT}", _month),
        (rf"(?:(?<=in )|(?<=by )|(?<=of )|(?<=before )|(?<=until )|(?<=through )|(?<=during )|(?<=since )|(?<=for )|(?<=next )|(?<=end )|(?<=from )|(?<=to )|(?<=than ))(?P<m>may|march|mar)\b,?(?: {_YEAR}\b)?{_PRINT}", _month),
        (r"\b(?P<m>may|march|mar) (?:of )?(?P<y>(?:19|20)\d\d)\b", _month),
        (r"\b(?P<which>this|the current|current|the next|next|the coming|coming|the following)(?: calendar| trading)? (?P<unit>week|month|quarter|half|year)\b(?! (?:highs?|lows?)\b)", _this_or_next),
        (r"(?:(?<=of )|(?<=ends )|(?<=end )|(?<=closes )|(?<=close )|(?<=finishes )|(?<=finish )|(?<=for ))(?P<which>the) (?P<unit>week|month|quarter|half|year)\b(?! (?:highs?|lows?)\b)", _this_or_next),
        (r"(?:(?<=in )|(?<=of )|(?<=during )|(?<=for )|(?<=over )|(?<=by )|(?<=before )|(?<=until )|(?<=through )|(?<=year )|(?<=ends )|(?<=end )|(?<=closes )|(?<=close )|(?<=finishes )|(?<=finish )|(?<=settles )|(?<=settle )|(?<=ending )|(?<=closing )|(?<=finishing )|(?<=since )|(?<=mid-)|(?<=mid )|(?<=early )|(?<=late )|(?<=than )|(?<=throughout )|(?<=to )|(?<=into )|(?<=after )|(?<=all )|(?<=calendar )|(?<=from ))(?P<y>(?:19|20)\d\d)(?![\d%.,]\d)\b(?! (?:points?|dollars?|usd|a ))", _year),
        (r"^(?P<y>(?:19|20)\d\d)(?= (?:closes?|ends?|will|higher|lower|is))", _year),
        (r"(?<=[\dk%] )(?P<y>(?:19|20)\d\d)$", _year),
        (r"\b(?P<y>(?:19|20)\d\d)(?='?s? (?:clos(?:e|ing)|final|year-end|gains?|returns?|rise|loss|fall|performance|high|low|average)\b)", _year),
        (r"\bfy ?-?(?P<y>(?:20)?\d\d)\b", _fiscal_year),
    )
)  # fmt: skip


def _with_prepositions(plain: str, days: list[_Day], take: _Take, whole: str) -> str:
    """Join days and periods with the words before and after them."""
    edges = sorted(days, key=lambda each: each.span)

    def value(match: re.Match[str], name: str) -> _Day:
        return next(each for each in edges if each.span[0] == match.start(name))

    # "end of P", "P's close", "start of P", "mid-P"
    def edge(match: re.Match[str]) -> str:
        matched = value(match, "p")
        period = matched.period or Period(first=matched.day, last=matched.day)
        word = match["word"] or "end"
        middle = period.first + (period.last - period.first) / 2
        day = period.first if word in ("start", "beginning") else period.last
        notes = matched.notes
        if word.startswith("mid"):
            day = middle if (period.last - period.first).days < 200 else date(period.first.year, 6, 30)
            notes = (*notes, f"the middle is read as {day}")
        edges.append(_Day(match.span(), day, None, notes))
        return "D" * len(match[0])

    # "by the first day of spring, March 20": what is named there is the day that follows
    plain = re.sub(
        r"(?<![a-z])(?P<word>by|before|until|at|on|come|ahead of) (?:the )?[a-z]+(?: [a-z]+){0,4}(?:, ?| \()(?=D)",
        lambda m: m["word"].ljust(len(m[0])),
        plain,
    )
    # "on election day, November 4th": the second says which day the first is.
    plain = re.sub(r"D+(,? ?\(?)(?=D)(?!DD*D-)", lambda m: "z" * 0 + " " * len(m[0]) if m[1] else m[0], plain)
    day_pattern = r"(?P<p>[DP]+)"
    plain = re.sub(rf"(?:the )?(?<!\d )(?<!% )(?P<word>end|close|start|beginning|middle|(?:last|final)(?: trading)? day)(?: of|[- ])(?: the)? ?{day_pattern}", edge, plain)  # fmt: skip
    plain = re.sub(rf"(?P<word>mid)[- ]?{day_pattern}", edge, plain)
    plain = re.sub(rf"{day_pattern}(?P<word>)(?:'s)? (?:end|close)(?= |$)(?<! close of)", edge, plain)
    plain = re.sub(r"(?P<p>P+) (?:year|quarter|month)-?end\b(?P<word>)", edge, plain)

    def span(match: re.Match[str]) -> str:
        first, last = value(match, "a"), value(match, "b")
        since = first.period.before if first.period else first.day
        return take(match, kind="during", start=since, end=last.day, from_month=_from_month(first, last), notes=first.notes + last.notes)  # fmt: skip

    two = r"(?P<a>D+)(?: close)?{0}(?P<b>[DP]+)"
    plain = re.sub(two.format(" ?- ?"), span, plain)
    joined = r" ?(?:to|and|until|through|till|-) "
    plain = re.sub(r"\b(?:from|between) " + two.format(joined).replace("D+", "[DP]+", 1), span, plain)

    def base(match: re.Match[str]) -> str:
        matched = value(match, "q" if match.groupdict().get("q") else "p")
        return take(match, kind="since", end=matched.day, notes=matched.notes)

    plain = re.sub(rf"\b(?:than|since|from|versus|vs\.?|compared (?:to|with)|relative to|against)(?: it (?:was|did|closed|is))?(?: (?:on|in|at|the))* {day_pattern}(?:'s)?(?: close| level| value)?", base, plain)  # fmt: skip
    plain = re.sub(rf"\b(?:its|their) (?:close (?:on|of)|level (?:on|of|at)) {day_pattern}|\b(?:its|their|the) {day_pattern.replace('<p>', '<q>')}(?:'s)? (?:close|level|value)", base, plain)  # fmt: skip

    def beyond(match: re.Match[str]) -> str:
        # "above its 2017 close": the comparison stays for who reads relations.
        place = (match.end("keep") + 1, match.end())
        take(_Part(match, place), kind="since", end=value(match, "p").day, notes=value(match, "p").notes)
        return match["keep"] + " " + "W" * (place[1] - place[0])

    plain = re.sub(rf"\b(?P<keep>above|below|over|under|beyond|exceeds?|tops?) (?:its|the|their) {day_pattern}(?:'s)?(?: (?:close|level|value))?(?= |$)", beyond, plain)  # fmt: skip

    def with_word(match: re.Match[str]) -> str:
        matched = value(match, "p")
        return take(
            match,
            **_meaning(match["word"].strip(), matched, whole[slice(*matched.span)]),
            notes=matched.notes,
        )

    words = (
        r"at any (?:point|time) (?:before|during|in|by|until)|at some point (?:in|during|before|by)|(?:any ?time|some ?time|(?:at least )?once) (?:before|during|in|by|through|until)|"
        r"by the time|all through|by or before|on or before|no later than|not later than|prior to|ahead of|before|by|through to|through|until|till|up to|up until|"
        r"within|during|throughout|over the course of|over|in the course of|in|for|on|as of|at|come|this|all|all of|for all of|"
        r"(?:for |over |through )?(?:the )?(?:whole|entirety|duration|length|full length) of|@"
    )
    plain = re.sub(rf"\b(?P<word>{words})(?: the)?(?: (?:close (?:of|on)|full|whole|entire|calendar))* *(?<= ){day_pattern}(?:'s close)?", with_word, plain)  # fmt: skip

    def closing(match: re.Match[str]) -> str:
        matched = value(match, "p")
        # Only the words of the day: the verb stays for who reads relations.
        take_at = (match.start("p"), match.end("p"))
        take(_Part(match, take_at), kind="on", end=matched.day, start=matched.period.before if matched.period else None, notes=matched.notes)  # fmt: skip
        return match[0][: take_at[0] - match.start()] + "W" * (take_at[1] - take_at[0])

    plain = re.sub(rf"\b(?:(?<!\d )(?<!% )(?<!\ba )close|closes|ends?|finish(?:es)?|settles?|closing|ending|finishing)(?: off| out)? {day_pattern}", closing, plain)  # fmt: skip

    def bare(match: re.Match[str]) -> str:
        matched = value(match, "p")
        return take(match, **_meaning("in" if matched.period else "on", matched, ""), notes=matched.notes)

    return re.sub(day_pattern, bare, plain)


def _from_month(first: _Day, last: _Day) -> date | None:
    """Return the last day of a month that another month is compared with."""
    if first.period is None or last.period is None or (first.period.last - first.period.first).days > 31:
        return None
    return first.period.last


class _Part:
    """A part of a match, with the two things of a match that `take` reads."""

    def __init__(self, match: re.Match[str], span: tuple[int, int]) -> None:
        self._place, self._text = span, match.string[slice(*span)]

    def span(self) -> tuple[int, int]:
        return self._place

    def __getitem__(self, group: int) -> str:
        return self._text


def _meaning(word: str, matched: _Day, written: str) -> dict[str, object]:
    """Kind, end and start that a preposition gives a day or a period."""
    period = matched.period
    if re.search(r"end|eo[ymqw]\b|\bye\b|close|over|out|last", written) and not period:
        word = (
            "by" if re.search("before|prior|ahead", word) else word
        )  # before the end of a year its last day counts
    if re.search("before|prior|ahead", word) and word not in ("by or before", "on or before"):
        day = period.first if period else matched.day
        return {"kind": "by", "end": day - timedelta(days=1), "period": period is not None}
    until = word in (
        "by", "by or before", "on or before", "no later than", "not later than", "through", "through to", "until", "till", "up to", "up until", "within", "come",
    ) and not (word == "within" and period)  # fmt: skip
    if until or re.search("any|some|once", word):
        start = period.before if period and re.search("in$|during$", word) else None
        return {"kind": "by", "end": matched.day, "start": start, "period": period is not None}
    if period:
        return {"kind": "during", "start": period.before, "end": period.last, "period": True}
    return {"kind": "on", "end": matched.day} if word not in ("throughout", "during", "over") else {"kind": "during", "end": matched.day}  # fmt: skip


def monthly_steps(start: date, end: date) -> Iterator[date]:
    """Return the last days of the months that a window touches."""
    year, month = start.year, start.month
    while date(year, month, 1) <= end:
        yield months_of(year, month).last
        year, month = calendar_days.later_month(year, month, 1)
