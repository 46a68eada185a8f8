"""Which days a text speaks of: on a day, by a day, during a period, at a release or a meeting, measured from a day."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from workbench.questions.readings.calendar_days import (
    FOMC,
    MONTHS,
    Period,
    after,
    later_month,
    period_of,
)
from workbench.questions.readings.written_dates import Choices, DateMention, written_dates

Kind = Literal["on", "by", "during", "since", "next_release", "next_meeting"]

_M = "(?P<m>" + "|".join(MONTHS) + r")\b\.?"
_UNIT = r"(?P<unit>trading day|business day|session|day|d|week|fortnight|month|quarter|half year|year|yr|half|(?<=\d)(?:mo?|w|y))s?"


_Take = Callable[..., str]
_Match = re.Match[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWindow:
    """One window of a text, and where it stands."""

    #: ``on`` its last day; at any time ``by`` it; ``during`` all of it; ``since``: what changes are measured from; ``next_release`` and
    #: ``next_meeting``: of the period, or on the day, that ``end`` is.
    kind: Kind
    end: date
    #: The day whose close changes are measured from; None is the last known value. Of ``since`` in "up on the week" the last day of that
    #: period, which is meant where no other day is named.
    start: date | None = None
    #: Whether a calendar period is named, and not its end.
    period: bool = False
    #: The last day of the first month in "from June to July", which a change of a monthly series is measured from.
    from_month: date | None = None
    span: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


def _taker() -> tuple[list[ClaimWindow], _Take]:
    matched: list[ClaimWindow] = []

    def take(match: _Match, **fields: object) -> str:
        matched.append(ClaimWindow(span=match.span(), **fields))  # type: ignore[arg-type]
        return "W" * len(match[0])

    return matched, take


def events(plain: str, today: date) -> tuple[str, tuple[ClaimWindow, ...]]:
    """Return the text with releases and meetings written over by ``W``, and these; before series are, which they name too."""
    matched, take = _taker()
    return _events(plain, today, take), tuple(matched)


def windows(plain: str, today: date, choices: Choices) -> tuple[str, tuple[ClaimWindow, ...], frozenset[str]]:
    """Return the text with its windows written over by ``W``, the windows, and the choices that their dates left open.

    >>> text, matched, _ = windows("wti above 80 by year end", date(2018, 6, 30), {})
    >>> text, matched[0].kind, matched[0].end.isoformat()
    ('wti above 80 WWWWWWWWWWW', 'by', '2018-12-31')
    """
    unsettled: set[str] = set()
    matched, take = _taker()
    plain = whole = _durations(plain, today, take)
    plain, days = written_dates(plain, today, choices, unsettled)
    plain = _with_prepositions(plain, days, take, whole, today)
    return plain, tuple(sorted(matched, key=lambda each: each.span)), frozenset(unsettled)


def _durations(plain: str, today: date, take: _Take) -> str:
    words = (
        "two|three|four|five|six|seven|eight|nine|ten|twelve|eighteen|twenty|thirty|sixty|ninety|couple of"
    )
    count = rf"(?:(?P<n>\d+|{words})|a|an|one)(?: calendar)?"
    values = dict(zip(words.split("|"), (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 18, 20, 30, 60, 90, 2), strict=True))

    def counted(text: str | None) -> int:
        return 1 if text is None else values.get(text) or int(text)

    def later(number: int, unit: str) -> date:
        if unit == "fortnight":
            return after(today, 2 * number, "week")
        return after(today, number, {"yr": "year", "y": "year", "d": "day", "w": "week", "m": "month", "mo": "month", "half year": "half"}.get(unit, unit))  # fmt: skip

    def end(match: _Match) -> date:
        return later(counted(match["n"]), match["unit"])

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
        rf"\b{count}(?:[- ]|(?<=\d)){_UNIT} (?:from (?:now|today)|hence|out|ahead)\b|\bin {count.replace('<n>', '<n2>')}[- ]{_UNIT.replace('<unit>', '<unit2>')}(?:'?s?'? time)?\b(?! (?:high|low|of))",
        lambda m: take(
            m,
            kind="on",
            end=later(counted(m["n"] or m["n2"]), m["unit"] or m["unit2"]),
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
    def meeting(match: _Match) -> str:
        month = match.groupdict().get("m")
        if today < date(FOMC[0].year, 1, 1):
            return match[0]
        for day in FOMC:
            if day >= today and (month is None or day.month == MONTHS[month]):
                if re.match("before|ahead|prior|until", match[0]):
                    return take(match, kind="by", end=day - timedelta(days=1))
                return take(match, kind="next_meeting", end=day)
        return match[0]

    def release(match: _Match) -> str:
        # A month's figure comes out about the middle of the next month; jobs on its first Friday.
        early = re.search("jobs|payroll|nfp|employment", plain) is not None
        day_of_release = 7 if early else 13
        month = period_of(today, "month", -1 if today.day < day_of_release else 0)
        return take(match, kind="next_release", end=month.last)

    plain = re.sub(
        rf"\b(?:(?:at|on|by|after|in|following|before|ahead of|prior to|until) )?(?:the |its )?(?:next|coming|upcoming|following) (?:{_MEETING}|meeting)\b|\bwhen it next meets\b", meeting, plain
    )  # fmt: skip
    plain = re.sub(
        rf"\b(?:at|on|by|by the time(?: of)?|after|in|following|before|ahead of|prior to|until) (?:the |its )?(?:\d{{1,2}}(?:[a-z]+)? )?(?:{_M.replace('<m>', '<m0>')} ?(?:-|to|and) ?\d{{1,2}} )?{_M}(?: \d{{1,2}}(?:-\d{{1,2}})?)?(?: \d{{4}})? (?:{_MEETING}|meeting)(?: ends| is over)?\b", meeting, plain
    )  # fmt: skip
    return re.sub(
        rf"\b(?:(?:when|on|in|at|with|by) )?(?:the )?(?:next|coming|upcoming|following)(?: monthly| weekly)? {_RELEASE}\b", release, plain
    )  # fmt: skip


def _with_prepositions(plain: str, days: list[DateMention], take: _Take, whole: str, today: date) -> str:
    edges = sorted(days, key=lambda each: each.span)

    def value(match: _Match, name: str) -> DateMention:
        return next(each for each in edges if each.span[0] == match.start(name))

    # "end of P", "P's close", "start of P", "mid-P"
    def edge(match: _Match) -> str:
        matched = value(match, "p")
        period = matched.period or Period(first=matched.day, last=matched.day)
        word = match["word"] or "end"
        length = (period.last - period.first).days
        # The middle of a month is its 15th.
        middle = period.first + timedelta(days=14 if 27 <= length <= 30 else length // 2)
        day = period.first if word in ("start", "beginning") else period.last
        notes = matched.notes
        if word.startswith("mid"):
            day = middle if (period.last - period.first).days < 200 else date(period.first.year, 6, 30)
            notes = (*notes, f"the middle is read as {day}")
        edges.append(DateMention(match.span(), day, None, notes))
        return "D" * len(match[0])

    def part(match: _Match) -> str:
        # "Early 2019", "late in September": a quarter of a year, a month of a quarter, ten days of a month; asked, since nobody named them.
        matched = value(match, "p")
        if matched.period is None:
            return match[0]
        first, last = matched.period.first, matched.period.last
        days = (last - first).days
        months = 3 if days > 300 else 1 if days > 80 else 0
        if match["word"] == "early":
            end = later_month(first.year, first.month, months)
            cut = Period(
                first=first,
                last=date(*end, 1) - timedelta(days=1) if months else first + timedelta(days=days // 3 - 1),
            )
        else:
            begin = later_month(last.year, last.month, 1 - months)
            cut = Period(first=date(*begin, 1) if months else last - timedelta(days=days // 3 - 1), last=last)
        note = f"{match['word']!r} is read as {cut.first} to {cut.last}"
        edges.append(DateMention(match.span(), cut.last, cut, (*matched.notes, note)))
        return "P" * len(match[0])

    plain = re.sub(r"(?<![a-z])(?P<word>early|late)(?: in(?: the)?)?[- ](?P<p>P+)", part, plain)

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

    def span(match: _Match) -> str:
        first, last = value(match, "a"), value(match, "b")
        since = first.period.before if first.period else first.day
        return take(match, kind="during", start=since, end=last.day, from_month=_from_month(first, last), notes=first.notes + last.notes)  # fmt: skip

    two = r"(?P<a>D+)(?: close)?{0}(?P<b>[DP]+)"
    plain = re.sub(two.format(" ?- ?"), span, plain)
    joined = r" ?(?:to|and|until|through|till|-) "
    plain = re.sub(r"\b(?:from|between) " + two.format(joined).replace("D+", "[DP]+", 1), span, plain)

    def base(match: _Match) -> str:
        matched = value(match, "q" if match.groupdict().get("q") else "p")
        return take(match, kind="since", end=matched.day, notes=matched.notes)

    plain = re.sub(rf"\b(?:than|since|from|versus|vs\.?|compared (?:to|with)|relative to|against)(?: it (?:was|did|closed|is))?(?: (?:on|in|at|the))* {day_pattern}(?:'s)?(?: close| level| value)?", base, plain)  # fmt: skip
    plain = re.sub(rf"\b(?:its|their) (?:close (?:on|of)|level (?:on|of|at)) {day_pattern}|\b(?:its|their|the) {day_pattern.replace('<p>', '<q>')}(?:'s)? (?:close|level|value)", base, plain)  # fmt: skip

    def beyond(match: _Match) -> str:
        # "above its 2017 close": the comparison stays for who reads relations.
        place = (match.end("keep") + 1, match.end())
        take(_Part(match, place), kind="since", end=value(match, "p").day, notes=value(match, "p").notes)
        return match["keep"] + " " + "W" * (place[1] - place[0])

    plain = re.sub(rf"\b(?P<keep>above|below|over|under|beyond|exceeds?|tops?) (?:its|the|their) {day_pattern}(?:'s)?(?: (?:close|level|value))?(?= |$)", beyond, plain)  # fmt: skip

    def with_word(match: _Match) -> str:
        matched, written = value(match, "p"), whole[slice(*value(match, "p").span)]
        if re.search("before|prior|ahead", match["word"]) and not _THIS_ONE.search(written):
            matched = _yet_to_begin(matched, today)
        return take(match, **_meaning(match["word"].strip(), matched, written), notes=matched.notes)

    words = (
        r"at any (?:point|time) (?:before|during|in|by|until)|at some point (?:in|during|before|by)|(?:any ?time|some ?time|(?:at least )?once) (?:before|during|in|by|through|until)|"
        r"by the time|all through|by or before|on or before|no later than|not later than|prior to|ahead of|before|by|through to|through|until|till|up to|up until|"
        r"within|during|throughout|over the course of|over|in the course of|in|for|on|as of|at|come|this|all|all of|for all of|"
        r"(?:for |over |through )?(?:the )?(?:whole|entirety|duration|length|full length) of|@"
    )
    plain = re.sub(rf"\b(?P<word>{words})(?: the)?(?: (?:close (?:of|on)|full|whole|entire|calendar))* *(?<= ){day_pattern}(?:'s close)?", with_word, plain)  # fmt: skip

    def closing(match: _Match) -> str:
        matched = value(match, "p")
        # Only the words of the day: the verb stays for who reads relations.
        take_at = (match.start("p"), match.end("p"))
        take(_Part(match, take_at), kind="on", end=matched.day, start=matched.period.before if matched.period else None, notes=matched.notes)  # fmt: skip
        return match[0][: take_at[0] - match.start()] + "W" * (take_at[1] - take_at[0])

    plain = re.sub(rf"\b(?:(?<!\d )(?<!% )(?<!\ba )close|closes|ends?|finish(?:es)?|settles?|closing|ending|finishing)(?: off| out)? {day_pattern}", closing, plain)  # fmt: skip

    def bare(match: _Match) -> str:
        matched = value(match, "p")
        return take(match, **_meaning("in" if matched.period else "on", matched, ""), notes=matched.notes)

    return re.sub(day_pattern, bare, plain)


def _from_month(first: DateMention, last: DateMention) -> date | None:
    if first.period is None or last.period is None or (first.period.last - first.period.first).days > 31:
        return None
    return first.period.last


class _Part:
    """A part of a match, with the two things of a match that `take` reads."""

    def __init__(self, match: _Match, span: tuple[int, int]) -> None:
        self._place, self._text = span, match.string[slice(*span)]

    def span(self) -> tuple[int, int]:
        return self._place

    def __getitem__(self, group: int) -> str:
        return self._text


#: A period whose year is said.
_THIS_ONE = re.compile(
    r"\d\d|'\d|\b(?:this|current|next|coming|year)\b|^(?:the )?(?:week|month|quarter|half)$"
)


def _yet_to_begin(matched: DateMention, today: date) -> DateMention:
    if matched.period is None or matched.period.first > today:
        return matched
    later = Period(first=after(matched.period.first, 1, "year"), last=after(matched.period.last, 1, "year"))
    notes = tuple(
        note.replace(str(matched.period.first), str(later.first)).replace(
            str(matched.period.last), str(later.last)
        )
        for note in matched.notes
    )
    return replace(matched, day=later.last, period=later, notes=notes)


def _meaning(word: str, matched: DateMention, written: str) -> dict[str, object]:
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
