"""What a text may be after all whose words the grammar does not all know: put together from its parts, whatever their order.

Nothing from here is ever taken for read: it is offered, with the words that were passed over.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from workbench.questions.readings import motion_words as said
from workbench.questions.readings.amounts import Amount
from workbench.questions.readings.relations import QUARTER_POINT, Relation, Way

#: Words that make it another claim, which no reading without them comes near to.
_ANOTHER_CLAIM = re.compile(
    r"\bterms\b|\b(?:nobody|no one|few) (?:sees?|expects?|thinks?)\b|^(?:should|were|had) [^,]*,|(?:[,;] |and )(?:should|were|had) (?:the |[a-z]+ ){1,4}(?:to )?[a-z]+,|^(?:why|how|what|when|where|who) [^AW]*$|(?<![\w'])(?:if|unless|because|provided|assuming|should the|were the|in case|given that|whether|either|neither|both|"
    r"futures?|forwards?|options?|calls|puts|straddles?|implied|skew|dividends?|earnings (?:grow|rise|fall|per)|eps|profits?|revenues?|market cap(?:itali[sz]ation)?|"
    r"cap(?= (?:above|exceed|over|below|under|of))|inventor(?:y|ies)|stockpiles|demand|supply|ratio|correlation|beta|sharpe|term structure|contango|backwardation|contracts?(?= (?:above|below|at|over|under))|"
    r"out of (?:the |its |a )?A|outside|multi-year|ytd|year[- ]to[- ]date|total return|best|worst|almost|hardly|scarcely|around|about|approximately|roughly|circa|near|nearly|or so|or thereabouts|thereabouts|give or take|somewhere around|"
    r"then|more than half|most of the|tweets?|deliver(?:s|ies|y)?(?= (?:of|more|over|at least|A))|already|stays? there|day after|at its highest|at its lowest|valuation|relative to|adjusted|zz+|A+ more (?:days|sessions|weeks|months)|run of|joins?|clubs?|(?:days?|weeks?|months?) after|(?:banks?|energy|oil|airlines?|value|growth|european|chinese|japanese|asian|emerging(?:[- ]markets?)?|mid-?caps?|utilit(?:y|ies)|defen[cs]e|semiconductor|chip|auto|retail|pharma|biotech|health|mining|financials?|global|world|foreign|uk|german|meme|dividend) S+|"
    r"(?:gives? (?:up|back)|erases?|wipes? out|pares?) (?:all )?(?:of )?(?:its|their|the)|every day|sets its)(?![\w'])|'s average(?= |$)|S's monthly average"
)
_BETWEEN = re.compile(r"A(?: ?(?:-|to|and|or|n|&) ?|-)\$?A")


def _has(text: str, pattern: str) -> re.Match[str] | None:
    return re.search(pattern, text)


def another_claim(text: str) -> bool:
    """Whether a masked text says something that a reading without its unknown words would lose."""
    return _ANOTHER_CLAIM.search(text) is not None


#: What a text says with words of a kind, and the relations that it may be read as then.
_KINDS = (
    (said.ONE_STEP, ("any_step", "count", "streak", "touch", "stay", "volatility")),
    (said.MEAN, ("mean", "average_gap", "average_cross")),
    (said.RECORD_HIGH, ("new_high", "new_low")),
    (said.RECORD_LOW, ("new_low",)),
    (said.FROM_PEAK, ("from_peak", "drawdown")),
    (said.FROM_TROUGH, ("from_trough",)),
    (said.HIGHEST, ("maximum", "touch", "new_high", "from_peak", "growth")),
    (said.LOWEST, ("minimum", "touch", "new_low", "from_trough", "from_peak", "growth")),
    (said.CEILING, ("stay", "maximum")),
    (re.compile(r"\b(?:straight|consecutive|in a row|running|streak|twice|times)\b"), ("count", "streak")),
    (re.compile(r"\b(?:every|each|throughout|always|(?<!at )(?<!-)all(?![- ]time))\b"), ("stay", "count", "streak", "minimum", "maximum", "beats")),
    (re.compile(r"\b(?:prints|readings|releases|reports|meetings)\b(?! (?:\$|A|above|below|at|over|under|an? |sub))"), ("count", "streak", "stay", "unchanged")),
    (said.EITHER_WAY, ("move_by", "change")),
    (re.compile(r"\b(?:goes|turns|go|turn) (?:negative|positive)"), ("touch", "level", "growth")),
)  # fmt: skip


#: "Below the forties", "out of its range": not between.
_OUT_OF = re.compile(
    r"(?<![\w'])(?:out(?:side)? of|outside|beyond|leave[s]?|exits?|escapes?|(?:above|below|over|under|beneath) (?:the )?\$?A+ ?-)"
)


def out_of_range(text: str) -> bool:
    """Whether a masked text speaks of what lies outside its range; no relation says that."""
    return _OUT_OF.search(text) is not None


def disagrees(text: str, relation: Relation) -> bool:
    """Whether the words of a text say a thing that the one relation that the grammar made of it does not; then it is asked.

    >>> disagrees("S up A on a single day W", Relation(name="change", way="up", comparison="at_least"))
    True
    """
    if any(words.search(text) and relation.name not in names for words, names in _KINDS):
        return True
    if relation.name in ("level", "stay") and _has(text, r"A (?:higher|lower|dearer|cheaper|wider|tighter|narrower)(?: than)? (?:R|W|today|now)"):  # fmt: skip
        return True
    if relation.name == "average_gap" and relation.level and not relation.level.unit:
        return True  # "its 200-day average above 2700": the average's own level
    if relation.never and _has(text, r"\b(?:up|down|losing|winning|red|green) (?:day|week|month|quarter)s?\b"):  # fmt: skip
        return True
    if relation.comparison == "between" and relation.name != "unchanged" and out_of_range(text):
        return True
    bare = said.AT_MOST.sub("", said.AT_LEAST.sub("", text))
    if said.NEGATION.search(bare) and not relation.never and relation.name not in ("stay", "unchanged", "touch"):  # fmt: skip
        return True
    up, down = said.UP.search(bare) or said.ABOVE.search(bare), said.DOWN.search(bare) or said.BELOW.search(bare)  # fmt: skip
    rises = (
        relation.comparison in ("above", "at_least")
        if relation.name not in ("change", "any_step", "drawdown")
        else relation.way == "up"
    )
    contrary = (up and not down and not rises) or (down and not up and rises)
    return bool(contrary) and relation.comparison not in ("between", "toward", "") and relation.name not in ("from_peak", "move_by") and not relation.never  # fmt: skip


def near_relations(
    text: str,
    numbers: Sequence[Amount],
    counts: Mapping[str, int],
    *,
    series: int,
    kind: str,
    usual: tuple[float, float] | None = None,
) -> tuple[Relation, ...]:
    """Return the relations that the words of a text come nearest to, the likeliest first; none where a word makes it another claim.

    Parameters are those of `relations.relations`, with the text as it was before that.

    >>> from workbench.questions.readings.amounts import amounts
    >>> text, numbers = amounts("S shares plummet to 250 W")
    >>> [(each.name, each.comparison) for each in near_relations(text, numbers, {}, series=1, kind="price")]
    [('level', 'at_most')]
    """
    if another_claim(text) or not _joins(text):  # fmt: skip
        return ()
    text = re.sub(r"(?<![\w-])A(?:AA)?(?=[- ]day)", lambda match: "1" * len(match[0]), text)
    # "One-day", "30-yr fixed": no level.
    levels = (each for each in numbers if not re.match(r"[- ]?(?:day|session|week|month|quarter|year|yr|times\b|d\b|y\b)", text[each.span[1] :]))  # fmt: skip
    chosen = tuple(levels)
    plain = [each for each in chosen if each.unit or each.value not in range(1985, 2040)]
    # "From its 2018 high": a year is no level beside one.
    matched = tuple(
        _put_together(text, tuple(plain or chosen), numbers, counts, series=series, kind=kind, usual=usual)
    )
    return tuple({repr(each): each for each in matched}.values())


def _joins(text: str) -> bool:
    rest = _BETWEEN.sub("A", text)
    rest = re.sub(r"(?<![\w'])(?:at|up|down|[a-z]+er) (?:or|and) (?:[a-z]+er|beneath|beyond|above|below|over|under|up|down)|(?:or|and) (?:more|less|better|worse|above|below|over|under|up|fewer|[a-z]+er)(?![\w'])|up or down|(?:between|of) (?:the )?S+(?: [a-z]+)? and (?:the )?S+", "", rest)  # fmt: skip
    first, *others = re.split(r"(?<![\w'])(?:and|or|but)(?![\w'])", rest)
    if re.search(r"S +(?:and|or) +(?:the )?S", rest):
        return False
    # Two predicates are two claims.
    return not (_says_something(first) and any(_says_something(each) for each in others))


def _says_something(text: str) -> bool:
    words = (said.UP, said.DOWN, said.ABOVE, said.BELOW, said.HOLD, said.REACH, said.END)
    return "A" in text or any(each.search(text) for each in words)


def _put_together(
    text: str,
    numbers: tuple[Amount, ...],
    counted: Sequence[Amount],
    counts: Mapping[str, int],
    *,
    series: int,
    kind: str,
    usual: tuple[float, float] | None,
) -> Iterator[Relation]:
    way = _first_way(text)
    side = _side(text)
    # "No lower than" is a comparison.
    negated = said.NEGATION.search(said.AT_MOST.sub("", said.AT_LEAST.sub("", text))) is not None
    base = Relation(name="", never=negated, way=way, now="now" in counts)
    leaning = side or {"up": "above", "down": "below"}.get(way, "")
    if len(numbers) > 1 and (stands := _has(text, r"from \$?A+ ")) and not _has(text, r"between"):
        numbers = tuple(each for each in numbers if each.span[0] < stands.start() or each.span[0] >= stands.end())  # fmt: skip
    # Of several numbers the level is the one that a comparison or "to" stands before.
    led = [each for each in numbers if _LEADS.search(text[: each.span[0]])]
    amount = led[0] if led and len(numbers) > 1 else numbers[0] if numbers else None
    plain = replace(amount, value=abs(amount.value)) if amount else None
    if counts.get("moves") and way:
        yield replace(base, name="change", comparison="at_least", level=Amount(value=QUARTER_POINT * counts["moves"], unit="pp"))  # fmt: skip
        return
    if (row := _in_a_row(text, counted)) and leaning:
        times, step = row
        yield replace(base, name="streak", statistic="steps", comparison="above" if leaning in ("above", "at_least") else "below", times=times, step=step)  # fmt: skip
        return
    if "times" in counts and leaning:
        name = "streak" if counts.get("row") else "count"
        yield replace(base, name=name, statistic="steps", comparison=leaning, level=amount, times=counts["times"])  # fmt: skip
        return
    if counts.get("average") and leaning:
        yield replace(base, name="average_gap", comparison=leaning, lag=counts["average"])
        yield replace(base, name="average_cross", comparison=leaning, lag=counts["average"])
        return
    if series >= 2:
        yield from _of_two(text, base, side, plain)
        return
    if amount is None or plain is None:
        yield from _without_number(text, base, way, kind)
        return
    if said_digits := _has(text, r"(?<![\w'])(double|triple)[- ]digits?(?! (?:mark|level))"):
        size = 10.0 if said_digits[1] == "double" else 100.0
        if kind != "price":
            yield replace(base, name="level", comparison="at_least", level=Amount(value=size, unit=""), way="up")  # fmt: skip
            return
        yield from _moved_by(text, base, way, side, Amount(value=size, unit="%"))
        return
    if _has(text, r"A'?s(?![\w'])") and 10 <= amount.value < 1000 and not amount.value % 10:
        top = replace(amount, value=amount.value + 10)
        yield replace(base, name="level", comparison="between", level=amount, upper=top)
        yield replace(base, name="level", comparison="below" if way == "down" else "at_least", level=top if way == "down" else amount, way=way)  # fmt: skip
        return
    if len(numbers) > 1 and _has(
        text, r"(?<![\w'])(?:before|ahead of|first|sooner than|rather than)(?![\w'])"
    ):
        if kind != "price" or "%" not in (numbers[0].unit, numbers[1].unit):
            yield replace(base, name="first", level=numbers[0], upper=numbers[1])
        return
    if said.VOLATILITY.search(text) and amount.unit in ("", "%", "points") and kind == "price" and leaning:
        yield replace(base, name="volatility", comparison=leaning, level=plain)
        return
    if len(numbers) > 1 and _has(text, r"(?<![\w'])(?:within|inside) \$?A+ (?:of|from|around) \$?A"):
        width, middle = numbers[:2]
        size = middle.value * width.value / 100 if width.unit == "%" else width.value
        yield replace(base, name="level", comparison="between", level=replace(middle, value=middle.value - size), upper=replace(middle, value=middle.value + size))  # fmt: skip
        return
    if multiple := _has(text, r"A+(x|[- ]?fold|[- ]figures?)(?![\w'])"):
        if multiple[1].endswith(("figure", "figures")):
            amount = replace(amount, value=10.0 ** (amount.value - 1), unit="")
            side = side or "at_least"
        else:
            yield replace(base, name="change", comparison="at_least", way="up", level=replace(plain, value=100 * (plain.value - 1), unit="%"))  # fmt: skip
            return
    if len(numbers) > 1 and (_has(text, r"(?<![\w'])(?:between|range|within|inside|corridor|band)") or _BETWEEN.search(re.sub("A+", "A", text))):  # fmt: skip
        low, high = sorted(numbers[:2], key=lambda each: each.value)
        if side and _has(
            text, r"(?<![\w'])(?:above|below|over|under|beneath|beyond) (?:the )?\$?A+ ?- ?\$?A"
        ):
            beyond = high if side in ("above", "at_least") else low
            yield replace(base, name="level", comparison=side, level=beyond, way=way)
            return
        within = replace(
            base, comparison="between", level=replace(low, unit=low.unit or high.unit), upper=high
        )
        yield replace(within, name="stay" if said.HOLD.search(text) else "level")
        yield replace(within, name="level" if said.HOLD.search(text) else "stay")
        return
    if kind == "price" and amount.unit == "" and amount.value < 100 and _has(text, r"(?<![\w'])(?:percent|%|returns?|percentage)(?![\w'])"):  # fmt: skip
        amount = replace(amount, unit="%")
        plain = replace(amount, value=abs(amount.value))
        way = way or ("down" if amount.value < 0 else "up")
    by_how_much = amount.unit == "%" and kind == "price" and not said.MEAN.search(text)
    if by_how_much or (amount.unit in ("%", "bp", "pp", "points", "money") and said.ONE_STEP.search(text)):
        yield from _moved_by(text, base, way, side, plain)
        return
    yield from _at_level(text, base, side, way, amount, kind=kind, usual=usual)


_LEADS = re.compile(
    r"(?<![\w'])(?:above|below|over|under|past|than|at|to|through|beyond|beneath|of|least|hits?|touch|reach(?:es)?)(?: the| \$)* ?\$?$"
)


def _in_a_row(text: str, numbers: Sequence[Amount]) -> tuple[int, str] | None:
    if not _has(text, r"(?<![\w'])(?:straight|consecutive(?:ly)?|successive|in a row|running|on the trot|streak|back[- ]to[- ]back)(?![\w'])"):  # fmt: skip
        return None
    rank = next((place for place, word in enumerate(("second", "third", "fourth", "fifth", "sixth", "seventh"), start=2) if re.search(rf"\b{word}\b", text)), 0)  # fmt: skip
    times = rank or next(
        (int(each.value) for each in numbers if each.unit == "" and 2 <= each.value <= 20), 0
    )
    step = next((word for word, pattern in _STEPS if re.search(pattern, text)), "day")
    return (times, step) if times else None


_STEPS = (("week", r"\bweek"), ("month", r"\bmonth"), ("quarter", r"\bquarter"), ("year", r"\byear"))


def _first_way(text: str) -> Way:
    up, down = said.UP.search(text), said.DOWN.search(text)
    if up is None and down is None:
        return ""
    return "up" if down is None or (up is not None and up.start() < down.start()) else "down"


def _side(text: str) -> str:
    for name, pattern in (("at_least", said.AT_LEAST), ("at_most", said.AT_MOST)):
        if pattern.search(text):
            return name
    above, below = said.ABOVE.search(text), said.BELOW.search(text)
    if above and below:
        return "above" if above.start() > below.start() else "below"
    return "above" if above else "below" if below else ""


def _of_two(text: str, base: Relation, side: str, amount: Amount | None) -> Iterator[Relation]:
    beats, trails = said.BEATS.search(text), said.TRAILS.search(text)
    apart = _has(text, r"(?<![\w'])(?:spread|gap|difference|differential|premium|discount)(?![\w'])")
    if (beats or trails) and not apart and amount is not None and amount.unit in ("%", "points", "pp"):
        above = beats is not None and (trails is None or beats.start() <= trails.start())
        yield replace(base, name="beats", comparison="above" if above else "below", level=replace(amount, unit="%"))  # fmt: skip
        return
    if amount is not None and (apart or amount.unit != "%"):
        leaning = side or {"up": "at_least", "down": "at_most"}.get(base.way, "")
        if leaning:
            yield replace(base, name="level", comparison=leaning, level=amount)
            return
    if apart and base.way:
        yield replace(base, name="compare", comparison="above" if base.way == "up" else "below")
        return
    if not (beats or trails) and amount is None and side and not apart:
        yield replace(base, name="beats", comparison="above" if side in ("above", "at_least") else "below")
    if beats or trails:
        above = beats is not None and (trails is None or beats.start() <= trails.start())
        yield replace(base, name="beats", comparison="above" if above else "below", level=amount)


def _without_number(text: str, base: Relation, way: Way, kind: str) -> Iterator[Relation]:
    zero = Amount(value=0.0, unit="")
    if said.MEAN.search(text) or _has(text, r"(?<![\w'])(?:accelerat|decelerat|quicken|slow)"):
        return  # of an average and of a pace it is not said against what
    if _has(text, r"double[- ]digits?"):
        if kind != "price":
            yield replace(
                base, name="level", comparison="at_least", level=replace(zero, value=10.0), way="up"
            )
            return
        yield from _moved_by(text, base, way, "", replace(zero, value=10.0, unit="%"))
        return
    if _has(text, r"single[- ]digits?"):
        yield replace(base, name="level", comparison="below", level=replace(zero, value=10.0), way="down")
        return
    if said.RECORD_LOW.search(text):
        yield replace(base, name="new_low", comparison="below")
    elif said.RECORD_HIGH.search(text):
        yield replace(base, name="new_high", comparison="above")
    elif kind == "rate" and (said.UNCHANGED.search(text) or _has(text, "stands? ")) and not way:
        yield replace(base, name="unchanged", comparison="between")
    elif kind == "rate" and _has(text, r"(?<![\w'])invert") and said.HOLD.search(text):
        yield replace(base, name="stay", comparison="below", level=zero)
    elif _has(text, r"(?<![\w'])half of (?:what|its|the|today|current|R)|in half"):
        yield from _moved_by(text, base, "down", "", replace(zero, value=50.0, unit="%"))
    elif kind == "price" and _has(text, r"(?<![\w'])(?:goes|turns|go|turn) negative"):
        yield replace(base, name="compare", comparison="below")
        yield replace(base, name="touch", comparison="below", level=zero)
    elif kind == "rate" and _has(text, r"(?<![\w'])(?:invert|inversion|below zero|negative)"):
        yield replace(base, name="touch", comparison="below", level=zero)
    elif kind != "price" and _has(text, r"(?<![\w'])(?:negative|positive|contract|decline|shrink|recession)"):
        down = _has(text, "positive") is None
        yield replace(base, name="level", comparison="below" if down else "above", level=zero, way="")
        yield replace(base, name="compare", comparison="below" if down else "above")
    elif _has(text, r"(?<![\w'])correction|bear market"):
        fall = 20.0 if "bear" in text else 10.0
        yield replace(base, name="from_peak", comparison="below", way="down", level=Amount(value=fall, unit="%"))  # fmt: skip
    elif way:
        yield replace(base, name="compare", comparison="above" if way == "up" else "below")


def _moved_by(text: str, base: Relation, way: Way, side: str, amount: Amount) -> Iterator[Relation]:
    ways: tuple[Way, ...] = (way,) if way else ("up", "down")
    comparison = side if side in ("above", "at_least", "at_most") else "at_least"
    if said.ONE_STEP.search(text):
        for each in ways:
            yield replace(base, name="any_step", comparison=comparison, way=each, level=amount)
        return
    if _has(text, r"(?<![\w'])(?:within|inside|no more than|flat)(?![\w'])") and not way:
        yield replace(base, name="move_by", comparison="above", level=amount, way="", never=not base.never)
    if said.EITHER_WAY.search(text) and not way:
        yield replace(base, name="move_by", comparison="at_least", level=amount, way="")
    if said.FROM_PEAK.search(text) and way != "up":
        yield replace(base, name="from_peak", comparison="below", level=amount, way="down")
    elif said.FROM_TROUGH.search(text):
        yield replace(base, name="from_trough", comparison="above", level=amount, way="up")
    for each in ways:
        yield replace(base, name="change", comparison=comparison, way=each, level=amount)


def _at_level(
    text: str,
    base: Relation,
    side: str,
    way: Way,
    amount: Amount,
    *,
    kind: str,
    usual: tuple[float, float] | None,
) -> Iterator[Relation]:
    plain = replace(amount, value=abs(amount.value))
    leaning = side or {"up": "at_least", "down": "at_most"}.get(way, "")
    growth = next((name for name, words in _GROWTH if re.search(words, text)), "")
    base = replace(base, growth=growth)
    if kind != "price" and amount.unit == "%":
        plain = amount
    if said.MEAN.search(text) and leaning:
        yield replace(base, name="mean", comparison=leaning, level=plain, statistic="mean")
        return
    if kind == "rate" and amount.unit == "" and not side and amount.value in (25, 50, 75, 100):
        for each in (way,) if way else ("up", "down"):
            yield replace(
                base, name="change", comparison="at_least", way=each, level=replace(plain, unit="bp")
            )
    small = amount.unit in ("bp", "pp", "points") or (
        usual is not None and kind == "price" and plain.value < usual[0] / 2 and amount.unit != "%"
    )
    by = _has(text, r"(?<![\w'])(?:by|another|a further|extra|additional) (?:[a-z]+ ){0,2}\$?A")
    change = replace(base, name="change", comparison="at_least", way=way, level=plain)
    if way and (by or (small and not side)):
        yield change
    if said.EITHER_WAY.search(text) and (by or small):
        yield replace(base, name="move_by", comparison="at_least", level=plain, way="")
    if said.HOLD.search(text):
        held = side or ("at_most" if said.CEILING.search(text) else "at_least")
        yield replace(base, name="touch" if base.never else "stay", comparison=held, level=plain)
    if said.HIGHEST.search(text) and side in ("above", "at_least"):
        yield replace(base, name="maximum", comparison=side, statistic="highest", level=plain)
    if said.LOWEST.search(text) and side in ("below", "at_most"):
        yield replace(base, name="minimum", comparison=side, statistic="lowest", level=plain)
    if said.REACH.search(text) and not said.END.search(text):
        yield replace(base, name="touch", comparison=leaning or "toward", level=plain)
    if leaning:
        yield replace(base, name="level", comparison=leaning, level=plain, way=way or ("up" if leaning in ("above", "at_least") else "down"))  # fmt: skip
    else:
        yield replace(base, name="bare", comparison="toward", level=plain, way="")
    if way and small and not by:
        yield change


_GROWTH = (
    ("yoy", r"(?<![\w'])(?:yoy|y/y|y-o-y|year[- ](?:on|over)[- ]year|year earlier|annual|annually|12-month)(?![\w'])"),
    ("mom", r"(?<![\w'])(?:mom|m/m|m-o-m|month[- ](?:on|over)[- ]month|monthly|on the month)(?![\w'])"),
    ("annualized", r"(?<![\w'])(?:annuali[sz]ed|saar|annual rate)(?![\w'])"),
)  # fmt: skip
