"""From the parts of a text to the readings that it can have."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from workbench.questions.readings.amounts import Amount, amounts
from workbench.questions.readings.calendar_days import after, period_of
from workbench.questions.readings.counted_words import (
    count_of_steps,
    measured_from_now,
    moves_of_a_meeting,
    special_counts,
    volatility_length,
)
from workbench.questions.readings.day_windows import ClaimWindow, events, windows
from workbench.questions.readings.near_relations import another_claim, disagrees, near_relations, out_of_range
from workbench.questions.readings.placements import placed_readings
from workbench.questions.readings.plain_text import PlainText, words
from workbench.questions.readings.relations import Relation, mirrored, relations
from workbench.questions.readings.sentences import completed
from workbench.questions.readings.series_names import (
    PER_DOLLAR,
    VAGUE,
    SeriesName,
    embedded_name,
    hinted,
    known_name,
    mentions,
    reachable,
)
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
    out us$ line threshold territory area official closing reading print can could turn set poised bound due still soon eventually finally
    i'm likely
    """
)
_NEVER_FILLER = re.compile(
    r"\b(?:not|n't|no|never|if|unless|because|due|and|or|but|while|whereas|without|except|either|neither|nor|despite|after|when|once)\b"
)
#: What lies outside a range, and what is said of two levels at once.
_TWO_SIDES = re.compile(
    r"(?<![\w'])(?:out of|outside|either|neither|not between|leave[s]?|exits?|escapes?|and|or|then)(?![\w'])"
)
_RANGE_OF_MOVES = re.compile(
    r"(?<![\w'])(?:up|down|gains?|loses?|rises?|falls?|drops?|climbs?|adds?) (?:by )?A+ ?(?:to|-|or) ?A"
)
TWO_CLAIMS = "a claim has one level, or one range that it lies in; ask for what is above and what is below as two claims"
#: Who says it is no part of what is said.
_SPEAKER = re.compile(
    r"^(?:the |most |many |some |our |my )*(?:goldman(?: sachs)?|jp ?morgan|morgan stanley|citi(?:group)?|barclays|ubs|hsbc|deutsche bank|bofa|bank of america|nomura|wells fargo|societe generale|socgen|credit suisse|analysts?|economists?|strategists?|traders?|investors?|pundits|opec|the eia|eia|the imf|imf|everyone|consensus|house view|bulls|bears)(?: analysts?| economists?| strategists?)? (?:(?:is|are) )?(?:calls? for|calling for|looking for|looks? for|sees?|seeing|expects?|expecting|forecasts?|predicts?|projects?|thinks?|says?|reckons?|bets?(?: on)?|betting on|targets?|wants?|tips?|is)(?: that)? "
)
_FRAME = re.compile(r"^(?:(?:so|hey|hi|ok|well),? )?(?:(?:what(?:'s| is| are) the |the )?(?:odds|chances?|probability|likelihood|prob)(?: of| that)* |how likely (?:is it )?(?:that )?|is it (?:true|likely) that |(?:i|we) (?:think|bet|believe|expect|say)(?: that)? |(?:i'd|i would) bet (?:that )?|(?:my )?(?:base case|view|call|bet|prediction|forecast)(?: is)?(?: that)?:? |do you think (?:that )?|(?:i )?(?:reckon|guess|suspect|wager|am sure)(?: that)? |(?:i'm |i am )?(?:pretty|fairly|quite|very|dead) (?:sure|confident|certain)(?: that)? |my money(?:'s| is) on |(?:it )?(?:looks|seems) (?:like|likely)(?: that)? |(?:a )?(?:good|fair|decent) chance(?: of| that)? |will we see |are we going to see |can we see |there(?:'s| is) )+")  # fmt: skip

#: "2.800", which is 2,800 in half of Europe.
THOUSANDS_DOT = re.compile(r"(?<![\d.,])[1-9]\d{0,2}\.\d{3}(?![\d.,])")

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
    notes += [f"{each!r} is an aside, and no part of the claim" for each in text.asides]
    plain = text.plain.rstrip(".?! ")
    plain = re.sub(r"(?<!of )(?<!half )\ba (?:full )?(?=(?:percentage point|percent|cent|basis point)\b)", lambda match: "1".ljust(len(match[0])), plain)  # fmt: skip
    frame = _FRAME.match(plain)
    if speaker := _SPEAKER.match(plain):
        frame = speaker
        unsettled["words"] = 1
        notes.append(f"{text.words(*speaker.span())!r} is passed over")
    plain = re.sub(
        r"\b(?:when|as|once|by the time) trading (?:ends|closes|is over)\b",
        lambda match: "R" * len(match[0]),
        plain,
    )
    plain = re.sub(
        r"\b(?:between|from) (?:now|here|today) (?:and|to|until|till|through)\b",
        lambda match: "by".ljust(len(match[0])),
        plain,
    )
    # "American oil, now near $82, ..." says where it stands; "were it to come" is a condition.
    plain = re.sub(
        r"[,(] ?(?:now|currently|today) (?:at|near|around|about|trading at) \$?[\d.,]*\d ?%?[,)]|\bon the stock market\b",
        lambda match: " " + "R" * (len(match[0]) - 2) + " ",
        plain,
    )
    plain = re.sub(r"\b(?:were|should|had) (?:it|they) (?:to\b)?", lambda match: "z" * len(match[0]), plain)
    # two in a row, of which no relation has the count: a word that nobody knows stands in the way
    plain = re.sub(r"\bback[- ]to[- ]back\b", lambda match: "z" * len(match[0]), plain)
    masked = ("R" * (frame.end() - 1) + " " + plain[frame.end() :]) if frame else plain
    masked, moves = moves_of_a_meeting(masked)
    masked, steps = count_of_steps(masked)
    masked, counts = special_counts(masked)
    counts |= moves
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
    if not names and events_found:
        # "Above 2 % on the next core CPI release": the release names the series.
        _, names, places = _names_written(
            plain[slice(*events_found[0].span)], sources, choices, unsettled, notes
        )
        places = tuple(each.span for each in events_found[:1] if names)
    hints = () if names or referred else hinted(masked)
    for each in hints:
        names, places = (each.candidates[0],), ((each.start, each.end),)
        notes.append(
            f"no series is named; {text.words(each.start, each.end)!r} is read as {names[0].article}"
        )
        masked = masked[: each.start] + "S" * (each.end - each.start) + masked[each.end :]
        unsettled["name"] = 1
    masked, names, inverse = _joined_pair(masked, names)
    if names and names[0].embedded == "SPREAD" and {each.embedded for each in names[1:]} <= {"BAA", "AAA"}:
        names = names[:1]  # "the credit spread between Baa and Aaa bonds"
    if not inverse and names and names[0].ref in PER_DOLLAR and not re.search("usd|dollar", plain[slice(*places[0])]):  # fmt: skip
        # "The yen falls": its price in dollars does, and the quotation rises.
        inverse, unsettled["name"] = True, 1
    if {each.ref for each in names} == {"embedded:WTI", "Brent crude oil"} and re.search(
        r"\b(?:spread|gap|differential|discount|premium)\b", plain
    ):
        names = tuple(
            sorted(names, key=lambda each: each.ref)
        )  # quoted as Brent less WTI, however it is written
    if referred:
        in_order = [
            *zip(places, names, strict=False),
            *((span, embedded_name(series_named(written).id)) for span, written in referred),
        ]
        in_order.sort(key=lambda each: each[0])
        places, names = tuple(place for place, _ in in_order), tuple(name for _, name in in_order)
    masked, length = volatility_length(masked)
    masked, days, dates_asked = windows(masked, today, choices)
    if any(_THROUGHOUT.match(plain[slice(*each.span)]) for each in days if each.span != (0, 0)):
        counts |= {"throughout": 1}
    if any(_ONCE.match(plain[slice(*each.span)]) for each in days if each.span != (0, 0)):
        counts |= {"any": 1}
    unsettled |= dict.fromkeys(dates_asked, 2)
    days = (*days, *events_found)
    masked, numbers = amounts(masked)
    if "times" in steps:
        counts = {**counts, "times": int(steps["times"]), "row": int(steps.get("row", 0))}
        step = {"session": "day", "trading day": "day", "close": "day", "reading": "month", "print": "month", "release": "month"}.get(str(steps["step"]), str(steps["step"]))  # fmt: skip
        if "of" in steps:
            unit = {"trading day": "session", "close": "session", "day": "session", "meeting": "month", "reading": "month", "print": "month", "release": "month"}.get(str(steps["step"]), str(steps["step"]))  # fmt: skip
            whole = unit in ("week", "month") and not (names and names[0].monthly)
            last = period_of(today - timedelta(days=1), unit, int(steps["of"])).last if whole else after(today, int(steps["of"]), unit)  # fmt: skip
            days = (*days, ClaimWindow(kind="during", end=last))
    kind = names[0].kind if names else "price"
    before = masked
    usual = (_USUAL.get(names[0].embedded) or _QUOTED.get(names[0].ref)) if names else None
    masked, stated = relations(masked, numbers, counts, series=len(names), kind=kind, usual=usual)
    if "times" in steps:
        stated = tuple(replace(each, step=step) for each in stated)
    if inverse:
        stated = tuple(mirrored(each) for each in stated)
    if names and names[0].ref == "federal funds rate" and counts.get("moves"):
        notes.append("a move is read as a quarter of a percentage point")
    unknown = not names
    if unknown and (numbers or any(each.name in ("mean", "new_high", "new_low") for each in stated)):
        masked, names, places = _named_otherwise(text, masked)
    matched = _words_of_slots(text, before, masked, places, numbers, days)
    leftover = words_left = _leftover(text, masked, names)
    used = {each.span for relation in stated for each in (relation.level, relation.upper) if each}
    leftover = (
        *leftover,
        *(
            text.words(*each.span)
            for each in numbers
            if each.span not in used and stated and "A" in masked[slice(*each.span)]
        ),
    )
    # A series more than the relation has places for would be dropped in silence.
    of_one = stated and (
        stated[0].name in _OF_ONE_SERIES
        or (stated[0].name in ("compare", "change", "drawdown") and _apples_and_pears(names))
    )
    places_for = 1 if of_one else 2
    leftover = (*leftover, *(each.article for each in names[places_for:]))
    missing: list[Slot] = []
    if not numbers and (gap := _OPEN_TO.search(masked)):
        leftover, missing = (*leftover, text.words(*gap.span(1))), ["level"]
    if not names or hints:
        missing.append("series")
    if not stated:
        missing.append("relation")
    recession = names and names[0].ref == "US recession indicator"
    if recession and not stated and not re.search(r"\b(?:no|not|never|avoids?|escapes?)\b|n't", plain):
        stated, missing = (Relation(name="touch", comparison="at_least", level=Amount(value=1, unit="")),), []  # fmt: skip
    if length is not None and not any(each.kind != "since" for each in days):
        days = (*days, ClaimWindow(kind="during", end=after(today, *length)))
    elif length is not None:
        days = tuple(_last_of(each, length, today) for each in days)
    main = [each for each in days if each.kind != "since"]
    base = next((each for each in days if each.kind == "since"), None)
    if base is not None and base.start is not None and not main:
        main = [replace(base, kind="on", start=base.end, end=base.start)]
        base = None
    if len(main) > 1:
        first, *rest = sorted(main, key=lambda each: each.kind == "during")
        ends = {each.end for each in main}
        if len(ends) > 1 and not (len(main) == 2 and main[1].span == (0, 0)):
            leftover = (*leftover, *(text.words(*each.span) for each in rest))
        main = [first]
    if base is not None and not main and (today - base.end).days > 370 and re.search(r"\bsince\b", plain):
        base = None  # "its first down year since 2015" says how rare it is
    if not main and base is None:
        missing.append("window")
    supposed_days = [note for each in days for note in each.notes]
    notes += supposed_days
    if supposed_days or _COUNTED_SESSIONS.search(plain):
        unsettled["words"] = 1  # which day the middle of a month, a summer or sixty sessions end on is asked
    if leftover and not numbers and all(_HOLE.fullmatch(word.lower()) for word in leftover):
        missing.append("level")
    if recession and leftover and not another_claim(before) and not re.search(r"\b(?:no|not|never|avoids?|escapes?)\b|n't", plain):  # fmt: skip
        unsettled["words"], leftover, recession = 1, (), False
        notes.append(f"{', '.join(map(repr, words_left))} is passed over")
    # A number, a day or a series too many is never passed over.
    passed_over = bool(leftover) and not recession and leftover == words_left and bool(stated) and not hard_words(leftover) and not _ANOTHER.search(masked) and not another_claim(before)  # fmt: skip
    near: tuple[Relation, ...] = ()
    if (
        names
        and not unknown
        and not recession
        and "level" not in missing
        and (
            leftover or not stated or (_apples_and_pears(names) and stated[0].name == "level" and not numbers)
        )
    ):
        near = near_relations(before, numbers, counts, series=len(names), kind=kind, usual=usual)
        if near and not passed_over and (leftover or not stated):
            stated, passed_over, missing = near, True, [each for each in missing if each != "relation"]
        elif near:
            stated = (*stated, *near)
    if passed_over and leftover:
        notes.append(f"{', '.join(map(repr, leftover))} is passed over")
    contradicted = bool(stated) and bool(names) and not near and (
        disagrees(before, stated[0]) or (_EACH_OF.search(plain) is not None and stated[0].name not in _OF_EACH)
        # No relation is "of this year so far".
        or (stated[0].name in ("new_high", "new_low") and re.search(r"\b(?:highs?|lows?) (?:for|of|on) the year\b", plain) is not None)
        or (stated[0].once and stated[0].name in ("level", "mean", "compare") and (kind != "rate" or stated[0].name != "compare"))
    )  # fmt: skip
    if contradicted and not unknown:
        stated = (
            *stated,
            *near_relations(before, numbers, counts, series=len(names), kind=kind, usual=usual),
        )
    if out_of_range(before):
        # That it lies in the range is the contrary.
        stated = tuple(each for each in stated if each.comparison != "between" or each.name == "unchanged")
    unsaid = leftover or not stated or any(each.never and each.comparison == "between" for each in stated)
    if len(numbers) > 1 and unsaid and _TWO_SIDES.search(plain):
        notes.append(TWO_CLAIMS)
    elif len(numbers) > 1 and unsaid and _RANGE_OF_MOVES.search(before):
        notes.append("a range of moves is written so: rises between 5% and 10%")
    # The average of two series is not that of the first.
    of_two = len(names) > 1 and bool(stated) and stated[0].name in _NEVER_OF_TWO
    if passed_over or near or contradicted or of_two:
        unsettled["words"] = 1

    def draft_of(readings: Sequence[SlotReading] = ()) -> Draft:
        return Draft(
            readings=tuple({each.statement: each for each in readings}.values()),
            missing=tuple(missing),
            leftover=leftover,
            matched=matched,
            unsettled=unsettled,
            notes=tuple(notes),
        )

    if (leftover and not passed_over) or not names or not stated or (base is not None and not main):
        if base is not None and not main and "window" not in missing:
            missing.append("window")
        return draft_of()
    if unknown and passed_over:
        return draft_of()
    if unknown:
        notes.append(f"no series is known as {names[0].article!r}; it is taken as a name")
        unsettled["name"] = 1
    elif not all(
        _usual(each.level, names) and _usual(each.upper, names)
        for each in stated
        if each.name != "volatility"
    ):
        notes.append("the level is far from any that the series has had")
        unsettled["level"] = 1
        if dotted := THOUSANDS_DOT.search(plain):
            notes.append(f"write {dotted[0].replace('.', '')} for {dotted[0]} where thousands are meant")
    window = main[0] if main else ClaimWindow(kind="on", end=period_of(today, "year").last)
    if not main:
        notes.append(f"no day is named; {window.end}, the end of the year, is supposed")
    found_words = dict(matched)
    readings = []
    for relation in stated:
        for placed in placed_readings(relation, window, base, names, today):
            named = replace(placed, read_from=found_words, notes=tuple(notes) + placed.notes)
            readings.append(completed(named, names))
    if not readings:
        missing.append("relation")
        return draft_of()
    if not main:
        # "Three in a row" is never on one day.
        readings = [each for each in readings if each.relation not in ("count", "streak", "first")]
        by = replace(window, kind="by")
        for relation in stated:
            for placed in placed_readings(relation, by, base, names, today):
                readings.append(completed(replace(placed, read_from=found_words, notes=tuple(notes)), names))
    return draft_of(readings)


def _last_of(window: ClaimWindow, length: tuple[int, str], today: date) -> ClaimWindow:
    """Return the last part of a window, of "20-day volatility at year end"; the window itself where it is shorter."""
    count, unit = length
    days = count * {"trading day": 7 / 5, "week": 7, "month": 30.5, "year": 365.25}[unit]
    start = window.end - timedelta(days=round(days))
    return (
        replace(window, kind="during", start=start)
        if window.kind in ("on", "by") and start > today
        else window
    )


#: Words before a window that make it all of its days.
_THROUGHOUT = re.compile(
    r"(?:throughout|all (?:through|of)|for all of|all (?:year|quarter|month|week)|(?:for |over |through |during )?(?:the )?(?:whole|entire|entirety|duration|length|full)\b)"
)
#: Words that turn a claim into another one; any other word may be passed over in a reading that is offered, and in none that is taken.
_TURNS = words(
    """
    futures forward forwards option options call calls put puts straddle implied skew dividend dividends mortgage ratio correlation beta
    sharpe relative basket both all each every none single digit days weeks months times occasions peak trough twice gives give gave erases erase wipes wipe pares pare trims trim already doubt doubts
    unlikely conditional assuming assumes provided given suppose should could might ex excluding less minus plus versus vs against first
    second third before until till since instead rather otherwise only alone exactly accelerates accelerate decelerates decelerate faster
    slower then followed same opposite more most fewer fewest least half average median weighted real adjusted moves move swings
    around about roughly near nearly approximately circa almost somewhere swing changes change shifts revised revision core headline junk bonds stocks currency currencies as
    """
)


#: A word after a series may name something else of it ("Apple's market cap"), unless it says how; "z" is a word that is never passed over.
_ANOTHER = re.compile(
    r"S (?:'s )?(?![a-z]*ly\b)(?:(?!(?:the|a|an|going|set|likely|expected|poised|bound|back|at|from|than|to|is|will|be|in|on|at|for|by|of|have|has|get|gets|see|sees|still|again|also|just|soon|index|price|prices)\b)[a-z])|zz"
)


def hard_words(leftover: Sequence[str]) -> bool:
    """Return whether words that no slot took say something that a reading without them would lose."""
    said = [word.lower().strip("'") for each in leftover for word in each.split()]
    return len(said) > 3 or any(
        _NEVER_FILLER.search(word) or word in _TURNS or re.search(r"[^a-z'&.-]", word) for word in said
    )


_COUNTED_SESSIONS = re.compile(
    r"\b(?:\d{2,}|[6-9]|six|seven|eight|nine|ten|fifteen|twenty|thirty|sixty) (?:trading |business )?(?:days|sessions)\b(?= |$)(?<!calendar days)"
)
#: "At some point in July": one day of the window is enough.
_ONCE = re.compile(r"at (?:any|some) (?:point|time)|(?:any|some) ?time|(?:at least )?once\b")
#: "A record in each of the next three months": a window that is several.
_EACH_OF = re.compile(r"\b(?:each|every one) of (?:the|its) (?:next|coming|following)\b")
_OF_EACH = ("stay", "count", "streak")
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
#: Relations whose sentence names one series alone.
_NEVER_OF_TWO = (
    "mean",
    "maximum",
    "minimum",
    "volatility",
    "count",
    "streak",
    "any_step",
    "touch",
    "stay",
    "first",
)
#: Stands where a level should.
_HOLE = re.compile(
    r"target|materially|comfortably|\[?x+(?:\.x+)?\]?|bps?|consensus|expectations?|expected|expensive|cheap|high|low|somewhere|a lot|%"
)
#: "Rises to by December": where to is not said.
_OPEN_TO = re.compile(r"R (to)(?= (?:by |on |in |before )?(?:the )?W|$)")
#: A series by its source and id, as `series_named` takes it.
_REFERENCE = re.compile(
    r"(?<![\w:])(?:yahoo|fred|dbnomics|fmp|kalshi|polymarket|wikipedia|own|embedded):[\w^][\w^=/.:&-]*(?<![.:])"
)
#: Ranges of the embedded series' levels that a claim may be about; what is far outside is another unit or another series.
_USUAL = {"SP500": (400, 20000), "NASDAQ": (800, 60000), "VIX": (4, 200), "WTI": (1, 400), "AAA": (0.1, 30), "BAA": (0.1, 30), "SPREAD": (0.01, 4)}  # fmt: skip

#: Where others were quoted, for what a "3 handle" of them is.
_QUOTED = {"Bitcoin": (1000, 200000), "Dow Jones Industrial Average": (10000, 90000), "gold": (1000, 9000), "Nikkei 225": (10000, 90000), "DAX": (10000, 40000), "FTSE 100": (1000, 20000), "Russell 2000": (1000, 9000), "NASDAQ-100": (1000, 60000)}  # fmt: skip


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
    named = {each.candidates[0].ref for each in mentioned if len(each.candidates) == 1}
    for index, each in enumerate(mentioned):
        if len(each.candidates) > 1 and len({other.ref for other in each.candidates} & named) == 1:
            # "Oil's slump goes on, and Brent ...": the word is the one that is named beside it.
            places.append((each.start, each.end))
            continue
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
        if ":" in chosen.source and chosen.article.upper() not in chosen.source.upper():
            # The reading says the series by its id, which tells most readers nothing.
            notes.append(f"{written!r} is read as {chosen.source}, {chosen.article}")
        names.append(chosen)
        places.append((each.start, each.end))
    if len(names) > 1:
        # A series that is named again is the same one; of two that are compared the verb stands between.
        distinct = [i for i, name in enumerate(names) if name not in names[:i]]
        verb = _BETTER.search(masked)
        sides = [[each for place, each in zip(places, names, strict=True) if verb and (place[1] <= verb.start()) is before] for before in (True, False)] if len(places) == len(names) else [[], []]  # fmt: skip
        names = [names[i] for i in distinct]
        if len(names) == 2 and all(sides) and {sides[0][-1].ref, sides[1][0].ref} == {each.ref for each in names}:  # fmt: skip
            names = [sides[0][-1], sides[1][0]]
    for start, end in places:
        masked = masked[:start] + "S" * (end - start) + masked[end:]
    return masked, tuple(names), tuple(places)


_BETTER = re.compile(
    r"\b(?:beats?|beating|(?:out|under)-?perform[a-z]*|do(?:es)? (?:better|worse) than|lags?|trails?|outpaces?)\b"
)
_PAIRS = {"EUR/USD", "GBP/USD"}


def _joined_pair(masked: str, names: tuple[SeriesName, ...]) -> tuple[str, tuple[SeriesName, ...], bool]:
    refs = [each.ref for each in names]
    if len(names) == 2 and refs[1] in ("US dollar index", "trade-weighted US dollar index") and (refs[0] in _PAIRS or refs[0] in PER_DOLLAR):  # fmt: skip
        return re.sub(r"(?:against|versus|vs\.?|to|with) (?=S+$|S+ )", lambda match: "S" * len(match[0]), masked), names[:1], False  # fmt: skip
    if len(names) == 2 and "US dollar index" in refs:
        pair = next(each for each in names if each.ref != "US dollar index")
        matched = re.search(r"(?:against|versus|vs\.?) (?:the )?(?=S)", masked)
        if pair.ref in _PAIRS and matched:
            masked = (
                masked[: matched.start()] + "S" * (matched.end() - matched.start()) + masked[matched.end() :]
            )
            return masked, (pair,), refs[0] == "US dollar index"
    other = next((ref for ref, words in _CURRENCIES if re.search(rf"\b(?:{words})\b", masked)), "")
    if refs == ["US dollar index"] and other:
        pair = known_name(other)
        return masked, (pair,), pair.ref in _PAIRS
    return masked, names, False


def _apples_and_pears(names: Sequence[SeriesName]) -> bool:
    return len(names) == 2 and all(each.kind == "price" for each in names) and {each.ref for each in names} != {"embedded:WTI", "Brent crude oil"}  # fmt: skip


#: What the dollar is said to be worth in.
_CURRENCIES = (("USD/JPY", "yen|jpy"), ("USD/CNY", "yuan|renminbi"), ("USD/TRY", "lira"), ("USD/MXN", "pesos?"), ("USD/INR", "rupees?"), ("USD/CHF", "swiss francs?|francs?"), ("USD/CAD", "canadian dollars?|loonies?"), ("EUR/USD", "euros?"), ("GBP/USD", "pounds?"))  # fmt: skip


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
