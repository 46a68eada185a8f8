"""From a sentence to a claim by plain regular expressions, or a refusal in one sentence.

The text is first brought to a small alphabet: known series become ``<ID>``, dates ``{YYYY-MM-DD}``, percentages
``N %``. Ten expressions then read the whole of it; nothing is guessed from a part.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta

from workbench.forecasts.periods import Period
from workbench.questions.claims import REFERENCE, Claim, Pattern, Side
from workbench.questions.errors import ANOTHER_MODEL, ClaimRefused
from workbench.questions.series.embedded_series import KNOWN, replace_names
from workbench.questions.series.known_series import month_end
from workbench.questions.series.series_reference import SeriesRef, replace_references
from workbench.questions.series.series_registry import series_named

CAN_DO = (
    f"offline/analyst decides one dated claim about {KNOWN}: higher or lower than on a date, above, below or between "
    "levels, above its 200-day average, a rise or fall of N %, touching a level, a drawdown, realised volatility, "
    "outperformance; for anything else ",
    *ANOTHER_MODEL,
)

_CAUSAL = re.compile(
    r"\b(because|due to|caus(?:e|es|ed|ing)|as a result|results? (?:in|from)|leads? to|led to|thanks to|driven by|owing to|makes?)\b"
)
_JUDGEMENT = re.compile(
    r"\b(good|bad|better|best|worse|worst|attractive|over-?valued|under-?valued|cheap|expensive|should|ought|fair|"
    r"worth|worthwhile|buy|sell|wise|safe|risky|healthy|strong|weak|sound)\b"
)
_COMPOUND = re.compile(r"\b(and|or|but|unless|if|when|while|whereas|both|either|then)\b|;")
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "(" + "|".join(_MONTHS) + r")\.?"

_S = r"<(?P<series>[A-Z0-9_]+)>(?:'s)?"
_D = r"\{(?P<end>[\d-]+)\}"
_D0 = r"\{(?P<start>[\d-]+)\}"
_N = r"\$?(?P<level>-?\d[\d,]*(?:\.\d+)?)(?: ?(?:%|points?|dollars?|usd|percentage points|pp))?(?: (?:per|a) barrel)?"
_U = r"\$?(?P<upper>-?\d[\d,]*(?:\.\d+)?)(?: ?(?:%|points?|dollars?|usd|percentage points|pp))?(?: (?:per|a) barrel)?"
_P = r"(?P<level>\d+(?:\.\d+)?) %"
_V = r"(?:(?:closes?|ends?|finishes|finish|settles?|is|be|stands?|trades?|remains?|stays?) )?"
_NOT = r"(?P<neg>does not |is not |not |never )?"
_ON = r"(?:on|in|at|for|as of)"
_BY = r"(?P<by>before|by|through|until|up to)"
# A group name may occur once per expression, so the second form of a date is ``end2`` or ``start2``; `_day_of_match` reads either.
_SPAN = (
    rf"(?:(?:from|between) {_D0} (?:to|and|until|through) {_D}|(?:by|through) {_D.replace('end', 'end2')})"
)
_UP = r"rises?|gains?|increases?|climbs?|advances?|grows?|widens?|goes up"
_DOWN = r"falls?|drops?|declines?|loses|lose|decreases?|narrows?|goes down"
_AHEAD = r"outperforms?|beats?|underperforms?|lags?|trails?"
_RELATION = (
    r"(?P<rel>at or above|at or below|at least|at most|no (?:higher|more|greater) than|no (?:lower|less) than|"
    r"(?:higher|more|greater) than|(?:lower|less) than|not above|not below|above|over|below|under|exceeds?)"
)
_RELATIONS: dict[str, tuple[Side, bool]] = {
    "at or above": ("above", False),
    "at least": ("above", False),
    "no lower than": ("above", False),
    "no less than": ("above", False),
    "not below": ("above", False),
    "at or below": ("below", False),
    "at most": ("below", False),
    "no higher than": ("below", False),
    "no more than": ("below", False),
    "no greater than": ("below", False),
    "not above": ("below", False),
    "below": ("below", True),
    "under": ("below", True),
    "lower than": ("below", True),
    "less than": ("below", True),
}

_Match = re.Match[str]


def read_claim(text: str) -> Claim:
    """Return the claim that a sentence states; the offline analyst reads every statement through this.

    Raises `ClaimRefused`: Empty, compound, causal, a value judgement, an unknown series, no date, an impossible date, or simply not one of
    the patterns.

    >>> read_claim("VIX above 20 on 2018-12-31").statement
    'The VIX closes above 20 on 2018-12-31'
    >>> read_claim("Will Yahoo:aapl close above $200 at the end of 2026?").statement
    'yahoo:AAPL closes above 200 on 2026-12-31'
    """
    words = " ".join(text.replace("’", "'").strip().strip('"“”').split())
    if not words:
        raise ClaimRefused("the claim is empty; ", *CAN_DO)
    if words.lower().startswith(REFERENCE.lower()):
        return replace(read_claim(words[len(REFERENCE) :]), reference=True, notes=())
    marked, refs = replace_references(words)
    plain = _normal_words(marked)
    for pattern, build in _PATTERNS:
        match = pattern.fullmatch(plain)
        if match:
            return _checked(_with_references(build(match), refs))
    raise ClaimRefused(f"{_reason(plain)}: {words!r}; ", *CAN_DO)


def _with_references(claim: Claim, refs: Sequence[SeriesRef]) -> Claim:
    def named(name: str) -> str:
        return series_named(refs[int(name)].reference).id if name.isdigit() else name

    return replace(claim, series=named(claim.series), other=claim.other and named(claim.other))


def series_of_statement(text: str) -> str:
    """Return the series that a claim in a sentence is about, by its key; "" for a sentence that is no claim of the grammar.

    >>> series_of_statement("VIX above 20 on 2018-12-31"), series_of_statement("Something happens")
    ('VIX', '')
    """
    try:
        return read_claim(text).series
    except ClaimRefused:
        return ""


def _reason(plain: str) -> str:
    if _CAUSAL.search(plain):
        return "a claim about causes cannot be decided by rule"
    if _JUDGEMENT.search(plain):
        return "a value judgement cannot be decided by rule"
    if "<" not in plain:
        return "the claim names no series that is embedded here"
    inside = re.sub(r"between \S+ and \S+", "", plain.replace("at or above", "").replace("at or below", ""))
    if _COMPOUND.search(inside.replace("or more", "")):
        return "the claim joins several claims, so state them one at a time"
    if re.search(r"\b(?:the|this|next|last) year\b", plain):
        return "the claim names no year (write it as in: closes 2018 higher)"
    if "{" not in plain:
        return "the claim names no full date (write YYYY-MM-DD)"
    return "the claim is not one of the patterns that are understood (is a level, a percentage or a word missing?)"


def _normal_words(words: str) -> str:
    text = words.rstrip(".?! ").lower()
    text = re.sub(r"^(?:will|does|do|is it true that|it is true that)\s+", "", text)
    text = _dates(replace_names(text))
    text = re.sub(r"\b(?:will|would|shall) (not )?", lambda m: "does not " if m[1] else "", text)
    text = re.sub(r"\b(?:doesn't|don't|won't|do not)\b", "does not", text)
    text = re.sub(r"\bisn't\b", "is not", text).replace("realized", "realised")
    text = re.sub(r"(\d)\s*(?:%|percent\b|per cent\b)", r"\1 %", text)
    text = re.sub(r"^the (?=<)", "", text)
    text = re.sub(r"[,:](?=\s|$)", "", text)
    text = re.sub(r"> (?:index |level |price |value )", "> ", text)
    return _years(" ".join(text.split()))


def _dates(text: str) -> str:
    def day_month(match: _Match) -> str:
        return _token(int(match["y"]), _MONTHS[match["m"]], int(match["d"]), match[0])

    def month(match: _Match) -> str:
        return _month_token(int(match["y"]), _MONTHS[match["m"]], match[0])

    named = _MONTH.replace("(", "(?P<m>", 1)
    year = r"(?P<y>\d{4})"
    text = re.sub(
        r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b", lambda m: _token(int(m[1]), int(m[2]), int(m[3]), m[0]), text
    )
    # Days before months: "december 2018" is also the tail of "31 december 2018".
    text = re.sub(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{named},? {year}\b", day_month, text)
    text = re.sub(rf"\b{named} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? {year}\b", day_month, text)
    # Of the end of a period its last day counts, also before it; "before June 2019" is before its first, "by" is by its last.
    text = re.sub(r"\bbefore (?=(?:the )?(?:end of|year[- ]end)\b)", "by ", text)
    text = re.sub(rf"\bbefore {named} {year}\b", lambda m: f"before {_token(int(m['y']), _MONTHS[m['m']], 1, m[0])}", text)  # fmt: skip
    text = re.sub(rf"\b(?:the )?(?:end of )?{named} {year}\b", month, text)
    text = re.sub(rf"\b(?:the )?end of q(?P<q>[1-4]) {year}\b", lambda m: _month_token(int(m["y"]), 3 * int(m["q"]), m[0]), text)  # fmt: skip
    return re.sub(r"\b(?:the )?(?:end of|year[- ]end) ([12]\d{3})\b", r"{\1-12-31}", text)


def _years(text: str) -> str:
    """Write a claim about a calendar year as one about its last day, beside the last day of the year before.

    A year's change is counted from the close before its first day, as the field counts it.
    """

    def span(match: _Match) -> str:
        return f"{match['verb']} from {{{int(match['y']) - 1}-12-31}} to {{{match['y']}-12-31}}"

    def compared(match: _Match) -> str:
        start = int(match["start"] or int(match["y"]) - 1)
        return f"{match['word']} on {{{match['y']}-12-31}} than on {{{start}-12-31}}"

    year = r"(?:the year )?(?P<y>[12]\d{3})"
    word = r"(?P<word>(?:no |not )?(?:higher|lower|wider|narrower|up|down))"
    than = r"(?: than (?:it (?:did|was|closed) )?(?:in |at )?(?P<start>[12]\d{3}))?"
    text = re.sub(rf"\b(?:in |for |on )?{year} {word}{than}$", compared, text)
    text = re.sub(rf"\b{word} (?:in|for|on|over) {year}{than}$", compared, text)
    text = re.sub(
        rf"\b(closes?|ends?|finish(?:es)?|stands?) {year} (?P<rest>.+)$",
        r"\1 \g<rest> on {\g<y>-12-31}",
        text,
    )
    return re.sub(rf"(?P<verb>\b(?:{_UP}|{_DOWN}|{_AHEAD})\b.*?) (?:in|over|during) {year}$", span, text)


def _month_token(year: int, month: int, written: str) -> str:
    first = date.fromisoformat(_token(year, month, 1, written).strip("{}"))
    return "{" + month_end(first).isoformat() + "}"


def _token(year: int, month: int, day: int, written: str) -> str:
    try:
        return "{" + date(year, month, day).isoformat() + "}"
    except ValueError:
        raise ClaimRefused(f"{written} is not a day of the calendar; write dates as YYYY-MM-DD") from None


def _day_of_match(match: _Match, name: str) -> date | None:
    groups = match.groupdict()
    text = groups.get(name) or groups.get(f"{name}2")
    return date.fromisoformat(text) if text else None


def _end(match: _Match) -> date:
    day = _day_of_match(match, "end")
    if day is None:
        raise ValueError(f"pattern without an end date: {match.re.pattern}")
    # "before" excludes its day, the other words include it; claims carry an inclusive end only.
    return day - timedelta(days=1) if match.groupdict().get("by") == "before" else day


def _value(match: _Match, name: str = "level") -> float:
    return float(match[name].replace(",", ""))


def _flip(side: Side, strict: bool, negated: bool) -> tuple[Side, bool]:
    if not negated:
        return side, strict
    # The negation of "above" is "at or below": equality changes sides too.
    return ("below" if side == "above" else "above"), not strict


def _relation(match: _Match) -> tuple[Side, bool]:
    side, strict = _RELATIONS.get(match["rel"], ("above", True))
    return _flip(side, strict, bool(match.groupdict().get("neg")))


def _series(match: _Match, pattern: Pattern, **fields: object) -> Claim:
    """The claim that a match states; level, number of times and steps stand in it unless ``fields`` say otherwise."""
    groups = match.groupdict()
    values = {
        "pattern": pattern,
        "series": match["series"],
        "start": _day_of_match(match, "start"),
        "end": _end(match),
        "level": _value(match) if groups.get("level") else None,
        "times": int(groups.get("times") or 1),
        "every": _every(match) if groups.get("every") else None,
    }
    return Claim(**{**values, **fields})  # type: ignore[arg-type]


def _rises(match: _Match, name: str = "verb") -> bool:
    return re.fullmatch(_UP, match[name]) is not None


def _side(above: bool) -> Side:
    return "above" if above else "below"


def _never(match: _Match) -> bool:
    return bool(match["neg"])


def _compare(match: _Match) -> Claim:
    # "does not close no lower" holds two negations, which cancel.
    negated = _never(match) != bool(match["no"])
    side, strict = _flip(_side(match["word"] in ("higher", "wider", "up")), True, negated)
    return _series(match, "compare", side=side, strict=strict)


def _related(match: _Match, pattern: Pattern, **fields: object) -> Claim:
    side, strict = _relation(match)
    return _series(match, pattern, **{"side": side, "strict": strict, **fields})


def _average(match: _Match) -> Claim:
    level = match["level"]
    # "not 5 % above" also holds at 3 % above and at 5 % below; flipping the side would read it as "5 % below".
    if level and match["neg"] and _value(match):
        raise ClaimRefused("say it without the negation, as N % above or below the average; ", *CAN_DO)
    return _related(match, "average", strict=not (level and _value(match)))


def _range(match: _Match) -> Claim:
    low, high = sorted((_value(match), _value(match, "upper")))
    return _series(match, "range", level=low, upper=high, strict=False)


def _moved(match: _Match, pattern: Pattern, strict: bool) -> Claim:
    up = _rises(match)
    # "rises 5 %" is true at exactly 5 %, so "does not rise 5 %" leaves equality out.
    side, strict = _flip(_side(up), strict, _never(match))
    level = _value(match) * (1 if up else -1) if match.groupdict().get("level") else None
    return _series(match, pattern, level=level, side=side, strict=strict)


def _touch(match: _Match) -> Claim:
    word = match["rel"]
    side = _side(word in ("above", "at or above", "over")) if word else "toward"
    by = match.groupdict().get("by") == "by"
    notes = ("'by' is read as: on at least one day up to and including that date",) * by
    return _series(match, "touch", side=side, strict=False, never=_never(match), notes=notes)


def _drawdown(match: _Match) -> Claim:
    down = match["word"] in ("below", "under") or re.fullmatch(_DOWN, match["verb"]) is not None
    level = -_value(match) if down else _value(match)
    return _series(match, "drawdown", level=level, side=_side(not down), strict=False, never=_never(match))


def _volatility(match: _Match) -> Claim:
    side, _ = _relation(match)
    return _series(match, "volatility", side=side, strict=side == "above")


def _relative(match: _Match) -> Claim:
    up = not match["verb"].startswith(("under", "lag", "trail"))
    side, strict = _flip(_side(up), True, _never(match))
    return _series(match, "relative", other=match["other"], side=side, strict=strict)


def _statistic(match: _Match) -> Claim:
    names: dict[str, Pattern] = {"average": "mean", "highest value": "highest", "lowest value": "lowest"}
    return _related(match, names[match["what"]])


def _every(match: _Match) -> Period | None:
    unit = match["every"].removesuffix("s")
    own = "month" if series_named(match["series"]).monthly else "day"
    return None if unit in (own, "day") else "week" if unit == "week" else "month"


def _count(match: _Match) -> Claim:
    if match["word"]:
        return _series(match, "count", side=_side(match["word"] != "lower"))
    return _related(match, "count")


def _move(match: _Match) -> Claim:
    return _series(match, "move", strict=match["size"] == "more than", never=_never(match))


def _step(match: _Match) -> Claim:
    up = _rises(match)
    level, strict = _value(match) * (1 if up else -1), match["size"] == "more than"
    return _series(match, "step", level=level, side=_side(up), strict=strict, never=_never(match))


def _peak(match: _Match) -> Claim:
    return _series(match, "peak", level=-_value(match), side="below", strict=False, never=_never(match))


def _streak(match: _Match) -> Claim:
    return _series(match, "streak", side=_side(match["word"] != "lower"))


def _record(match: _Match) -> Claim:
    weeks = int(match["weeks"] or 1)
    return _series(match, "record", side=_side(match["word"] != "low"), times=weeks, never=_never(match))


def _first_move(match: _Match) -> Claim:
    up = _rises(match)
    if up == _rises(match, "back"):
        raise ClaimRefused("of two moves, of which one comes first, one rises and the other falls; ", *CAN_DO)
    way = 1 if up else -1
    return _first(match, "first_move", way * _value(match), -way * _value(match, "upper"))


def _first(match: _Match, pattern: Pattern, level: float, rival: float) -> Claim:
    never = _never(match)
    return _series(match, pattern, level=level, upper=rival, side=_side(level > rival), strict=False, never=never)  # fmt: skip


_OTHER = r"<(?P<other>[A-Z0-9_]+)>"
_EXPRESSIONS: Sequence[tuple[str, Callable[[_Match], Claim]]] = (
    (
        rf"{_S} {_NOT}{_V}(?P<no>no |not )?(?P<word>higher|lower|wider|narrower|up|down) (?:on|in|by|at) {_D} than "
        rf"(?:it (?:did|was|closed) )?(?:(?:on|in|at) {_D0}|its {_D0.replace('start', 'start2')} close|the last value known)",
        _compare,
    ),
    (
        rf"{_S} {_NOT}{_V}{_RELATION} its {_D0} (?:close|level|value) {_ON} {_D}",
        lambda match: _related(match, "compare"),
    ),
    (
        rf"{_S} {_NOT}{_V}(?:(?:at least |by |more than )?{_P} )?(?P<rel>above|below|over|under) its "
        rf"200[- ]day (?:simple )?(?:moving )?average {_ON} {_D}",
        _average,
    ),
    (rf"{_S} {_V}(?:within |in the range )?(?:between|from) {_N} (?:and|to) {_U} {_ON} {_D}", _range),
    (rf"{_S} {_NOT}{_V}{_RELATION} {_N} {_ON} {_D}", lambda match: _related(match, "level")),
    (
        rf"{_S} {_NOT}(?P<verb>closes?|{_UP}|{_DOWN}) (?:by )?(?:at least |more than )?{_P}(?: or more)? "
        rf"(?P<word>from|below|under|above) its (?:{_D0} close|last known close)(?: at least once)? {_BY} {_D}",
        _drawdown,
    ),
    (
        rf"{_S} {_NOT}(?P<verb>{_UP}|{_DOWN}) (?:by )?(?:at least |more than )?{_P}(?: or more)? {_SPAN}",
        lambda match: _moved(match, "change", strict=False),
    ),
    (rf"{_S} {_NOT}(?P<verb>{_UP}|{_DOWN}) {_SPAN}", lambda match: _moved(match, "compare", strict=True)),
    (
        rf"{_S} {_NOT}(?:touch(?:es)?|reach(?:es)?|hits?|(?:closes?|trades?|is|rises?|falls?) "
        rf"(?P<rel>at or above|at or below|above|over|below|under)) {_N}(?: at least once)? {_BY} {_D}",
        _touch,
    ),
    (
        rf"{_S} {_NOT}(?:touch(?:es)?|reach(?:es)?|hits?|(?:closes?|trades?|is|rises?|falls?) "
        rf"(?P<rel>at or above|at or below|above|over|below|under)) {_N}(?: at least once)? from {_D0} to {_D}",
        _touch,
    ),
    (rf"{_S} has its (?P<what>average|highest value|lowest value) {_RELATION} {_N} {_SPAN}", _statistic),
    (
        rf"{_S} {_V}(?:(?P<word>higher|lower)|{_RELATION} {_N}) (?:on|in) at least (?P<times>\d+) (?P<every>days|weeks|months) {_SPAN}",
        _count,
    ),
    (
        rf"{_S} {_NOT}(?P<verb>{_UP}|{_DOWN}) by at least (?P<level>\d[\d,]*(?:\.\d+)?) points {_SPAN}",
        lambda match: _moved(match, "points", strict=False),
    ),
    (
        rf"{_S} {_NOT}(?P<verb>{_UP}|{_DOWN}) by (?P<size>at least|more than) {_P} (?:on|in) at least one (?P<every>day|week|month) {_SPAN}",
        _step,
    ),
    (rf"{_S} {_NOT}closes? {_P} or more below its highest close of the window {_SPAN}", _peak),
    (
        rf"{_S} {_V}(?P<word>higher|lower) (?:on|in) at least (?P<times>\d+) consecutive (?P<every>days|weeks|months) {_SPAN}",
        _streak,
    ),
    (
        rf"{_S} {_NOT}closes? at a new (?:(?P<weeks>[2-9]|[1-9]\d{{1,2}})-week )?(?P<word>high|low) at least once {_SPAN}",
        _record,
    ),
    (
        rf"{_S} {_NOT}reach(?:es)? {_N} before {_U} {_SPAN}",
        lambda match: _first(match, "first", _value(match), _value(match, "upper")),
    ),
    (
        rf"{_S} {_NOT}(?P<verb>{_UP}|{_DOWN}) {_P} before it (?P<back>{_UP}|{_DOWN}) {_P.replace('level', 'upper')} {_SPAN}",
        _first_move,
    ),
    (rf"{_S} {_NOT}moves? by (?P<size>at least|more than) {_P} either way {_SPAN}", _move),
    (
        rf"(?:the )?realised volatility of (?:the )?{_S} {_SPAN} {_NOT}{_V}{_RELATION} {_P}(?: a year)?",
        _volatility,
    ),
    (rf"{_S} realised volatility {_SPAN} {_NOT}{_V}{_RELATION} {_P}(?: a year)?", _volatility),
    (
        rf"(?:the )?realised volatility of (?:the )?{_S} {_NOT}{_V}{_RELATION} {_P}(?: a year)? {_SPAN}",
        _volatility,
    ),
    (
        rf"{_S} {_NOT}(?P<verb>{_AHEAD}|rises? more than) {_OTHER} {_SPAN}",
        _relative,
    ),
)
# Names of series are upper-case in the alphabet, everything else is lower-case.
_PATTERNS = [(re.compile(expression), build) for expression, build in _EXPRESSIONS]


def _checked(claim: Claim) -> Claim:
    """Return the claim; raises ``ClaimRefused`` if its parts do not fit each other."""
    if claim.start is not None and claim.start >= claim.end:
        raise ClaimRefused(
            f"the claim ends on {claim.end}, not after its start on {claim.start}; swap the two dates"
        )
    monthly = claim.about.monthly or bool(claim.against and claim.against.monthly)
    if monthly and claim.pattern in ("average", "volatility", "relative"):
        raise ClaimRefused(
            f"{claim.about.article} is monthly, so it has no daily path to be volatile along, and no 200-day average"
        )
    if claim.against and (
        claim.other == claim.series or "volatility" in (claim.about.kind, claim.against.kind)
    ):
        raise ClaimRefused("outperformance needs two different price series: S&P 500, NASDAQ or WTI")
    if claim.pattern == "drawdown" and claim.level is not None and claim.level <= -100:
        raise ClaimRefused("a price cannot fall by 100 % or more; state a smaller percentage")
    if claim.pattern == "first" and claim.level == claim.upper:
        raise ClaimRefused("the two levels, of which one is reached first, are the same; state two")
    if claim.pattern == "first_move":
        _check_moves(claim)
    if claim.pattern == "change" and claim.level is not None and claim.level <= -100:
        raise ClaimRefused("a value cannot fall by 100 % or more; state a smaller percentage")
    if (
        claim.pattern
        in ("level", "touch", "range", "volatility", "mean", "highest", "lowest", "move", "first")
        and claim.level is not None
        and claim.level <= 0
        # A rate or a balance of another source may lie at or below 0.
        and (
            claim.about.embedded
            or claim.about.kind in ("price", "volatility")
            or claim.pattern == "volatility"
        )
    ):
        raise ClaimRefused("a level has to be above zero")
    return claim


def _check_moves(claim: Claim) -> None:
    level, rival = claim.level or 0.0, claim.upper or 0.0
    if not level or not rival:
        raise ClaimRefused("a move of 0 % is none; state how far the value rises and falls")
    if min(level, rival) <= -100 and claim.about.kind == "price":
        raise ClaimRefused("a price cannot fall by 100 % or more; state a smaller percentage")
