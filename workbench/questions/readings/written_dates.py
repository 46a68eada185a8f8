"""Days and periods as texts write them: 12/31/2018, "3rd of May", "Q4", "next Friday", "year end", "this summer"."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from workbench.questions.readings.calendar_days import (
    HOLIDAYS,
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

#: What a choice between two meanings of a date is called in `Choices`.
DAY_FIRST, NEXT_WEEKDAY, SEASON_END = "day first", "next weekday", "season end"
Choices = Mapping[str, int]
#: Which meaning of two a date has; asking leaves it unsettled.
Choose = Callable[[str], int]
_Match = re.Match[str]

_M = "(?P<m>" + "|".join(MONTHS) + r")\b\.?"
_M_OR_DIGIT = "(?P<m>" + "|".join(MONTHS) + r")(?:\b\.?|(?=\d))"
_YEAR = r"(?P<y>(?:19|20)\d\d|'\d\d)"
_SEASON = r"(?P<rank>first|second|third|fourth|last|final|1st|2nd|3rd|4th)"
_RANKS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_SHIFT = {"this": 0, "the current": 0, "current": 0, "the": 0, "next": 1, "the next": 1, "the coming": 1, "coming": 1, "the following": 1}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DateMention:
    """A day, or a period with its last day, and where the text names it."""

    span: tuple[int, int]
    day: date
    period: Period | None = None
    notes: tuple[str, ...] = ()


#: Stands for a day that the calendar does not have.
IMPOSSIBLE = "impossible"

DateMeaning = str | date | Period | tuple[date | Period, str] | None


#: A deadline; "on new year's day" is a day of its own.
_BY_NEW_YEAR = re.compile(r"\b(?:by|until|till|come) (?:the )?new years?(?:'s?)?(?: (?:of )?(?:19|20)\d\d)?$")


def _written_year(text: str, today: date) -> int:
    return int(text) if len(text) == 4 else today.year // 100 * 100 + int(text[-2:])


def written_dates(
    plain: str, today: date, choices: Choices, unsettled: set[str]
) -> tuple[str, list[DateMention]]:
    """Write days over by ``D`` and periods by ``P``."""
    days: list[DateMention] = []

    def choose(name: str) -> int:
        unsettled.add(name)
        return choices.get(name, 0)

    def put(match: _Match, value: DateMeaning) -> str:
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
            days.append(DateMention(span, value.last, value, notes))
            return match[0][:lead] + "P" * (span[1] - span[0])
        days.append(DateMention(span, value, None, notes))
        return match[0][:lead] + "D" * (span[1] - span[0])

    for pattern, meaning in _FORMS:
        for match in reversed([*pattern.finditer(plain)]):
            plain = plain[: match.start()] + put(match, meaning(match, today, choose)) + plain[match.end() :]
    return plain, days


def _day_of(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _slashed(match: _Match, today: date, choose: Choose) -> DateMeaning:
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
        fits = fits[choose(DAY_FIRST) :]
    month, day = fits[0]
    if match["y"]:
        text = match["y"]
        return _day_of(int(text) if len(text) == 4 else 2000 + int(text), month, day)
    return _next_such(today, month, day)


def _next_such(today: date, month: int, day: int) -> date | None:
    value = _day_of(today.year, month, day)
    return value if value is None or value >= today else _day_of(today.year + 1, month, day)


def _day_month(match: _Match, today: date, choose: Choose) -> DateMeaning:
    month, day = MONTHS[match["m"]], int(match["d"])
    if match["y"]:
        return _day_of(_written_year(match["y"], today), month, day) or IMPOSSIBLE
    return _next_such(today, month, day) or IMPOSSIBLE


def _holiday(match: _Match, today: date, choose: Choose) -> DateMeaning:
    years = [int(match["y"])] if match["y"] else [today.year, today.year + 1, today.year + 2]
    day = next((day for year in years if (day := holiday(match["name"], year)) and day >= today), None)
    if day is not None and _BY_NEW_YEAR.search(match.string[: match.end()]):
        return day - timedelta(days=1)  # "by new year 2027" is by the end of 2026
    return day


def _weekday(match: _Match, today: date, choose: Choose) -> DateMeaning:
    if re.search(r"\b(?:an?|any|some|each|every) $", match.string[: match.start()]):
        return IMPOSSIBLE  # "on a Friday" is none in particular
    if (match["next"] or "").strip() == "next":
        return weekday_after(today, WEEKDAYS[match["w"]], choose(NEXT_WEEKDAY))
    return weekday_after(today, WEEKDAYS[match["w"]])


def _quarter(match: _Match, today: date, choose: Choose) -> DateMeaning:
    return _part_of_year(match, today, int(match["q"]), 3)


def _half(match: _Match, today: date, choose: Choose) -> DateMeaning:
    return _part_of_year(match, today, int(match["q"]), 6)


def _over(match: _Match, today: date, choose: Choose) -> DateMeaning:
    return period_of(today, match["unit"] or "year").last


def _ranked(match: _Match, today: date, choose: Choose) -> DateMeaning:
    size = 3 if match["part"] == "quarter" else 6
    rank = _RANKS.get(match["rank"], 12 // size)
    return _part_of_year(match, today, rank, size) if rank <= 12 // size else None


def _part_of_year(match: _Match, today: date, number: int, size: int) -> Period:
    text = match["y"]
    if text and text.endswith("year"):
        return months_of(today.year + ("next" in text), size * (number - 1) + 1, size)
    if text:
        return months_of(_written_year(text, today), size * (number - 1) + 1, size)
    part = months_of(today.year, size * (number - 1) + 1, size)
    return part if part.last >= today else months_of(today.year + 1, size * (number - 1) + 1, size)


def _month(match: _Match, today: date, choose: Choose) -> DateMeaning:
    month, year = MONTHS[match["m"]], match.groupdict().get("y")
    if year:
        return months_of(_written_year(year, today), month)
    part = months_of(today.year, month)
    over = part.last < today or (
        "next" in match.groupdict() and match["next"] is not None and part.first <= today
    )
    return months_of(today.year + 1, month) if over else part


def _middle_of_year(match: _Match, today: date, choose: Choose) -> DateMeaning:
    if match["y"]:
        return date(_written_year(match["y"], today), 6, 30)
    return date(today.year + (today > date(today.year, 6, 30)), 6, 30)


def _year(match: _Match, today: date, choose: Choose) -> DateMeaning:
    year = int(match["y"])
    if match.string[: match.start()].endswith("than ") and abs(year - today.year) > 5:
        return None  # "no lower than 2000" is a level
    return months_of(year, 1, 12)


def _this_or_next(match: _Match, today: date, choose: Choose) -> DateMeaning:
    return period_of(today, match["unit"], _SHIFT[match["which"]])


def _rest(match: _Match, today: date, choose: Choose) -> DateMeaning:
    unit = match["unit"]
    end = period_of(today, unit).last if unit in ("week", "month", "quarter", "half", "year") else months_of(int(unit), 1, 12).last  # fmt: skip
    return Period(first=today, last=end) if end >= today else None


def _end_of_unit(match: _Match, today: date, choose: Choose) -> DateMeaning:
    unit = {"y": "year", "m": "month", "q": "quarter", "w": "week"}[match["unit"][0]]
    return period_of(today, unit).last


def _season_of(name: str, year: int) -> Period:
    first = {"winter": 12, "spring": 3, "summer": 6}.get(name, 9)
    return Period(first=date(year, first, 1), last=months_of(year + (first == 12), (first + 1) % 12 + 1).last)


def _season(match: _Match, today: date, choose: Choose) -> DateMeaning:
    name = match["season"] or "fall"
    if match["y"]:
        return _season_of(name, int(match["y"]))
    seasons = (_season_of(name, year) for year in range(today.year - 1, today.year + 3))
    season = next(
        each for each in seasons if each.last >= today and (match["which"] != "next" or each.first > today)
    )
    if choose(SEASON_END):
        # By the sun a season ends about the 21st of the month after.
        year, month = later_month(season.last.year, season.last.month, 1)
        season = Period(first=season.first, last=date(year, month, 22 if month == 9 else 20))
    return season, f"the season is read as {season.first} to {season.last}"


def _fiscal_year(match: _Match, today: date, choose: Choose) -> DateMeaning:
    year = _written_year(match["y"], today)
    return months_of(year, 1, 12), f"the fiscal year is read as the calendar year {year}"


def _week_of_month(match: _Match, today: date, choose: Choose) -> DateMeaning:
    month = _month(match, today, choose)
    if not isinstance(month, Period):
        return None
    rank = _RANKS.get(match["rank"])
    monday = weekday_after(month.first - timedelta(days=1), 0, rank - 1) if rank else weekday_after(month.last - timedelta(days=7), 0)  # fmt: skip
    return Period(first=monday, last=monday + timedelta(days=4))


def _season_over(match: _Match, today: date, choose: Choose) -> DateMeaning:
    ends = (_season_of(match["season"], year).last for year in range(today.year - 1, today.year + 2))
    return next(day for day in ends if day >= today)


def _option_expiry(match: _Match, today: date, choose: Choose) -> DateMeaning:
    note = "options expire on the third Friday of the month"
    if match["m"]:
        return _third_friday(_month_on(match, today).first), note
    days = (_third_friday(period_of(today, "month", shift).first) for shift in (0, 1))
    return next(day for day in days if day >= today), note


def _third_friday(first: date) -> date:
    return weekday_after(first - timedelta(days=1), 4, 2)


def _month_on(match: _Match, today: date) -> Period:
    month = months_of(today.year, MONTHS[match["m"]])
    return month if month.last >= today else months_of(today.year + 1, MONTHS[match["m"]])


def _year_turn(match: _Match, today: date, choose: Choose) -> DateMeaning:
    return date(_written_year(match["y"] or match.groupdict().get("short") or "", today), 12, 31)


#: "The June number": of the month, whenever it comes out.
_PRINT = r"(?: (?:jobs |cpi )?(?:report|number|print|reading|release|figure|data)s?\b)?"
_OF_YEAR = r"(?:[ ,'/-]*(?:of )?(?P<y>(?:19|20)\d\d|'?\d\d(?!\d|%|k)|(?:the|this|next) year))?"
_MEANINGS: tuple[tuple[str, Callable[[_Match, date, Choose], DateMeaning]], ...] = (
        (r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b", lambda match, today, choose: _day_of(int(match[1]), int(match[2]), int(match[3])) or IMPOSSIBLE),
        (r"(?<![\d.,$])(?<!\d )(?P<a>\d{1,2})(?P<sign>[/.-])(?P<b>\d{1,2})(?:(?P=sign)(?P<y>(?:20)?\d\d))?(?![\d%/.,])\b(?! ?(?:%|percent|points?|bps?|k\b))", _slashed),
        (rf"\b(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:[ -]of)?[ -]{_M}(?:[ ,-]+{_YEAR}\b)?", _day_month),
        (rf"\b{_M_OR_DIGIT}[ -]?(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?![,.]?\d)(?:,? {_YEAR}\b)?", _day_month),
        (rf"\b(?:november'?s )?(?P<name>{HOLIDAYS})\b(?: day)?(?: (?:of )?(?P<y>(?:19|20)\d\d))?", _holiday),
        (r"\b(?:this )?(?P<next>next |this |coming |this coming )?(?P<w>" + "|".join(WEEKDAYS) + r")\b(?:'s (?:close|bell))?", _weekday),
        (r"\btomorrow\b|\btoday\b|\btonight\b", lambda match, today, choose: today + timedelta(days=1) if match[0] == "tomorrow" else today),
        (rf"\b(?:year[- ]?end|eoy|ye)(?: (?:of )?|-)?{_YEAR}\b|\b(?:eoy|ye) ?(?P<short>\d\d)\b", _year_turn),
        (r"\bend[- ](?P<y>(?:19|20)\d\d)\b", _year_turn),
        (r"(?:(?<=before )|(?<=by the time )|(?<=until ))(?P<which>the|this) (?P<unit>year|quarter|month|week) (?:(?:is|runs) (?:out|over)|ends)\b", _over),
        (r"(?:(?<=before )|(?<=by the time )|(?<=until ))(?P<y>(?:19|20)\d\d) (?:is|runs) (?:out|over)\b", _year_turn),
        (r"\b(?:the )?(?:last|final) (?:three|3) months of (?:the )?(?P<unit>year)\b", lambda match, today, choose: months_of(today.year, 10, 3)),
        (rf"\b(?:the )?{_SEASON} week (?:of|in) {_M}(?:,? {_YEAR}\b)?", _week_of_month),
        (rf"\b(?:{_M} )?(?:opex|options? expir(?:y|ation))\b", _option_expiry),
        (r"(?:(?<=before )|(?<=by the time )|(?<=until ))(?:the )?(?P<season>winter|summer|spring|autumn) (?:is|runs) (?:out|over)\b", _season_over),
        (r"\bwhen (?P<y>(?:19|20)\d\d) (?:draws to (?:a|its) close|comes to an end|ends|is over)\b", _year_turn),
        (r"\bthis time next (?P<unit>week|month|quarter|year)\b", lambda match, today, choose: after(today, 1, match["unit"])),
        (r"\bthis (?P<unit>week|month|quarter|year) (?:or|and) next\b", lambda match, today, choose: Period(first=today, last=period_of(today, match["unit"], 1).last)),
        (r"\b(?:the )?(?:rest|remainder|balance) of (?:the |this )?(?P<unit>week|month|quarter|half|year|(?:19|20)\d\d)\b", _rest),
        (r"(?:\b(?P<which>the|this|next|the coming|coming) |(?<=end of )|(?<=end )|(?<=by )|(?<=before )|(?<=all ))(?P<season>winter|summer|spring(?! (?:meeting|strip))|autumn)\b(?! strip)(?: (?:of )?(?P<y>20\d\d))?|(?:(?<=this )|(?<=all )|(?<=in the )|(?<=over the )|(?<=by )|(?<=before )|(?<=by the ))(?P<fall>fall)\b", _season),
        (r"\b(?:the )?(?P<unit>year|month|quarter|week)(?:'s)?[- ]?end\b", _end_of_unit),
        (rf"(?:(?<=before )|(?<=by the time )|(?<=until )){_M} (?:(?:is|runs) (?:out|over)|ends)\b", lambda match, today, choose: _month_on(match, today).last),
        (rf"\beo(?=q[1-4])(?:q(?P<q>[1-4])){_OF_YEAR}", _quarter),
        (rf"\bmid-?year(?: (?:of )?{_YEAR})?\b", _middle_of_year),
        (rf"\beom {_M}(?:,? {_YEAR}\b)?", _month),
        (r"\beo(?P<unit>[ymqw])\b", _end_of_unit),
        (r"(?:(?<=ends )|(?<=end )|(?<=finishes )|(?<=finish )|(?<=closes )|(?<=close out )|(?<=into ))(?P<unit>week|month|quarter|year)\b(?!'?s?[- ]end)", _over),
        (r"\b(?:the )?turn of the (?P<unit>year)\b", _over),
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
)  # fmt: skip
_FORMS = [(re.compile(pattern), meaning) for pattern, meaning in _MEANINGS]
