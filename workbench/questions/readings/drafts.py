"""From the parts of a text to the readings that it can have."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from workbench.questions.readings.amounts import Amount, amounts
from workbench.questions.readings.calendar_days import after, period_of
from workbench.questions.readings.day_windows import ClaimWindow, events, windows
from workbench.questions.readings.plain_text import PlainText, words
from workbench.questions.readings.relations import (
    Relation,
    count_of_steps,
    measured_from_now,
    relations,
    special_counts,
)
from workbench.questions.readings.sentences import completed
from workbench.questions.readings.series_names import VAGUE, SeriesName, embedded_name, mentions, reachable
from workbench.questions.readings.slots import Slot, SlotReading
from workbench.questions.series.embedded_series import SERIES
from workbench.questions.series.series_reference import SeriesRef
from workbench.questions.series.series_registry import series_named

#: Words that change nothing of what is said; any other word that no slot takes stands in the way of a reading.
FILLERS = words(
    """
    the a an its it their of to be will would is are does do did has have going gonna that this i we think
    bet believe expect expects say says call what's whats what odds chance chances probability likelihood
    likely how there for in on at so with by from close closes level levels price prices value index mark
    point figure there's i'd i'm my base case view get gets getting go goes come comes see sees trade trades
    trading please question claim prediction forecast per barrel us u.s really actually again back just than
    out us$ line threshold territory area official closing reading print can could turn
    """
)
_NEVER_FILLER = re.compile(
    r"\b(?:not|n't|no|never|if|unless|because|due|and|or|but|while|whereas|without|except|either|neither|nor|despite|after|when|once)\b"
)
_FRAME = re.compile(r"^(?:(?:so|hey|hi|ok|well),? )?(?:(?:what(?:'s| is| are) the |the )?(?:odds|chances?|probability|likelihood|prob)(?: of| that)* |how likely (?:is it )?(?:that )?|is it (?:true|likely) that |(?:i|we) (?:think|bet|believe|expect|say)(?: that)? |(?:i'd|i would) bet (?:that )?|(?:my )?(?:base case|view|call|bet|prediction|forecast)(?: is)?(?: that)?:? |do you think (?:that )?|will we see |are we going to see |can we see |there(?:'s| is) )+")  # fmt: skip

Choices = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What one pass over a text came to; ``unsettled`` are the choices that its words left open, with how many ways each has."""

    readings: tuple[SlotReading, ...] = ()
    missing: tuple[Slot, ...] = ()
    leftover: tuple[str, ...] = ()
    matched: Mapping[str, str] | None = None
    unsettled: Mapping[str, int] | None = None
    notes: tuple[str, ...] = ()


def draft(text: PlainText, today: date, sources: Sequence[str], choices: Choices) -> Draft:
    """Read a text once, each of its open choices taken as ``choices`` say."""
    unsettled: dict[str, int] = {}
    notes: list[str] = [f"{typed!r} is read as {word!r}" for typed, word in text.mended]
    plain = text.plain.rstrip(".?! ")
    frame = _FRAME.match(plain)
    plain = re.sub(
        r"\b(?:when|as|once|by the time) trading (?:ends|closes|is over)\b",
        lambda match: "R" * len(match[0]),
        plain,
    )
    # two in a row, of which no relation has the count: a word that nobody knows stands in the way
    plain = re.sub(r"\bback[- ]to[- ]back\b", lambda match: "z" * len(match[0]), plain)
    masked = ("R" * (frame.end() - 1) + " " + plain[frame.end() :]) if frame else plain
    masked, steps = count_of_steps(masked)
    masked, counts = special_counts(masked)
    masked, now = measured_from_now(masked)
    counts |= {"now": 1} if now else {}
    masked, events_found = events(masked, today)
    referred = [(match.span(), text.words(*match.span())) for match in _REFERENCE.finditer(text.plain)]
    referred = [
        (span, written)
        for span, written in referred
        if (ref := SeriesRef.of(written)) and (ref.source != "embedded" or ref.id.upper() in SERIES)
    ]
    for (start, stop), _ in referred:
        masked = masked[:start] + "S" * (stop - start) + masked[stop:]
    masked, names, places = _names_written(masked, sources, choices, unsettled, notes)
    if referred:
        in_order = [
            *zip(places, names, strict=False),
            *((span, embedded_name(series_named(written).id)) for span, written in referred),
        ]
        in_order.sort(key=lambda each: each[0])
        places, names = tuple(place for place, _ in in_order), tuple(name for _, name in in_order)
    masked, days, dates_asked = windows(masked, today, choices)
    unsettled |= dict.fromkeys(dates_asked, 2)
    days = (*days, *events_found)
    if not names and events_found:
        # "Above 2 % on the next core CPI release": the release names the series.
        _, names, _ = _names_written(plain[slice(*events_found[0].span)], sources, choices, unsettled, notes)
    masked, numbers = amounts(masked)
    if "times" in steps:
        counts = {**counts, "times": int(steps["times"]), "row": int(steps.get("row", 0))}
        if "of" in steps:
            unit = {"trading day": "session", "close": "session", "day": "session", "meeting": "month", "reading": "month", "print": "month", "release": "month"}.get(str(steps["step"]), str(steps["step"]))  # fmt: skip
            days = (*days, ClaimWindow(kind="during", end=after(today, int(steps["of"]), unit), span=(0, 0)))
    kind = names[0].kind if names else "price"
    before = masked
    masked, stated = relations(masked, numbers, counts, series=len(places), kind=kind)
    unknown = not names
    if unknown and (numbers or any(each.name in ("mean", "new_high", "new_low") for each in stated)):
        masked, names, places = _named_otherwise(text, masked)
    matched = _words_of_slots(text, before, masked, places, numbers, days)
    leftover = _leftover(text, masked, names)
    used = {each.span for relation in stated for each in (relation.level, relation.upper) if each}
    leftover = (*leftover, *(text.words(*each.span) for each in numbers if each.span not in used and stated))
    # A series more than the relation has places for would be dropped in silence.
    places_for = 1 if stated and stated[0].name in _OF_ONE_SERIES else 2
    leftover = (*leftover, *(each.article for each in names[places_for:]))
    missing: list[Slot] = []
    if not numbers and (gap := _OPEN_TO.search(masked)):
        leftover, missing = (*leftover, text.words(*gap.span(1))), ["level"]
    if not names:
        missing.append("series")
    if not stated:
        missing.append("relation")
    recession = names and names[0].ref == "US recession indicator"
    if recession and not stated:
        stated, missing = (Relation(name="touch", comparison="at_least", level=Amount(value=1, unit="", span=(0, 0))),), []  # fmt: skip
    main = [each for each in days if each.kind != "since"]
    base = next((each for each in days if each.kind == "since"), None)
    if len(main) > 1:
        first, *rest = sorted(main, key=lambda each: each.kind == "during")
        ends = {each.end for each in main}
        if len(ends) > 1 and not (len(main) == 2 and main[1].span == (0, 0)):
            leftover = (*leftover, *(text.words(*each.span) for each in rest))
        main = [first]
    if not main and base is None:
        missing.append("window")
    notes += [note for each in days for note in each.notes]
    if leftover and stated and not numbers and all(_HOLE.fullmatch(word.lower()) for word in leftover):
        missing.append("level")
    if leftover or not names or not stated or (base is not None and not main):
        if base is not None and not main and "window" not in missing:
            missing.append("window")
        return Draft(
            missing=tuple(missing),
            leftover=leftover,
            matched=matched,
            unsettled=unsettled,
            notes=tuple(notes),
        )
    if unknown:
        notes.append(f"no series is known as {names[0].article!r}; it is taken as a name")
        unsettled["name"] = 1
    elif not all(_usual(each.level, names) and _usual(each.upper, names) for each in stated):
        notes.append("the level is far from any that the series has had")
        unsettled["level"] = 1
    window = main[0] if main else ClaimWindow(kind="on", end=period_of(today, "year").last)
    if not main:
        notes.append(f"no day is named; {window.end}, the end of the year, is supposed")
    found_words = dict(matched)
    readings = []
    for relation in stated:
        for placed in _placed(relation, window, base, names, today):
            named = replace(placed, read_from=found_words, notes=tuple(notes) + placed.notes)
            readings.append(completed(named, names))
    if not readings:
        return Draft(missing=(*missing, "relation"), matched=matched, unsettled=unsettled, notes=tuple(notes))
    if not main:
        by = replace(window, kind="by")
        for relation in stated:
            for placed in _placed(relation, by, base, names, today):
                readings.append(completed(replace(placed, read_from=found_words, notes=tuple(notes)), names))
    return Draft(
        readings=tuple({each.statement: each for each in readings}.values()),
        missing=tuple(missing),
        matched=matched,
        unsettled=unsettled,
        notes=tuple(notes),
    )


#: Relations that are never of two series.
_OF_ONE_SERIES = (
    "unchanged",
    "new_high",
    "new_low",
    "from_peak",
    "from_trough",
    "average_gap",
    "average_cross",
)
#: Stands where a level should.
_HOLE = re.compile(
    r"\[?x+(?:\.x+)?\]?|bps?|consensus|expectations?|expected|expensive|cheap|high|low|somewhere|a lot|%"
)
#: "Rises to by December": where to is not said.
_OPEN_TO = re.compile(r"R (to)(?= (?:by |on |in |before )?(?:the )?W|$)")
#: A series by its source and id, as `series_named` takes it.
_REFERENCE = re.compile(
    r"(?<![\w:])(?:yahoo|fred|dbnomics|fmp|kalshi|polymarket|wikipedia|own|embedded):[\w^][\w^=/.:&-]*(?<![.:])"
)
#: Ranges of the embedded series' levels that a claim may be about; what is far outside is another unit or another series.
_USUAL = {"SP500": (400, 20000), "NASDAQ": (800, 60000), "VIX": (4, 200), "WTI": (1, 400), "AAA": (0.1, 30), "BAA": (0.1, 30), "SPREAD": (0.01, 4)}  # fmt: skip


def _usual(amount: Amount | None, names: tuple[SeriesName, ...]) -> bool:
    bounds = _USUAL.get(names[0].embedded)
    if (
        amount is None
        or bounds is None
        or amount.unit in ("%", "bp", "pp", "points")
        or not amount.value
        or len(names) > 1
    ):
        return True
    value = amount.value / 100 if names[0].kind == "rate" and amount.value >= 25 else amount.value
    return bounds[0] <= value <= bounds[1]


def _names_written(
    masked: str, sources: Sequence[str], choices: Choices, unsettled: dict[str, int], notes: list[str]
) -> tuple[str, tuple[SeriesName, ...], tuple[tuple[int, int], ...]]:
    names: list[SeriesName] = []
    places: list[tuple[int, int]] = []
    mentioned = mentions(masked)
    if len(mentioned) > 2:
        # "The Brent-WTI spread": the word is what the two are to each other.
        mentioned = tuple(
            each for each in mentioned if masked[each.start : each.end] not in ("spread", "the spread")
        )
    for index, each in enumerate(mentioned):
        candidates = reachable(each.candidates, sources)
        written = masked[each.start : each.end]
        chosen = candidates[0]
        if len(candidates) > 1:
            key = f"series {index}"
            unsettled[key] = len(candidates)
            chosen = candidates[min(choices.get(key, 0), len(candidates) - 1)]
        elif len(each.candidates) > 1:
            others = ", ".join(other.article for other in each.candidates if other != chosen)
            notes.append(f"{written!r} is read as {chosen.article}; {others} would have to be named")
        names.append(chosen)
        places.append((each.start, each.end))
    if len(names) > 1:
        # A series that is named again is the same one.
        distinct = [i for i, name in enumerate(names) if name not in names[:i]]
        names = [names[i] for i in distinct]
    for start, end in places:
        masked = masked[:start] + "S" * (end - start) + masked[end:]
    return masked, tuple(names), tuple(places)


def _named_otherwise(
    text: PlainText, masked: str
) -> tuple[str, tuple[SeriesName, ...], tuple[tuple[int, int], ...]]:
    """Take the words before the relation for a name, where no known series is named."""
    for match in re.finditer(r"[a-z][a-z0-9&'./-]*(?: [a-z0-9][a-z0-9&'./-]*)*", masked):
        words = match[0].split()
        start = match.start()
        while words and (words[0] in FILLERS) and words[0] not in ("us",):
            start += len(words.pop(0)) + 1
        while words and words[-1] in FILLERS - {
            "index",
            "price",
            "prices",
            "rate",
            "rates",
            "yield",
            "yields",
        }:
            words.pop()
        phrase = " ".join(words)
        if not words:
            continue
        if len(words) > 5 or _NEVER_FILLER.search(phrase) or set(words) <= VAGUE:
            return masked, (), ()
        end = start + len(phrase)
        written = text.words(start, end)
        masked = masked[:start] + "S" * (end - start) + masked[end:]
        return masked, (SeriesName(ref=written, article=written),), ((start, end),)
    return masked, (), ()


#: Words that say no more than the name of a series of the kind does.
_OF_KIND = {"rate": {"rate", "rates", "yield", "yields"}, "price": {"shares", "share", "stock"}}


def _leftover(text: PlainText, masked: str, names: Sequence[SeriesName]) -> tuple[str, ...]:
    fillers = FILLERS.union(*(_OF_KIND.get(each.kind, set()) for each in names))
    words = re.finditer(r"[a-z][a-z'.&/-]*|[<>=+*^]", masked)
    return tuple(text.words(*each.span()) for each in words if each[0].strip(".-/") not in fillers)


def _words_of_slots(
    text: PlainText,
    before: str,
    masked: str,
    places: Sequence[tuple[int, int]],
    numbers: Sequence[Amount],
    days: Sequence[ClaimWindow],
) -> dict[str, str]:
    matched: dict[str, str] = {}
    if places:
        matched["series"] = ", ".join(text.words(*each) for each in places)
    said = [match.span() for match in re.finditer("R+(?: R+)*", masked) if "R" in masked[slice(*match.span())] and before[slice(*match.span())] != masked[slice(*match.span())]]  # fmt: skip
    if said:
        matched["relation"] = " ... ".join(text.words(*each) for each in said)
    if numbers:
        matched["level"] = ", ".join(text.words(*each.span) for each in numbers)
    stated = [each.span for each in days if each.span != (0, 0)]
    if stated:
        matched["window"] = ", ".join(text.words(*each) for each in stated)
    return matched


def _placed(
    relation: Relation,
    window: ClaimWindow,
    base: ClaimWindow | None,
    names: tuple[SeriesName, ...],
    today: date,
) -> Iterator[SlotReading]:
    """Yield the readings of a relation in its window, the likeliest first."""
    refs = tuple(each.ref for each in names)
    series = names[0]
    monthly = series.monthly
    level, unit, notes = _level_in_unit(relation.level, series)
    upper = _level_in_unit(relation.upper, series)[0] if relation.upper is not None else None
    start = base.end if base else None
    period_start = window.start
    if period_start is not None and relation.name not in ("compare", "change", "beats", "volatility"):
        period_start = _ahead(period_start, today)
    at_end = "on" if window.kind in ("by", "during") else window.kind
    plain = SlotReading(
        statement="",
        series=refs,
        relation=relation.name,
        comparison=relation.comparison,
        level=level,
        upper=upper,
        unit=unit,
        window=window.kind,
        end=window.end,
        lag=relation.lag,
        times=relation.times,
        notes=notes,
    )
    growth = relation.growth or (
        series.growth if series.growth in ("yoy", "mom", "qoq", "annualized") else ""
    )
    if growth and relation.name in ("maximum", "minimum") and (unit == "%" or relation.growth):
        return  # the highest of a growth is no relation here, and the highest of the level is another claim
    growing = relation.name in ("level", "touch", "bare", "stay", "change") and growth and (unit in ("%", "") or relation.growth)  # fmt: skip
    if (
        growing
        and relation.name == "change"
        and not relation.growth
        and series.growth in ("yoy", "annualized")
    ):
        # "Prices rise 0.2 % in October" is over the window that is named.
        growing = series.growth == "annualized" or not window.period
    if growing and not (series.ref.startswith("embedded:CORE_CPI") and (level or 0) > 50):
        lag = {"yoy": 12, "mom": 1}.get(growth)
        side = relation.comparison
        value = level
        if relation.name == "change" and relation.way == "down":
            value = -(level or 0.0)
            side = {"above": "below", "at_least": "at_most"}.get(side, side)
        if side == "toward":
            side = "at_least"
        grown = replace(plain, relation=f"growth_{growth}", comparison=side, level=value, unit="%", lag=lag, never=relation.never)  # fmt: skip
        if window.kind == "during" and window.start and (window.end - window.start).days > 100 and monthly and growth in ("yoy", "mom"):  # fmt: skip
            yield replace(grown, window="on")
            yield replace(grown, window="during")
            return
        yield replace(grown, window=at_end)
        if window.kind == "by":
            yield grown
        return

    negated = relation.never
    name = relation.name
    if name == "compare":
        side = relation.comparison
        if negated:
            side = {"above": "at_most", "at_least": "below", "below": "at_least", "at_most": "above"}[side]
        since = start if start is not None else window.start if not relation.now else None
        compared = replace(plain, comparison=side, level=None, unit="", start=since, window=at_end)
        if (
            window.kind == "on"
            and start is None
            and window.start is None
            and not relation.now
            and not monthly
        ):
            day_before = window.end - timedelta(days=3 if window.end.weekday() == 0 else 1)
            if (window.end - today).days < 8 and day_before >= today:
                yield replace(compared, start=day_before)
        if monthly and window.kind == "during" and start is None:
            yield replace(
                compared, start=window.start if _ahead(window.start, today) or relation.now is False else None
            )
            return
        yield compared
        return
    if name == "change" and relation.comparison == "between":
        low, high = level or 0.0, upper or 0.0
        if relation.way == "down":
            low, high = -high, -low
        yield replace(plain, level=low, upper=high, never=negated, start=start if start is not None else None if relation.now else window.start, window=at_end)  # fmt: skip
        return
    if name in ("change", "drawdown"):
        signed = (level or 0.0) * (-1 if relation.way == "down" else 1)
        side = relation.comparison
        if relation.way == "down":
            side = {"above": "below", "at_least": "at_most", "below": "above", "at_most": "at_least"}[side]
        if negated:
            side = {"above": "at_most", "at_least": "below", "below": "at_least", "at_most": "above"}[side]
        since = start if start is not None else None if relation.now else window.start
        changed = replace(plain, relation="change", comparison=side, level=signed, start=since, window=at_end)
        once = replace(
            changed, relation="drawdown", comparison="at_most" if signed < 0 else "at_least", window=window.kind,
            start=_ahead(since, today) if since else None,
        )  # fmt: skip
        if name == "drawdown":
            yield replace(once, notes=(*notes, "a crash is read as a fall of 20 %"))
            yield replace(once, level=-10.0, notes=(*notes, "a crash is read as a fall of 10 %"))
            return
        yield changed
        if (window.kind == "by" and not monthly and not negated and not relation.closing) or (
            window.kind == "during"
            and not window.period
            and not monthly
            and not negated
            and not relation.closing
        ):
            yield once
        return
    if name == "any_step":
        down = relation.way == "down"
        side = (
            {"above": "below", "at_least": "at_most"}.get(relation.comparison, "at_most")
            if down
            else relation.comparison
        )
        yield replace(plain, level=-(level or 0.0) if down else level, comparison=side, start=period_start)
        return
    if name in ("beats", "volatility"):
        yield replace(plain, start=start if start is not None else window.start, window="during" if name == "volatility" else at_end, never=negated)  # fmt: skip
        return
    if name in ("average_gap",):
        yield replace(plain, window=at_end, never=negated)
        return
    if (
        unit == "%"
        and series.kind == "price"
        and name in ("touch", "bare", "level", "stay", "mean", "maximum", "minimum")
    ):
        return  # a percentage is no price, and of what it is one is not said
    if name in ("touch", "bare", "level"):
        yield from _reached(replace(plain, start=period_start), relation, window, monthly, at_end)
        return
    yield replace(plain, start=start if start is not None else period_start, never=negated, window="by" if window.kind == "by" else window.kind)  # fmt: skip


def _reached(
    plain: SlotReading, relation: Relation, window: ClaimWindow, monthly: bool, at_end: str
) -> Iterator[SlotReading]:
    """Yield the readings of a level: where the series ends, and where it is on the way."""
    side = plain.comparison
    sides = [side] if side != "toward" else ["at_least", "at_most"]
    if relation.never:
        opposite = {"above": "at_most", "at_least": "below", "below": "at_least", "at_most": "above"}
        if side not in opposite:
            return
        at_close = replace(plain, relation="level", comparison=opposite[side], window=at_end, start=None)
        never = replace(plain, relation="stay", comparison=opposite[side])
        if window.kind in ("on", "next_release", "next_meeting") or (monthly and window.period):
            yield at_close
        elif relation.name == "touch":
            yield never
        else:
            yield never
            yield at_close
        return
    points = [replace(plain, relation="level", comparison=each, window=at_end, start=None) for each in sides]
    touch = replace(plain, relation="touch")
    short = window.start is None or (window.end - window.start).days < 100
    if window.kind in ("on", "next_release", "next_meeting") or (monthly and window.kind == "during" and window.period and short):  # fmt: skip
        yield from points
        return
    if relation.closing and relation.name == "level" and window.kind == "during" and not window.period:
        yield from points
        yield touch
        return
    if relation.name == "touch":
        yield touch
        return
    if relation.way and relation.name == "level":
        yield touch
        yield points[0]
        return
    yield points[0]
    yield touch
    yield from points[1:]


def _ahead(start: date | None, today: date) -> date | None:
    """A start that lies after the last known value; None where no weekday lies between."""
    if start is None or start < today:
        return None
    between = (today + timedelta(days=i) for i in range((start - today).days + 1))
    return start if any(day.weekday() < 5 for day in between) else None


def _level_in_unit(amount: Amount | None, series: SeriesName) -> tuple[float | None, str, tuple[str, ...]]:
    """Return a level in the unit of its series."""
    if amount is None:
        return None, "", ()
    value, unit = amount.value, amount.unit
    if unit == "bp":
        return round(value / 100, 6), "percentage points" if series.kind == "rate" else "%", ()
    if unit == "pp":
        return value, "percentage points", ()
    if series.kind == "rate":
        if unit == "" and value >= 25:
            return round(value / 100, 6), "percentage points", (f"{value:g} is read as basis points",)
        return value, "%" if unit == "%" else "percentage points" if unit == "points" else "", ()
    return value, {"%": "%", "points": "points"}.get(unit, ""), ()
