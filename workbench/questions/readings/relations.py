"""What a text says of its series: how it is compared, with what, and how often; each part with its place in the text.

The text comes with its other slots written over (``S`` series, ``W`` windows, ``A`` amounts). What is recognised here becomes ``R``; a
letter that stays small belongs to no slot.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from workbench.questions.readings.amounts import Amount
from workbench.questions.readings.counted_words import MaskedText

Way = Literal["up", "down", ""]

_UP = (
    r"rises?|rising|risen|gains?|gaining|increases?|increasing|climbs?|climbing|advances?|grows?|growing|jumps?|rall(?:y|ies)|rallying|surges?|soars?|"
    r"adds?|widens?|(?:accelerates?|quickens?|picks? up|speeds? up)(?= to )|blows? out|risen|climbed|gained|raised|hiked|recovered|rebounded|rallied|appreciates?|bounces?|recovers?|rebounds?|spikes?|spiking|shoots? up|ticks? up|goes? up|goes higher|go higher|moves? up|moves? higher|"
    r"heads? higher|going up|pops?|strengthens?|expands?|steepens?|(?:is|are|be|being|was)? ?up|increase of|returns?|(?:have|has|having) an up (?:day|week|month|quarter|year)|rise of|gain of|hikes?|raises?|lifts?|expands? by|improves?"
)
_DOWN = (
    r"falls?|falling|fallen|dropped|declined|sunk|corrects?|correcting|suffers? (?:a |an )?(?:drop|fall|decline|loss)(?: of)?|drops?|dropping|declines?|declining|decreases?|decreasing|loses?|losing|lose|slides?|sliding|slumps?|plunges?|plunging|"
    r"tumbles?|sinks?|sheds?|dips?|dipping|crash(?:es)?|crashing|collapses?|sells? off|narrows?|tightens?|shrinks?|gives? back|lost|loses|depreciates?|goes? down|"
    r"goes lower|go lower|moves? down|moves? lower|heads? lower|going down|weakens?|retreats?|ticks? down|(?:is|are|be|being|was)? ?down|slips?|"
    r"(?:have|has|having) a down (?:day|week|month|quarter|year)|drop of|fall of|decline of|loss of|(?:slows?|eases?|cools?)(?= to )|cuts?|lowers|slashes|pulls? back"
)
_REACH = (
    r"touch(?:es|ed)?|touching|hits?|hitting|reach(?:es)?|reaching|breach(?:es)?|breaching|tests?|testing|tags?|sees?|prints?|attains?|attaining|gets? (?:to|up to|down to|as (?:high|low) as)|"
    r"goes? (?:as (?:high|low) as|to|all the way to)|as (?:high|low) as|trades? (?:at|as (?:high|low) as)"
)
_CROSS = r"blows? through|reclaims?|retakes?|recaptures?|broken|crossed|passed|breaks?(?: out| through| back| down)?|breaking|crosses?|cross|crossing|pierces?|passes|pass(?: through)?|pushes|push(?: through)?|blows? (?:through|past)|clears?|pops?(?= (?:above|over|through|past))|takes? out|tak(?:es?|ing) out|through(?= A)|smash(?:es)? through"
_END = r"(?:have |has )?(?:closed|ended|finished|settled|traded)|fetch(?:es)?|chang(?:e|es|ing) hands(?: for| at)?|buys?|(?:to )?yields?(?= (?:R|less|more|above|below|over|under|at))|runs?(?= (?:R|above|below|over|under|at))|(?:is |be )?worth|closes?|closing|ends?|ending|finish(?:es|ing)?|settles?|(?:is|are|be|being|was|were)|stands?|sits?|trades?|trading|comes? in|prints?|reads?|lands?|lies?|lie|costs?|posts?|stays? up"
_STAY = r"(?:is |be )?stuck|spends?|spending|(?:is |be )?confined(?: to)?|stays?|staying|remains?|remaining|holds?|holding|keeps?|persists?"
_NEG = r"(?:do(?:es)?|will|would|is|are|can|did|shall)(?: not|n't)|won't|can't|cannot|isn't|never|no way(?: that)?|(?:i )?doubt(?: that| if| whether)?|(?:is |are )?unlikely to|(?:there(?: will be|'s| is) )?no(?= (?:S+ )?(?:more |further )?(?:hikes?|cuts?|rise|fall|increase|decrease|drop|rally|crash|bear|correction|touch|new))|not(?! (?:above|below|more|less|higher|lower|over|under))|fails? to"

_ABOVE = r"(?:higher|more|greater|larger|bigger|stronger|wider|steeper|faster) than|above|over|exceeds?|exceeding|overshoots?|>|north of|upwards? of|in excess of|beyond|past|tops?|topping|surpass(?:es)?|beats?|better than"
_BELOW = r"undershoots?|(?:lower|less|fewer|smaller|weaker|tighter|narrower|flatter|slower) than|below|under|beneath|<|south of|sub-?"
_AT_LEAST = r"at or above|at or over|above or at|at least|no (?:lower|less|fewer|worse) than|not (?:below|less than|lower than|under)|>=|=>|(?:a )?minimum of|greater than or equal to"
_AT_MOST = r"at or below|at or under|below or at|at most|no (?:higher|more|greater) than|not (?:above|more than|higher than|over)|<=|=<|(?:a )?maximum of|less than or equal to|up to"
_COMPARE = (("at_least", _AT_LEAST), ("at_most", _AT_MOST), ("above", _ABOVE), ("below", _BELOW))
_SUFFIX = (("at_least", r"(?<=[RWA]),? or (?:higher|more|above|better|over)(?= W|$)|(?<=A)(?: ?\+(?!\w)| (?:and|or) (?:higher|more|above|better|greater|up|over|wider|tighter|lower(?=Z))\b| plus\b)|(?<=R) (?:and|or) (?:higher|more|above|greater|over)\b"), ("at_most", r"(?<=[RWA]),? or (?:lower|less|below|under)(?= W|$)|(?<=A) (?:and|or) (?:lower|less|below|fewer|under)\b"))  # fmt: skip

_YOY = r"\(?(?:yoy|y/y|y-o-y|year[- ](?:on|over)[- ]year|(?:from|than) a year (?:ago|earlier|before)|on the year|on an annual basis|annual(?:ly)?(?: growth)?(?: rate)?(?= |$)(?! average)|per year|a year(?= |$)|12[- ]month(?: rate| change)?)\)?"
_MOM = r"\(?(?:mom|m/m|m-o-m|month[- ](?:on|over)[- ]month|from the (?:previous|prior) month|on the month|monthly(?! (?:close|high|low|basis|average|chart))|month to month)\)?"
_QOQ = r"\(?(?:qoq|q/q|quarter[- ](?:on|over)[- ]quarter)\)?"
_ANNUALIZED = r"\(?(?:annuali[sz]ed|saar|at an annual rate)\)?"

_OUTPERFORM = r"beats?|beating|out-?performs?|out-?performing|outpaces?|outdoes|outdo|outshines?|trounces|does better than|do better than|leads|ahead of|outgains?|outruns|(?:rises?|gains?|returns?|climbs?|grows?|rall(?:y|ies)|up|increases?|performs?) (?:by )?(?:more|better|faster|further) than|(?:falls?|drops?|loses?|declines?|down) (?:by )?less than|a (?:higher|better|bigger) return than|has a better .{0,12}than"
_UNDERPERFORM = r"under-?performs?|under-?performing|lags?(?: behind)?|lagging|trails?|does worse than|do worse than|behind|(?:falls?|drops?|loses?|declines?|down) (?:by )?more than(?= S)|(?:rises?|gains?|returns?|climbs?|grows?|up|performs?) (?:by )?(?:less|worse) than"
_NOW = r"(?:from|than|versus|vs\.?|compared (?:to|with)|relative to|above|below)? ?(?:its |the |their |where (?:it|they) (?:is|are|stands?) )?(?:here(?![a-z])|current(?: levels?| price| close| value)?|present level|today's (?:close|levels?|price)|last (?:known )?(?:close|price|value|print)|latest (?:close|value|print|reading)|spot(?: levels?)?|now|the cutoff|the last value known|today)(?= |$)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What a text says, before it is known of which days."""

    #: As in `SlotReading.relation`.
    name: str
    #: "" for a bare direction, which ``way`` gives.
    comparison: str = ""
    #: level, upper: As written.
    level: Amount | None = None
    upper: Amount | None = None
    #: "last", "highest", "lowest", "mean", "volatility", "steps", or "" where the text says none.
    statistic: str = ""
    #: "yoy", "mom", "qoq", "annualized", or "".
    growth: str = ""
    #: Of the verb of motion, if there is one.
    way: Way = ""
    times: int = 1
    step: str = ""
    lag: int | None = None
    never: bool = False
    #: A verb of closing was said: the value at the end is meant, and not one on the way.
    closing: bool = False
    #: It is measured from the last known value, in so many words.
    now: bool = False
    #: "At some point" was said: one day of the window is enough.
    once: bool = False


#: Of moves of the federal funds rate, in percentage points.
QUARTER_POINT = 0.25


def _of_two_moves(first: Relation, back: str) -> tuple[Relation, ...]:
    """Return two percentages with the signs of their moves; none where both go one way: the nearer then comes first."""
    if first.level is None or first.upper is None or {first.level.unit, first.upper.unit} != {"%"}:
        return (first,)
    # Of a price a percentage is a move, and a number without one is a level.
    down = first.level.value < 0 or first.way == "down"
    back_down = first.upper.value < 0 or (
        re.match("fall|drop|los|declin|down", back) is not None if back else not down
    )
    if down == back_down:
        return ()
    signed = [
        replace(each, value=abs(each.value) * (-1 if falls else 1))
        for each, falls in ((first.level, down), (first.upper, back_down))
    ]
    return (replace(first, level=signed[0], upper=signed[1]),)


def mirrored(relation: Relation) -> Relation:
    """Return what a relation says of a price that is quoted the other way round: the dollar gains, and the euro in dollars falls."""
    if not relation.way:
        return relation
    sides = {"at_least": "at_most", "at_most": "at_least", "above": "below", "below": "above"}
    return replace(
        relation,
        way="down" if relation.way == "up" else "up",
        comparison=relation.comparison
        if relation.name == "change"
        else sides.get(relation.comparison, relation.comparison),
    )


def relations(
    text: str,
    numbers: Sequence[Amount],
    counts: dict[str, int],
    *,
    series: int,
    kind: str,
    usual: tuple[float, float] | None = None,
) -> tuple[str, tuple[Relation, ...]]:
    """Return the text with what was read written over by ``R``, and the relation that it states, if it states one."""
    part = MaskedText(text)
    amounts = list(numbers)
    now = part.word(_NOW) is not None or "now" in counts
    part.word("at all(?! times)")
    if part.word(r"(?:still )?(?:manage a single|manage to|at least one(?= (?:S|close))|at (?:any|some) (?:point|time|stage)|sometime|at any time|at some point(?: in time)?|ever|once|at least once|any ?time|even once|intraday|(?<!in )(?<!on )any (?:week|day|month|session|pt|point|given (?:week|day|month))|in (?:at least )?(?:one|any|a|a single) (?:report|print|release|reading))"):  # fmt: skip
        sometime = True
    else:
        sometime = False
    part.word("at least one(?= A)")
    throughout = "throughout" in counts or part.word("at all times|throughout|the whole time|all the time|every (?:day|session|single day)|always|each day") is not None  # fmt: skip
    negations = [match[0] for _ in range(2) if (match := part.word(_NEG))]
    negated = len(negations) == 1
    sometime = sometime or negations in (["never"], ["no way"], ["no way that"])
    each_step = part.word(r"(?:at least one )?(?:daily|one-day|single-day|intraday)(?= (?:drop|fall|decline|loss|gain|rise|rally|move|jump))|in (?:any|some|at least one|a single|one) (?:given |calendar |single )?(?:month|week|day|session|quarter)(?: of| in| during)?|(?:on|in) a single (?:day|session|month|week)|in one (?:day|session|month|week)|on any (?:one )?day")  # fmt: skip

    def level(index: int = 0) -> Amount | None:
        return amounts[index] if len(amounts) > index else None

    bound = part.word(
        r"(?:unchanged|flat|even|steady|level) or (?P<way>lower|down|higher|up)|(?P<way2>lower|down|higher|up) or (?:unchanged|flat)"
    )
    if bound:
        down = (bound["way"] or bound["way2"]) in ("lower", "down")
        part.word(_END)
        return part.text, (Relation(name="compare", comparison="at_most" if down else "at_least", way="down" if down else "up", now=now, never=negated),)  # fmt: skip
    if amounts and part.take(
        r"(?:(?<![\w'])(?:flat )?\(?\+ ?/ ?-?(?=A)|(?<![\w'])(?:flat )?(?:within|inside)(?= A+ (?:points? )?R))"
    ):
        part.word(_STAY)
        part.word(_END)
        return part.text, (Relation(name="move_by", comparison="above", level=replace(amounts[0], value=abs(amounts[0].value)), never=not negated, now=now),)  # fmt: skip
    beyond = (
        (now or part.has("A (?:above|below|over|under) W"))
        and amounts
        and amounts[0].unit in ("%", "bp", "pp", "points")
    )
    edge = (
        part.take(r"(?:(?<=A )(?P<way>above|below|over|under|higher|lower)(?: than)?(?= R| W))")
        if beyond
        else None
    )
    if edge and "average" not in counts:
        least = _comparison(part)
        part.word(_END)
        way: Way = "down" if edge["way"] in ("below", "under", "lower") else "up"
        comparison = (
            least if least in ("at_least", "at_most") else "above" if least == "above" else "at_least"
        )
        return part.text, (Relation(name="change", comparison=comparison, level=amounts[0], way=way, now=now, never=negated, closing=True),)  # fmt: skip
    if amounts and part.word(
        r"(?:in )?(?:either|any) (?:way|direction)|(?:up or down|one way or (?:the other|another)|either up or down)"
    ):
        compared = _comparison(part)
        part.word(
            r"(?:moves?|moving|swings?|swinging|changes?|shifts?|a (?:move|swing|change)|move of)(?: (?:by|of))?(?: (?:more than|at least|over))?|by"
        )
        part.word(_END)
        # "Less than 5 % either way" is that it does not move so far.
        small, side = compared in ("below", "at_most"), "above" if compared == "at_most" else "at_least"
        return part.text, (Relation(name="move_by", comparison=side, level=amounts[0], never=negated != small, now=now),)  # fmt: skip
    if part.word(
        r"(?:remains? |stays? |is |be |holds? |keeps? )?(?:unchanged|on hold|steady|no change|without (?:a )?change)(?: in)?|(?:leave[s]?|leave|holds?|keeps?|hold|keep)(?: (?:S+|rates|interest|policy|its|the|them))* (?:unchanged|on hold|steady|where (?:they|it) (?:are|is)|alone)|no change in|pauses?|holds?(?= R| S| W)"
    ):
        return part.text, (Relation(name="unchanged", comparison="between", never=negated),)
    base = Relation(name="", now=now, never=negated, once=sometime or "any" in counts)
    # "Up from 4.4 %", "rises from 70 to 80": where it stands, and no level that is asked about.
    moving = amounts and part.has(rf"(?<![a-z])(?:{_UP}|{_DOWN})(?![a-z]).* from \$?A")
    stands = part.take(r"(?:(?<![\w'])from \$?A+(?= |$))") if moving else None
    if stands:
        amounts.pop(len(re.findall("A+", text[: stands.start()])))
        part.text = part.text[: stands.start()] + "R" * len(stands[0]) + part.text[stands.end() :]

    if series == 2:
        part.word(
            "(?:the )?(?:gap|spread|difference|differential)(?: between| of)?|minus|less(?= S)|and(?= (?:the )?S)"
        )
    # two series
    if series == 2:
        if part.word(_UNDERPERFORM):
            closing = _compared(part)
            return part.text, (
                replace(base, name="beats", comparison="below", level=level(), closing=closing),
            )
        if part.word(_OUTPERFORM):
            closing = _compared(part)
            return part.text, (
                replace(base, name="beats", comparison="above", level=level(), closing=closing),
            )

    if kind == "count":
        part.word("jobs")
        part.word("(?:at )?(?:an )?annual(?:i[sz]ed)? (?:pace|rate)(?: of)?")
    volatility = part.word(r"(?:total )?(?:annuali[sz]ed )?(?:reali[sz]ed|historical|actual) (?:vol|volatility)(?: (?:of|in|for))?|(?:realised|realized)|(?:vol|volatility) (?:of|in|for)(?= (?:the )?S)|(?:total )?volatility(?= (?:will|above|below|under|over|is|of|more|less|>|<|W|R))|(?<=S )(?:vol|volatility)")  # fmt: skip
    if volatility:
        part.word(_ANNUALIZED)
    said = _growth(part) or ("yoy" if "yoy" in counts else "")
    mean = part.word(r"(?:daily |weekly |monthly )?(?:averages|average|averaging|mean)(?: (?:close|level|price|value|reading|rate))?(?: (?:of|for))?|on average") if "average" not in counts else None  # fmt: skip
    high = part.word(
        r"(?:the |its |a |an )?(?:(?:intraday |closing |period |yearly |year's |highest |monthly )?(?:highest|maximum|max|peaks?|high|highs|(?<=the )top|(?<=its )top)(?: (?:close|value|level|price|reading|point|print))?(?: (?:of|for|in|at|reached|hit))?)(?= (?:the |a )?(?:S|W|above|over|below|under|exceed|is|at|between|in|will|reach|hit|>|<|A|R))"
    ) if not part.has(r"new|fresh|ytd|record|all[- ]time|ath|X|peak[- ]to[- ]trough|from (?:its |the |a )?(?:peak|high|top)|A (?:below|under|off)") else None  # fmt: skip
    low = part.word(
        r"(?:the |its |a |an )?(?:(?:intraday |closing |period |yearly |year's |monthly )?(?:lowest|minimum|min|trough|low|lows|bottoms?)(?: (?:close|value|level|price|reading|point|print))?(?: (?:of|for|in|at|reached|hit))?)(?= (?:the |a )?(?:S|W|above|over|below|under|exceed|is|at|between|in|will|reach|hit|>|<|A|R))"
    ) if high is None and not part.has(r"new|fresh|ytd|record|all[- ]time|X|peak[- ]to[- ]trough|from (?:its |the |a )?(?:low|trough|bottom)|A above") else None  # fmt: skip

    if counts.get("average"):
        crossed = part.word(f"{_CROSS}") is not None
        way = _way_moved(part)
        closing = part.word(_END) is not None
        compared = _comparison(part) or ("above" if way == "up" else "below" if way == "down" else "")
        part.word("its|their|the")
        name = "average_cross" if crossed or sometime else "average_gap"
        return part.text, (replace(base, name=name, comparison=compared, level=level(), lag=counts["average"], closing=closing, way=way),) if compared else ()  # fmt: skip

    extreme = part.word(
        r"(?:(?:undercuts?|makes?|making|sets?|setting|hits?|hitting|reach(?:es)?|posts?|prints?|notch(?:es)?|closes? at|at|to|see|sees|breaks? (?:its|the)|takes? out (?:its|the)|exceeds? its|surpass(?:es)? its|beats? its|rises? to|climbs? to|falls? to|drops? to) )?(?:a |an |its |the )*(?:(?:new|fresh|another|record|all[- ]time|historic|series|closing|X+)[ -]?)+(?:closing )?(?P<end>highs?|lows?|peak|record)|(?:(?:hits?|makes?|at|sets?|new|fresh|reaches|a|to) )*(?P<ath>aths?)|(?:its |the )?(?:lowest|highest)(?: level| close| value| reading)? (?:on record|ever|in history)|(?:sets?|hits?|breaks?|makes?|reaches|posts?|at|to) (?:a |an |its |the )?(?:new |all[- ]time )?record(?: close| high| level)?|(?<=S )record(?: close| high| level)"
    )
    if extreme:
        lowest = "low" in extreme[0]
        way = _way_moved(part)
        part.word(_END)
        return part.text, (replace(base, name="new_low" if lowest else "new_high", comparison="below" if lowest else "above", lag=counts.get("extreme"), way=way),)  # fmt: skip

    peak = part.word(
        r"peak[- ]to[- ]trough(?: (?:decline|fall|drawdown|drop))?(?: in| of)?|(?:from|below|under|off|down from|off of|above)? ?(?:its |the |their |a |any )?(?:(?:prior |previous |recent |record |all[- ]time |latest |earlier |january |february |2018 |current |running )*(?:peak|high|highs|(?<=the )top|(?<=its )top|ath|low|lows|trough|bottom))(?: so far| close)?|(?:max(?:imum)? )?drawdown(?: of)?|(?:enters? |in |into |goes? into |is in )?(?:a |an )?(?:bear market|(?:market )?correction|pull-?back|sell-?off)(?: territory)?"
    ) if high is None and low is None and not part.has("as (?:high|low) as") else None  # fmt: skip
    if peak:
        standard = 20.0 if "bear" in peak[0] else 10.0 if "correction" in peak[0] else None
        amount = level()
        if amount is None and standard is not None:
            amount = Amount(value=standard, unit="%", span=peak.span())
        rises = re.search(r"\b(?:lows?|trough|bottom)\b", peak[0]) is not None and "peak" not in peak[0]
        way = _way_moved(part)
        part.word(
            r"(?:from|off|below|under) (?:its |the |their )?(?:recent |prior |all-time )?(?:peak|highs?)"
        )
        compared = _comparison(part)
        if re.match(r"(?:no|not|less|smaller|at most|up to)\b", part.compared):
            # "Drawdown no worse than 3 %": it never falls so far.
            base, compared = replace(base, never=not base.never), ""
        closing = part.word(_END) is not None
        _reached = part.word(_REACH)
        name = "from_trough" if rises else "from_peak"
        return part.text, (replace(base, name=name, comparison=compared or ("above" if rises else "below"), level=amount, way=way, closing=closing),) if amount else ()  # fmt: skip

    lost = (
        part.take(
            r"(?:(?<![\w'])(?:loses?|losing|gives? up|surrenders?) (?:(?:the|its) )?(?=\$?A+(?:[- ]handle)?(?= W|$)))"
        )
        if amounts and not amounts[0].unit
        else None
    )
    if lost and (part.has("A[- ]handle") or (usual is not None and usual[0] <= amounts[0].value)):
        part.word("handle")
        return part.text, (replace(base, name="touch", comparison="below", level=amounts[0], way="down"),)
    if (
        amounts
        and amounts[0].signed
        and part.take(r"(?:(?<![\w'])(?:(?:we )?gets? )?an? A+ (?:day|session)(?![\w]))")
    ):
        part.word(_END)
        part.word("gets?|sees?|has")
        size = replace(amounts[0], value=abs(amounts[0].value))
        return part.text, (replace(base, name="any_step", comparison="at_least", level=size, way="down" if amounts[0].value < 0 else "up"),)  # fmt: skip
    handle = part.take(
        r"(?:(?<![\w'])(?:with |at |on |to |back to )*(?:an? |the )?A+[- ]handle(?P<way> or (?:higher|lower|better|more|above|below|less))?(?![\w]))"
    )
    if handle and amounts:
        part.word(_REACH)
        part.word(_END)
        part.word("with|back|to|again")
        _way_moved(part)
        return part.text, _handles(base, amounts[0], usual, (handle["way"] or "")[4:], sometime=sometime)
    moves = counts.get("moves")
    if moves:
        way = _way_moved(part)
        part.word("(?:interest |policy )?rates?|from the")
        amount = Amount(value=QUARTER_POINT * moves, unit="pp")
        return part.text, (
            replace(base, name="change", comparison="at_least", level=amount, way=way),
        ) if way else ()
    if "times" in counts:
        way = _way_moved(part)
        stay = part.word(_STAY)
        closing = part.word(_END) is not None
        compared = _comparison(part) or {"up": "above", "down": "below"}.get(_word_way(part) or way, "")
        part.word("straight|consecutive|in a row")
        matched = replace(base, name="streak" if counts.get("row") else "count", statistic="steps", comparison=compared, level=level(), times=counts["times"], closing=closing, never=negated and not stay)  # fmt: skip
        return part.text, (matched,) if compared else ()

    first = part.word(r"(?:is |be )?(?:first|before)(?: it| they)?(?: (?:hit(?:s|ting)?|reach(?:es|ing)?|touch(?:es|ing)?|(?P<back>fall(?:s|ing)?|drop(?:s|ping)?|los(?:es|ing)|declin(?:es|ing)|ris(?:es|ing)|climb(?:s|ing)?|gain(?:s|ing)?|up|down)(?: to| by| another)?|trades? at))?(?= A)") if len(amounts) > 1 else None  # fmt: skip
    bound = part.word(r"(?:(?:is|be|stays?|remains?|trades?) )?range[- ]?bound")
    between = _between(part)
    stay = part.word(_STAY) or bound
    reach = part.word(_REACH)
    cross = part.word(_CROSS)
    for_first = part.word(
        r"(?:for )?(?:the |its )?(?:first|1st)(?: ever)?(?: time| close)?(?: ever)?(?: this cycle)?|first"
    )
    crash = (
        part.has(r"(?<![\w'])(?:crash(?:es)?|crashing|collapses?|plunges?|tanks?)(?![\w'])") and not amounts
    )
    way = _way_moved(part)
    _moves_to = part.take(r"(?:(?<![\w'])(?:back |out |up |down )*(?:to|through|past|into|toward|towards|at)(?= (?:\$|the |a )?(?:A|between|above|below|under|over|less than|more than|at )))")  # fmt: skip
    by = part.take(r"(?:(?<![\w'])by(?= (?:at least |more than |over |R+ )?A))")
    closing = part.word(_END) is not None
    compared = _comparison(part)
    levelled = kind != "price" or bool(said)
    worded = "" if levelled and part.has(r"\b(?:negative|positive|contract(?:s|ing)?)\b") else _word_way(part)
    moved = way or worded
    statistic = "highest" if high else "lowest" if low else "mean" if mean else ""
    amount = level()
    matched = replace(base, comparison=compared, level=amount, growth=said, way=moved, closing=closing)

    if volatility:
        return part.text, (replace(matched, name="volatility", comparison=compared or {"up": "above", "down": "below"}.get(moved, "")),) if amount else ()  # fmt: skip
    if first and len(amounts) > 1:
        two = replace(matched, name="first", upper=amounts[1])
        return part.text, _of_two_moves(two, first["back"] or "") if kind == "price" else (two,)
    if between and len(amounts) > 1:
        low_end, high_end = sorted(amounts[:2], key=lambda each: each.value)
        if low_end.unit == "" != high_end.unit:
            low_end = replace(low_end, unit=high_end.unit)
        if 0 < low_end.value < high_end.value / 200 and high_end.value >= 1000:
            low_end = replace(low_end, value=low_end.value * 1000)
        how_much = low_end.unit == "%" if kind == "price" else way and low_end.unit in ("bp", "pp", "points")
        how_much = how_much or (
            way and {low_end.unit, high_end.unit} & {"points", "money"} == {high_end.unit}
        )
        by_how_much = moved and how_much and not _moves_to
        name = "change" if by_how_much else "stay" if stay or throughout else "mean" if mean else "level"
        return part.text, (replace(matched, name=name, comparison="between", level=low_end, upper=high_end, statistic=statistic),)  # fmt: skip
    if mean:
        part.word("(?:per|a|each) month")
        if amount is None:
            return part.text, ()  # an average beside another one
    if (
        amount
        and part.moved.strip() in ("down", "up")
        and part.take(r"(?:(?<=A R{4} )|(?<=A R{2} )|(?<=R R{4} )|(?<=R R{2} ))(?:day|session)(?![\w])")
    ):
        part.word("has|have")
        return part.text, (replace(matched, name="any_step", comparison="at_least", way="down" if part.moved.strip() == "down" else "up"),)  # fmt: skip
    if each_step and (reach or not moved):
        sometime = True
    elif each_step:
        longer = re.search("week|month|quarter", each_step[0])
        compared = compared if compared in ("at_least", "at_most") else "above"
        return part.text, (
            replace(matched, name="any_step", comparison=compared, step=longer[0] if longer else ""),
        ) if amount and moved else ()
    sign = (
        None
        if amount or (kind == "price" and not said)
        else part.word(
            "(?:(?:turns?|goes|go|is|be|prints?|comes? in) )*(?:negative|positive)|contracts?|contracting|contract"
        )
    )
    if sign:
        zero = Amount(value=0.0, unit="")
        return part.text, (
            replace(
                matched,
                name="level",
                comparison="above" if sign and "positive" in sign[0] else "below",
                level=zero,
                way="",
            ),
        )
    if amount is None and part.word(
        "inverts?|inverted|inverting|(?:goes?|turns?|go|turn|is) negative|(?:goes|turns) below zero"
    ):
        zero = Amount(value=0.0, unit="")
        return part.text, (replace(matched, name="touch", comparison="below", level=zero),)
    multiple = (part.word("half (?:of )?(?:its|their) value") if way == "down" else None) or part.word(
        "doubles|double(?![- ]digit)|doubling|halves|halve|triples|triple|quadruples"
    )
    if multiple and amount is None:
        percent = {"d": 100.0, "h": -50.0, "t": 200.0, "q": 300.0}[multiple[0][0]]
        amount = Amount(value=abs(percent), unit="%", span=multiple.span())
        return part.text, (replace(matched, name="change", comparison="at_least", level=amount, way="down" if percent < 0 else "up"),)  # fmt: skip
    if statistic and amount:
        side = compared or {"up": "above", "down": "below"}.get(moved, "") or ("at_least" if reach else "")
        return part.text, (replace(matched, name="mean" if mean else "maximum" if high else "minimum", comparison=side, statistic=statistic),) if side else ()  # fmt: skip
    if crash:
        supposed = Amount(value=20.0, unit="%")
        return part.text, (replace(matched, name="drawdown", comparison="at_least", level=supposed),)
    if amount is None and series == 2 and compared:
        return part.text, (replace(matched, name="level", level=Amount(value=0.0, unit="")),)
    if amount is None and throughout:
        return part.text, ()
    if amount is None:
        if not moved and not compared:
            return part.text, ()
        if compared and not moved and not part.has("W"):
            return part.text, ()
        if compared and not moved:
            moved = "up" if compared in ("above", "at_least") else "down"
        weak = {"at_least": "at_least", "at_most": "at_most"}.get(compared, "")
        return part.text, (replace(matched, name="compare", comparison=weak or ("above" if moved == "up" else "below"), way=moved),)  # fmt: skip
    moves_by = _moves_by(
        matched,
        amount,
        to=_moves_to is not None,
        by=by is not None,
        words=part.compared,
        verb=part.moved,
        kind=kind,
    )
    if moves_by and moved:
        sides = {"at_least": "at_least", "at_most": "at_most", "below": "below"}
        return part.text, (replace(matched, name="change", comparison=sides.get(compared, "above") if compared else "at_least"),)  # fmt: skip
    if amount.signed and compared in ("", "at_least") and amount.unit in ("%", "bp", "pp", "points"):
        return part.text, (replace(matched, name="change", comparison="at_least", way="up" if amount.value > 0 else "down", level=replace(amount, value=abs(amount.value))),)  # fmt: skip
    if stay or throughout:
        if not compared:
            return part.text, ()
        return part.text, (replace(matched, name="stay"),)
    if (sometime or "any" in counts) and part.compared.startswith(("no ", "not ")):
        return part.text, (replace(matched, name="stay"),)
    reached = reach is not None or cross is not None
    toward = not compared and not moved
    side = compared or {"up": "at_least", "down": "at_most"}.get(moved, "")
    if reached or for_first or base.once:
        return part.text, (replace(matched, name="touch", comparison=side or "toward"),)
    if toward:
        # "3000 by year end", "at 80": whether it closes there, or beyond, or only touches it, is not said.
        return part.text, (replace(matched, name="bare", comparison="toward"),)
    return part.text, (replace(matched, name="level", comparison=side),)


def _handles(
    base: Relation, amount: Amount, usual: tuple[float, float] | None, way: str, *, sometime: bool
) -> tuple[Relation, ...]:
    low, width = amount.value, 1.0
    if usual is not None:
        least = usual[0] if usual[0] > 1 else 0.0
        while 0 < low < max(least, 10.0 if usual == (1, 400) else least):
            low, width = low * 10, width * 10
    bottom = replace(amount, value=low, unit="")
    top = replace(amount, value=low + width, unit="")
    if way in ("lower", "below", "less"):
        return (replace(base, name="touch" if sometime else "level", comparison="below", level=top),)
    if way:
        return (replace(base, name="touch" if sometime else "level", comparison="at_least", level=bottom),)
    between = replace(base, name="level", comparison="between", level=bottom, upper=top)
    return between, replace(base, name="touch", comparison="below", level=top), replace(base, name="touch", comparison="at_least", level=bottom)  # fmt: skip


def _compared(part: MaskedText) -> bool:
    part.take(r"(?:(?<![\w'])by(?= (?:more than |at least |over )?A))")
    if not _comparison(part):
        part.word("(?:more|less|higher|lower) than")
    part.word("(?:the )?(?:gains?|returns?|performance|rise|that of)")
    return part.word(_END) is not None


def _comparison(part: MaskedText) -> str:
    """Take the words of a comparison; "or more" after a number turns "above" into "at least"."""
    suffix = next((name for name, pattern in _SUFFIX if part.take(pattern)), "")
    before = ""
    for name, pattern in _COMPARE:
        match = part.take(_comparing(pattern))
        if match:
            before, part.compared = name, match[0].strip()
            break
    return suffix or before


def _comparing(pattern: str) -> str:
    """Words stand alone; signs may stand at what they compare."""
    parts = pattern.split("|")
    signs = "|".join(each for each in parts if each[0] in "<>=")
    pattern = "|".join(each for each in parts if each[0] not in "<>=")
    return rf"(?:(?<![<>=])(?:{signs})(?![<>=]))|(?:(?<![\w'<>=])(?:{pattern})(?![\w'=>]))"


def _way_moved(part: MaskedText) -> Way:
    for way, words in (("down", _DOWN), ("up", _UP)):
        match = part.word(rf"(?:a |an )?(?:{words})(?: (?:back|off|up|down|further|another|sharply|out))*")
        if match:
            part.moved = match[0]
            return "down" if way == "down" else "up"
    return ""


def _word_way(part: MaskedText) -> Way:
    if part.word(r"(?:less(?! than)(?= W| R|$)|cheaper|lower|narrower|down|negative|in the red|in negative territory|red|tighter|flatter|a down (?:day|week|month|quarter|year)|a loss|losses|weaker)"):  # fmt: skip
        return "down"
    if part.word(r"(?:worth more|dearer|pricier|higher|wider|up|positive|in the green|in the black|in positive territory|green|steeper|an up (?:day|week|month|quarter|year)|a gain|gains|stronger)"):  # fmt: skip
        return "up"
    return ""


def _between(part: MaskedText) -> bool:
    if part.take(
        r"(?:(?:above|over|more than|higher than) (?:\$)?A+ (?:but|and|yet) (?:below|under|less than|lower than) (?:\$)?A+)"
    ):
        return True
    return (
        part.take(
            r"(?:(?:(?<![a-z])(?:with)?in(?:side)? (?:a |the )?)?(?:range (?:of |from )?|band (?:of )?)?(?:between|from)? ?\$?(?P<one>A+)(?: ?(?:-|to|and|or|n|&) ?|-)\$?(?P<two>A+)(?: (?:range|band|area))?)"
        )
        is not None
    )


def _growth(part: MaskedText) -> str:
    for name, pattern in (("yoy", _YOY), ("mom", _MOM), ("qoq", _QOQ), ("annualized", _ANNUALIZED)):
        if part.take(rf"(?:(?<![\w'])(?:{pattern})(?![\w']))"):
            if name == "qoq" and part.take(rf"(?:(?<![\w'])(?:{_ANNUALIZED})(?![\w']))"):
                return "annualized"
            part.word("growth(?: rate)?|rate|change|increase")
            return name
    return ""


def _moves_by(
    relation: Relation, amount: Amount, *, to: bool, by: bool, words: str, verb: str, kind: str
) -> bool:
    """Whether an amount beside a verb of motion is by how much, and not to where."""
    if to:
        return False
    if by or (amount.unit == "%" and kind == "price"):
        return True
    quantity = words in ("", "more than", "less than", "at least", "at most", "no more than", "up to", "over", "no less than", "higher than", "lower than")  # fmt: skip
    # "Drops more than $200" is by how much; "drops below $200" is to where.
    by_itself = amount.unit == "money" and (
        (not words and relation.comparison == "at_least")
        or words in ("more than", "less than", "at least", "at most", "no more than", "no less than")
        or re.search(r"\b(?:up|down|gain|lose|lost|add|shed)", verb) is not None
    )
    return quantity and (amount.unit in ("%", "bp", "pp", "points") or by_itself)
