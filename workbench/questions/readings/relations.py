"""What a text says of its series: how it is compared, with what, and how often; each part with its place in the text.

The text comes with its other slots written over (``S`` series, ``W`` windows, ``A`` amounts). What is recognised here becomes ``R``; a
letter that stays small belongs to no slot.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from workbench.questions.readings.amounts import Amount

Way = Literal["up", "down", ""]

_UP = (
    r"rises?|rising|risen|gains?|gaining|increases?|increasing|climbs?|climbing|advances?|grows?|growing|jumps?|rall(?:y|ies)|rallying|surges?|soars?|"
    r"adds?|widens?|appreciates?|bounces?|recovers?|rebounds?|spikes?|spiking|shoots? up|ticks? up|goes? up|goes higher|go higher|moves? up|moves? higher|"
    r"heads? higher|going up|pops?|strengthens?|expands?|steepens?|(?:is|are|be|being|was)? ?up|increase of|returns?|(?:have|has|having) an up (?:day|week|month|quarter|year)|rise of|gain of|hikes?|raises?|lifts?|expands? by|improves?"
)
_DOWN = (
    r"falls?|falling|fallen|drops?|dropping|declines?|declining|decreases?|decreasing|loses?|losing|lose|slides?|sliding|slumps?|plunges?|plunging|"
    r"tumbles?|sinks?|sheds?|dips?|dipping|crash(?:es)?|crashing|collapses?|sells? off|narrows?|tightens?|shrinks?|gives? back|lost|loses|depreciates?|goes? down|"
    r"goes lower|go lower|moves? down|moves? lower|heads? lower|going down|weakens?|retreats?|ticks? down|(?:is|are|be|being|was)? ?down|slips?|"
    r"(?:have|has|having) a down (?:day|week|month|quarter|year)|drop of|fall of|decline of|loss of|(?:slows?|eases?|cools?)(?= to )|cuts?|lowers|slashes|pulls? back"
)
_REACH = (
    r"touch(?:es|ed)?|touching|hits?|hitting|reach(?:es)?|reaching|breach(?:es)?|breaching|tests?|testing|tags?|sees?|prints?|attains?|attaining|gets? (?:to|up to|down to|as (?:high|low) as)|"
    r"goes? (?:as (?:high|low) as|to|all the way to)|as (?:high|low) as|trades? (?:at|as (?:high|low) as)"
)
_CROSS = r"breaks?(?: out| through| back| down)?|breaking|crosses?|cross|crossing|pierces?|passes|pass(?: through)?|pushes|push(?: through)?|blows? (?:through|past)|clears?|pops?|takes? out|tak(?:es?|ing) out|through(?= A)|smash(?:es)? through"
_END = r"(?:is |be )?worth|closes?|closing|ends?|ending|finish(?:es|ing)?|settles?|(?:is|are|be|being|was|were)|stands?|sits?|trades?|trading|comes? in|prints?|reads?|lands?|lies?|lie|costs?|posts?|stays? up"
_STAY = r"(?:is |be )?confined(?: to)?|stays?|staying|remains?|remaining|holds?|holding|keeps?|persists?"
_NEG = r"(?:do(?:es)?|will|would|is|are|can|did|shall)(?: not|n't)|won't|can't|cannot|isn't|never|not(?! (?:above|below|more|less|higher|lower|over|under))|fails? to"

_ABOVE = r"(?:higher|more|greater|larger|bigger|stronger|wider|steeper|faster) than|above|over|exceeds?|exceeding|>|north of|upwards? of|in excess of|beyond|past|tops?|topping|surpass(?:es)?|beats?|better than"
_BELOW = r"(?:lower|less|fewer|smaller|weaker|tighter|narrower|flatter|slower) than|below|under|beneath|<|south of|sub-?"
_AT_LEAST = r"at or above|at or over|above or at|at least|no (?:lower|less|fewer|worse) than|not (?:below|less than|lower than|under)|>=|=>|(?:a )?minimum of|greater than or equal to"
_AT_MOST = r"at or below|at or under|below or at|at most|no (?:higher|more|greater) than|not (?:above|more than|higher than|over)|<=|=<|(?:a )?maximum of|less than or equal to|up to"
_COMPARE = (("at_least", _AT_LEAST), ("at_most", _AT_MOST), ("above", _ABOVE), ("below", _BELOW))
_SUFFIX = (("at_least", r"(?<=A)(?: ?\+(?!\w)| (?:and|or) (?:higher|more|above|better|greater|up|over|wider|tighter|lower(?=Z))\b| plus\b)|(?<=R) (?:and|or) (?:higher|more|above|greater|over)\b"), ("at_most", r"(?<=A) (?:and|or) (?:lower|less|below|fewer|under)\b"))  # fmt: skip

_YOY = r"\(?(?:yoy|y/y|y-o-y|year[- ](?:on|over)[- ]year|(?:from|than) a year (?:ago|earlier|before)|on the year|on an annual basis|annual(?:ly)?(?: growth)?(?: rate)?(?= |$)(?! average)|per year|a year(?= |$)|12[- ]month(?: rate| change)?)\)?"
_MOM = r"\(?(?:mom|m/m|m-o-m|month[- ](?:on|over)[- ]month|from the (?:previous|prior) month|on the month|monthly|month to month)\)?"
_QOQ = r"\(?(?:qoq|q/q|quarter[- ](?:on|over)[- ]quarter)\)?"
_ANNUALIZED = r"\(?(?:annuali[sz]ed|saar|at an annual rate)\)?"

_OUTPERFORM = r"beats?|beating|out-?performs?|out-?performing|outpaces?|does better than|do better than|leads|ahead of|outgains?|outruns|(?:rises?|gains?|returns?|climbs?|grows?|rall(?:y|ies)|up|increases?|performs?) (?:by )?(?:more|better|faster|further) than|(?:falls?|drops?|loses?|declines?|down) (?:by )?less than|a (?:higher|better|bigger) return than|has a better .{0,12}than"
_UNDERPERFORM = r"under-?performs?|under-?performing|lags?(?: behind)?|lagging|trails?|does worse than|do worse than|behind|(?:falls?|drops?|loses?|declines?|down) (?:by )?more than(?= S)|(?:rises?|gains?|returns?|climbs?|grows?|up|performs?) (?:by )?(?:less|worse) than"
_NOW = r"(?:from|than|versus|vs\.?|compared (?:to|with)|relative to|above|below)? ?(?:its |the |their |where (?:it|they) (?:is|are|stands?) )?(?:here(?![a-z])|current(?: levels?| price| close| value)?|present level|today's (?:close|levels?|price)|last (?:known )?(?:close|price|value|print)|latest (?:close|value|print|reading)|spot(?: levels?)?|now|the cutoff|the last value known|today)(?= |$)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What a text says, before it is known of which days.

    Parameters
    ----------
    name : str
        As in `SlotReading.relation`.
    comparison : str
        "" for a bare direction, which ``way`` gives.
    level, upper : Amount, optional
        As written.
    statistic : str
        "last", "highest", "lowest", "mean", "volatility", "steps", or "" where the text says none.
    growth : str
        "yoy", "mom", "qoq", "annualized", or "".
    way : str
        Of the verb of motion, if there is one.
    closing : bool
        A verb of closing was said: the value at the end is meant, and not one on the way.
    now : bool
        It is measured from the last known value, in so many words.
    """

    name: str
    comparison: str = ""
    level: Amount | None = None
    upper: Amount | None = None
    statistic: str = ""
    growth: str = ""
    way: Way = ""
    times: int = 1
    lag: int | None = None
    never: bool = False
    closing: bool = False
    sudden: bool = False
    now: bool = False


@dataclass(slots=True)
class _Text:
    """The text while its parts are taken out of it."""

    text: str
    compared: str = ""
    moved: str = ""

    def take(self, pattern: str, letter: str = "R") -> re.Match[str] | None:
        match = re.search(rf"(?<![a-z0-9]){pattern}" if pattern[0] not in "(<>=" else pattern, self.text)
        if match:
            self.over(match.span(), letter)
        return match

    def word(self, words: str) -> re.Match[str] | None:
        """Take one of several words or phrases, as a whole."""
        return self.take(rf"(?:(?<![\w'])(?:{words})(?![\w']))")

    def has(self, pattern: str) -> bool:
        return re.search(pattern, self.text) is not None

    def over(self, span: tuple[int, int], letter: str = "R") -> None:
        start, end = span
        covered = "".join(letter if each == " " or each.islower() or not each.isalpha() else each for each in self.text[start:end])  # fmt: skip
        self.text = self.text[:start] + covered + self.text[end:]


def measured_from_now(text: str) -> tuple[str, bool]:
    """Return the text without "from here", "than where it stands today", and whether they were in it; before days are read."""
    part = _Text(text)
    matched = part.word(
        r"(?:from|th[ae]n|versus|vs\.?|compared (?:to|with)|relative to|of) (?:(?:its|the|their) )?(?:where (?:it|they) (?:is|are|stands?|trades?)|(?:it|they) (?:is|are|does|do|was|were|stands?)|here|current(?: levels?| price| close| value)?|present level|last (?:known )?(?:close|price|value)|spot)(?: (?:right )?(?:now|today|at present))?"
        r"|(?<!day )(?<!days )(?<!week )(?<!weeks )(?<!month )(?<!months )(?<!year )(?<!years )(?:from|th[ae]n|versus|vs\.?) (?:now|today)(?:'s (?:close|levels?|price))?"
    )
    return part.text, matched is not None


def special_counts(text: str) -> tuple[str, dict[str, int]]:
    """Return the text without the numbers that are no level (200-day, 52-week, 3 of 5 days), and those by what they count.

    >>> special_counts("S above its 200-day average")[1]
    {'average': 200}
    """
    part, counts = _Text(text), {}
    number = r"(\d+)"
    match = part.take(rf"{number}[- ]?(?:(?:trading )?days?|d)?[- ]?(?:simple |exponential )?(?:moving average|average|d?ma|sma)(?!\w)")  # fmt: skip
    if match and int(match[1]) < 400:
        counts["average"] = int(match[1])
    elif match:
        part.text = text
    part.take(r"(?:(?<=high )|(?<=low ))for the year")
    match = part.take(r"(?:its |the |their )?(?<!week )(?:moving average|long-term average)")
    if match and "average" not in counts:
        counts["average"] = 0
    match = part.take(
        rf"(?:a |an |its )?(?:new |fresh )?{number}[- ]?(?:year|month|week|day)(?= (?:high|low))", "X"
    )
    if match:
        counts["extreme"] = int(match[1])
    return part.text, counts


_COUNT_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "a": 1, "one": 1}  # fmt: skip


def count_of_steps(plain: str) -> tuple[str, dict[str, str | int]]:
    """Return the text without "3 of the next 5 days" or "on at least 5 days", and the numbers and the step in it.

    >>> count_of_steps("closes higher on 3 of the next 5 days")[1]
    {'times': 3, 'of': 5, 'step': 'day'}
    """
    number = r"\d+|two|three|four|five|six|seven|eight|nine|ten"
    step = r"(?P<step>day|session|trading day|week|month|quarter|close|meeting|reading|print|release)s?"
    at_least = r"(?:(?:on|in|for) )?(?P<more>at least |more than |a minimum of )?"
    row = r"(?P<row> (?:in a row|running|straight)| consecutively)?"
    part = _Text(plain)

    def value(text: str | None) -> int:
        return 0 if text is None else int(text) if text.isdigit() else _COUNT_WORDS[text]

    every = part.take(
        rf"(?:(?:in |on |for )?(?:every one|each(?: and every one)?|every|all)(?: of)? (?:the )?(?:next |coming )?(?P<m>{number}) (?:trading |monthly )?{step}\b)"
    )
    if every:
        return part.text, {"times": value(every["m"]), "of": value(every["m"]), "step": every["step"]}
    them = part.take(
        rf"(?:(?:on |in )?(?P<more>at least |no fewer than |no less than |more than )?(?P<n>{number}) of them)"
    )
    if them:
        return part.text, {
            "times": value(them["n"]) + ((them["more"] or "").startswith("more")),
            "step": "day",
        }
    match = part.take(
        rf"(?:{at_least}(?P<n>{number})(?: or more)? (?:out )?of (?:the |its )?(?:next |coming |following )?(?P<m>{number}) (?:trading |monthly |weekly )?{step}\b)"
    )
    if match:
        more = (match["more"] or "").startswith("more")
        return part.text, {"times": value(match["n"]) + more, "of": value(match["m"]), "step": match["step"]}
    match = part.take(
        rf"(?:{at_least}(?P<n>{number})(?: or more)?(?P<row1> (?:consecutive|straight|successive))? (?:different |separate |trading )?{step}(?P<more2> or more)?{row}(?! (?:from|high|low|hence|ahead|out|later|average|moving))(?<!next)\b(?: (?:in|of|during)(?= (?:the|its) (?:next|W)))?)"
    )
    if match and not re.search(r"(?:next|within|in|over|coming|following|past|last|the) $", plain[: match.start("n")]) and (match["more"] or match["row1"] or match["row"] or re.match("(?:on|for)", match[0])):  # fmt: skip
        more = (match["more"] or "").startswith("more")
        matched: dict[str, str | int] = {"times": value(match["n"]) + more, "step": match["step"]}
        if match["row1"] or match["row"]:
            matched["row"] = 1
        return part.text, matched
    return plain, {}


def relations(
    text: str, numbers: Sequence[Amount], counts: dict[str, int], *, series: int, kind: str
) -> tuple[str, tuple[Relation, ...]]:
    """Return the text with what was read written over by ``R``, and the relation that it states, if it states one.

    Parameters
    ----------
    text : str
        With its other slots written over.
    numbers : sequence of Amount
        In the order of the text.
    counts : dict
        As `special_counts` and `count_of_steps` give them.
    series : int
        How many series are named.
    kind : str
        As in `SeriesName.kind`: of a rate, percent are its level.
    """
    part = _Text(text)
    amounts = list(numbers)
    now = part.word(_NOW) is not None or "now" in counts
    if part.word(r"(?:still )?(?:manage a single|manage to|at least one(?= (?:S|close))|at (?:any|some) (?:point|time|stage)|sometime|at any time|at some point(?: in time)?|ever|once|at least once|any ?time|even once|intraday)"):  # fmt: skip
        sometime = True
    else:
        sometime = False
    part.word("at least one(?= A)")
    throughout = part.word("at all times|throughout|the whole time|all the time|every (?:day|session|single day)|always|each day") is not None  # fmt: skip
    negated = len([1 for _ in range(2) if part.word(_NEG)]) == 1
    each_step = part.word(r"(?:at least one )?(?:daily|one-day|single-day|intraday)(?= (?:drop|fall|decline|loss|gain|rise|rally|move|jump))|in (?:any|some|at least one|a single|one) (?:given |calendar |single )?(?:month|week|day|session|quarter)(?: of| in| during)?|(?:on|in) a single (?:day|session|month|week)|in one (?:day|session|month|week)|on any (?:one )?day")  # fmt: skip

    def level(index: int = 0) -> Amount | None:
        return amounts[index] if len(amounts) > index else None

    if part.word(
        r"(?:remains? |stays? |is |be |holds? |keeps? )?(?:unchanged|on hold|steady|no change)(?: in)?|(?:leave[s]?|leave|holds?|keeps?|hold|keep)(?: (?:S+|rates|interest|policy|its|them))* (?:unchanged|on hold|steady|where (?:they|it) (?:are|is)|alone)|no change in|holds?(?= R| S| W)"
    ):
        return part.text, (Relation(name="unchanged", comparison="between", never=negated),)
    base = Relation(name="", now=now, never=negated)

    if series == 2:
        part.word(
            "(?:the )?(?:gap|spread|difference|differential)(?: between| of)?|minus|less(?= S)|and(?= (?:the )?S)"
        )
    # two series
    if series == 2:
        if part.word(_UNDERPERFORM):
            return part.text, (
                replace(base, name="beats", comparison="below", level=level(), closing=_compared(part)),
            )
        if part.word(_OUTPERFORM):
            return part.text, (
                replace(base, name="beats", comparison="above", level=level(), closing=_compared(part)),
            )

    if kind == "count":
        part.word("at an annual (?:pace|rate)(?: of)?")
    said = _growth(part)
    volatility = part.word(r"(?:annuali[sz]ed )?(?:reali[sz]ed|historical|actual) (?:vol|volatility)(?: (?:of|in|for))?|(?:realised|realized)|(?:vol|volatility) (?:of|in|for)(?= (?:the )?S)|volatility(?= (?:will|above|below|under|over|is|of|more|less|>|<))|(?<=S )(?:vol|volatility)")  # fmt: skip
    mean = part.word(r"(?:daily |weekly |monthly )?(?:averages|average|averaging|mean)(?: (?:close|level|price|value|reading|rate))?(?: (?:of|for))?|on average") if "average" not in counts else None  # fmt: skip
    high = part.word(
        r"(?:the |its |a |an )?(?:(?:intraday |closing |period |yearly |year's |highest |monthly )?(?:highest|maximum|max|peaks?|high|highs|(?<!will )(?<!to )top)(?: (?:close|value|level|price|reading|point|print))?(?: (?:of|for|in|at|reached|hit))?)(?= (?:the |a )?(?:S|W|above|over|below|under|exceed|is|at|between|in|will|reach|hit|>|<|A|R))"
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
        r"(?:(?:makes?|making|sets?|setting|hits?|hitting|reach(?:es)?|posts?|prints?|notch(?:es)?|closes? at|at|to|see|sees|breaks? (?:its|the)|takes? out (?:its|the)|exceeds? its|surpass(?:es)? its|beats? its|rises? to|climbs? to|falls? to|drops? to) )?(?:a |an |its |the )*(?:(?:new|fresh|another|record|all[- ]time|historic|multi-year|ytd|series|closing|X+)[ -]?)+(?:closing )?(?P<end>highs?|lows?|peak|record)|(?:(?:hits?|makes?|at|sets?|new|fresh|reaches|a|to) )*(?P<ath>aths?)|(?:its |the )?(?:lowest|highest)(?: level| close| value| reading)? (?:on record|ever|in history)|(?:sets?|hits?|breaks?|makes?|reaches|posts?) (?:a |an |its |the )?(?:new |all[- ]time )?record(?: close| high)?"
    )
    if extreme:
        lowest = "low" in extreme[0]
        way = _way_moved(part)
        part.word(_END)
        return part.text, (replace(base, name="new_low" if lowest else "new_high", comparison="below" if lowest else "above", lag=counts.get("extreme"), way=way),)  # fmt: skip

    peak = part.word(
        r"peak[- ]to[- ]trough(?: (?:decline|fall|drawdown|drop))?(?: in| of)?|(?:from|below|under|off|down from|off of|above)? ?(?:its |the |their |a |any )?(?:(?:prior |previous |recent |record |all[- ]time |latest |earlier |january |february |2018 |current |running )*(?:peak|high|highs|(?<!will )(?<!to )top|ath|low|lows|trough|bottom))(?: so far| close)?|(?:max(?:imum)? )?drawdown(?: of)?|(?:enters? |in |into |goes? into |is in )?(?:a |an )?(?:bear market|(?:market )?correction)(?: territory)?"
    ) if high is None and low is None else None  # fmt: skip
    if peak:
        standard = 20.0 if "bear" in peak[0] else 10.0 if "correction" in peak[0] else None
        amount = level()
        if amount is None and standard is not None:
            amount = Amount(value=standard, unit="%", span=peak.span())
        rises = re.search(r"\b(?:lows?|trough|bottom)\b", peak[0]) is not None and "peak" not in peak[0]
        way = _way_moved(part)
        compared = _comparison(part)
        closing = part.word(_END) is not None
        _reached = part.word(_REACH)
        name = "from_trough" if rises else "from_peak"
        return part.text, (replace(base, name=name, comparison=compared or ("above" if rises else "below"), level=amount, way=way, closing=closing),) if amount else ()  # fmt: skip

    if "times" in counts:
        way = _way_moved(part)
        stay = part.word(_STAY)
        closing = part.word(_END) is not None
        compared = _comparison(part) or {"up": "above", "down": "below"}.get(_word_way(part) or way, "")
        part.word("straight|consecutive|in a row")
        matched = replace(base, name="streak" if counts.get("row") else "count", statistic="steps", comparison=compared, level=level(), times=counts["times"], closing=closing, never=negated and not stay)  # fmt: skip
        return part.text, (matched,) if compared else ()

    first = part.word(r"(?:is |be )?(?:first|before)(?: it| they)?(?: (?:hit(?:s|ting)?|reach(?:es|ing)?|touch(?:es|ing)?|(?:fall(?:s|ing)?|drop(?:s|ping)?|ris(?:es|ing)|climb(?:s|ing)?) to|trades? at))?(?= A)") if len(amounts) > 1 else None  # fmt: skip
    between = _between(part)
    stay = part.word(_STAY)
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
    matched = replace(
        base, comparison=compared, level=amount, growth=said, way=moved, closing=closing, sudden=crash
    )

    if volatility:
        return part.text, (replace(matched, name="volatility", comparison=compared or {"up": "above", "down": "below"}.get(moved, "")),) if amount else ()  # fmt: skip
    if first and len(amounts) > 1:
        return part.text, (replace(matched, name="first", upper=amounts[1]),)
    if between and len(amounts) > 1:
        low_end, high_end = sorted(amounts[:2], key=lambda each: each.value)
        if low_end.unit == "" != high_end.unit:
            low_end = replace(low_end, unit=high_end.unit)
        if 0 < low_end.value < high_end.value / 200 and high_end.value >= 1000:
            low_end = replace(low_end, value=low_end.value * 1000)
        by_how_much = moved and kind == "price" and low_end.unit == "%" and not _moves_to
        name = "change" if by_how_much else "stay" if stay or throughout else "mean" if mean else "level"
        return part.text, (replace(matched, name=name, comparison="between", level=low_end, upper=high_end, statistic=statistic),)  # fmt: skip
    if mean:
        part.word("(?:per|a|each) month")
    if each_step and (reach or not moved):
        sometime = True
    elif each_step:
        compared = compared if compared in ("at_least", "at_most") else "above"
        return part.text, (
            replace(matched, name="any_step", comparison=compared),
        ) if amount and moved else ()
    sign = (
        None
        if amount or (kind == "price" and not said)
        else part.word(
            "(?:(?:turns?|goes|go|is|be|prints?|comes? in) )*(?:negative|positive)|contracts?|contracting|contract"
        )
    )
    if sign:
        zero = Amount(value=0.0, unit="", span=(0, 0))
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
        "inverts?|inverting|(?:goes?|turns?|go|turn|is) negative|(?:goes|turns) below zero"
    ):
        zero = Amount(value=0.0, unit="", span=(0, 0))
        return part.text, (replace(matched, name="touch", comparison="below", level=zero),)
    multiple = (part.word("half (?:of )?(?:its|their) value") if way == "down" else None) or part.word(
        "doubles|double|doubling|halves|halve|triples|triple|quadruples"
    )
    if multiple and amount is None:
        percent = {"d": 100.0, "h": -50.0, "t": 200.0, "q": 300.0}[multiple[0][0]]
        amount = Amount(value=abs(percent), unit="%", span=multiple.span())
        return part.text, (replace(matched, name="change", comparison="at_least", level=amount, way="down" if percent < 0 else "up"),)  # fmt: skip
    if statistic and amount:
        side = compared or {"up": "above", "down": "below"}.get(moved, "") or ("at_least" if reach else "")
        return part.text, (replace(matched, name="mean" if mean else "maximum" if high else "minimum", comparison=side, statistic=statistic),) if side else ()  # fmt: skip
    if crash:
        supposed = Amount(value=20.0, unit="%", span=(0, 0))
        return part.text, (replace(matched, name="drawdown", comparison="at_least", level=supposed),)
    if amount is None and series == 2 and compared:
        return part.text, (replace(matched, name="level", level=Amount(value=0.0, unit="", span=(0, 0))),)
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
    if amount.signed and compared in ("", "at_least") and amount.unit in ("%", "bp", "pp"):
        return part.text, (replace(matched, name="change", comparison="at_least", way="up" if amount.value > 0 else "down", level=replace(amount, value=abs(amount.value))),)  # fmt: skip
    if stay or throughout:
        if not compared:
            return part.text, ()
        return part.text, (replace(matched, name="stay"),)
    reached = reach is not None or cross is not None
    toward = not compared and not moved
    side = compared or {"up": "at_least", "down": "at_most"}.get(moved, "")
    if reached or for_first or sometime:
        return part.text, (replace(matched, name="touch", comparison=side or "toward"),)
    if toward:
        # "3000 by year end", "at 80": whether it closes there, or beyond, or only touches it, is not said.
        return part.text, (replace(matched, name="bare", comparison="toward"),)
    return part.text, (replace(matched, name="level", comparison=side),)


def _compared(part: _Text) -> bool:
    _comparison(part)
    part.take(r"(?:(?<![\w'])by(?= A))")
    return part.word(_END) is not None


def _comparison(part: _Text) -> str:
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


def _way_moved(part: _Text) -> Way:
    for way, words in (("down", _DOWN), ("up", _UP)):
        match = part.word(rf"(?:a |an )?(?:{words})(?: (?:back|off|up|down|further|another|sharply|out))*")
        if match:
            part.moved = match[0]
            return "down" if way == "down" else "up"
    return ""


def _word_way(part: _Text) -> Way:
    """Take "higher", "in the red" and the like."""
    if part.word(r"(?:lower|narrower|down|negative|in the red|in negative territory|red|tighter|flatter|a down (?:day|week|month|quarter|year)|a loss|losses|weaker)"):  # fmt: skip
        return "down"
    if part.word(r"(?:higher|wider|up|positive|in the green|in the black|in positive territory|green|steeper|an up (?:day|week|month|quarter|year)|a gain|gains|stronger)"):  # fmt: skip
        return "up"
    return ""


def _between(part: _Text) -> bool:
    return (
        part.take(
            r"(?:(?:(?<![a-z])(?:with)?in(?:side)? (?:a |the )?)?(?:range (?:of |from )?|band (?:of )?)?(?:between|from)? ?\$?(?P<one>A+)(?: ?(?:-|to|and|or|n|&) ?|-)\$?(?P<two>A+)(?: (?:range|band|area))?)"
        )
        is not None
    )


def _growth(part: _Text) -> str:
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
        words in ("more than", "less than", "at least", "at most", "no more than", "no less than")
        or re.search(r"\b(?:up|down|gain|lose|lost|add|shed)", verb) is not None
    )
    return quantity and (amount.unit in ("%", "bp", "pp", "points") or by_itself)
