"""``read_claim``: from a whole sentence with its days written out to its claim, or a refusal in one sentence; it reads `Claim.statement` back."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from workbench.propositions.values import MAX_STATEMENT
from workbench.questions.claims import REFERENCE, Claim, Pattern, Side
from workbench.questions.errors import ANOTHER_MODEL, ClaimRefused
from workbench.questions.readings.amounts import take_amounts
from workbench.questions.readings.days import Calendar, Window, take_days
from workbench.questions.readings.names import SeriesName, reachable, take_series
from workbench.questions.readings.tokens import Piece, Text, text_of
from workbench.questions.series.embedded_series import KNOWN
from workbench.questions.series.series_registry import series_named

CAN_DO = (
    f"offline/analyst decides one dated claim about {KNOWN}: higher or lower than on a date, above, below or between "
    "levels, above its 200-day average, a rise or fall of N %, touching a level, a drawdown, realised volatility, "
    "outperformance; for anything else ",
    *ANOTHER_MODEL,
)
_REASONS = (
    (r"\b(because|due to|caus(?:e|es|ed|ing)|as a result|results? (?:in|from)|leads? to|led to|thanks to|driven by|owing to|makes?)\b", "a claim about causes cannot be decided by rule"),
    (r"\b(good|bad|better|best|worse|worst|attractive|over-?valued|under-?valued|cheap|expensive|should|ought|fair|worth|worthwhile|buy|sell|wise|safe|risky|healthy|strong|weak|sound)\b", "a value judgement cannot be decided by rule"),
)  # fmt: skip
_COMPOUND = re.compile(r"\b(and|or|but|unless|if|when|while|whereas|both|either|then)\b|;")
_NO_FORM = (
    "the claim is not one of the patterns that are understood (is a level, a percentage or a word missing?)"
)


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
    if len(words) > MAX_STATEMENT:
        raise ClaimRefused(
            f"the claim has {len(words)} characters, at most {MAX_STATEMENT} are read; ", *CAN_DO
        )
    if words.lower().startswith(REFERENCE.lower()):
        return replace(read_claim(words[len(REFERENCE) :]), reference=True, notes=())
    for iso in (True, False):
        sentence = _Sentence(words, iso=iso)
        for pattern, fields in _PATTERNS:
            if match := pattern.fullmatch(sentence.plain):
                return _checked(sentence.claim(match, fields))
    raise ClaimRefused(f"{sentence.reason()}: {words!r}; ", *CAN_DO)


def series_of_statement(text: str) -> str:
    """Return the series that a claim in a sentence is about, by its key; "" for a sentence that is no claim of the grammar.

    >>> series_of_statement("VIX above 20 on 2018-12-31"), series_of_statement("Something happens")
    ('VIX', '')
    """
    try:
        return read_claim(text).series
    except ClaimRefused:
        return ""


_LETTERS = {"S": "S", "A": "A", "D": "D", "P": "P", "average": "V", "impossible": "X"}


class _Sentence:
    """A sentence in a small alphabet: ``S0`` a series, ``A1`` a number, ``%2`` a percentage, ``D3`` a day, ``P4`` a month, ``Y5`` a year."""

    def __init__(self, words: str, *, iso: bool) -> None:
        self.text = text = text_of(words)
        # Figures and days first where days are written out: of "reaches 2000 before 1990" neither is a year.
        take_series(text)
        text.find(r"\b200 ?day (?:simple )?(?:moving )?average\b", "average", lambda match: 200)
        calendar = Calendar(None)
        take_days(text, calendar, iso=iso)
        take_amounts(text, decimal=True)
        self.pieces = sorted(
            (piece for piece in text.pieces if piece.kind in _LETTERS), key=lambda piece: piece.start
        )
        #: A day of two meanings is asked about, and makes no sentence.
        self.plain = "" if calendar.asked else _normal(text, self.pieces)

    def claim(self, match: re.Match[str], fields: "_Fields") -> Claim:
        """The claim of a match: what its groups say, and what its pattern says beside."""
        groups = {name: said for name, said in match.groupdict().items() if said is not None}
        groups |= {name[:-1]: said for name, said in groups.items() if name in ("end2", "start2")}
        groups |= {"end": groups["span"]} if "span" in groups else {}
        series = self._series(groups["series"])
        every = groups.get("every", "").removesuffix("s")
        steps = ("day", "month" if series_named(series).monthly else "day")
        start, end = self._window(groups.get("start")), self._window(groups["end"])
        read: dict[str, Any] = {
            "series": series,
            "other": self._series(groups["other"]) if "other" in groups else None,
            "start": self._before(end) if groups.get("span") == groups["end"] else start and start.end,
            "end": self._end(end, groups.get("by", "")),
            "level": self._amount(groups.get("level")),
            "upper": self._amount(groups.get("upper")),
            "times": int(self._amount(groups.get("times")) or 1),
            "every": None if every in ("", *steps) else every,
        }
        return Claim(**{**read, **fields(groups, read)})

    def _series(self, index: str) -> str:
        return _nameable(self.pieces[int(index)].value).source  # type: ignore[union-attr]

    def _window(self, index: str | None) -> Window | None:
        return self.pieces[int(index)].value if index else None

    def _amount(self, index: str | None) -> float | None:
        return self.pieces[int(index)].value.value if index else None

    @staticmethod
    def _before(window: Window | None) -> date:
        assert window is not None and window.period is not None, "a year is a period"
        return window.period.before

    @staticmethod
    def _end(window: Window | None, by: str) -> date:
        assert window is not None, "every pattern has an end"
        # "before" excludes its day, the other words include it; of the end of a period its last day counts also before it.
        if by != "before" or window.edge:
            return window.end
        return (window.period.first if window.period else window.end) - timedelta(days=1)

    def reason(self) -> str:
        """Why it is no claim."""
        plain = self.text.plain
        if wrong := next((piece.value for piece in self.pieces if piece.kind == "impossible"), None):
            return f"{wrong} is not a day of the calendar; write dates as YYYY-MM-DD"
        for pattern, reason in _REASONS:
            if re.search(pattern, plain):
                return reason
        if not re.search(r"S\d", self.plain):
            return "the claim names no series that is embedded here"
        inside = re.sub(r"between \S+ and \S+|at or (?:above|below)|or more", "", self.plain)
        if _COMPOUND.search(inside):
            return "the claim joins several claims, so state them one at a time"
        if re.search(r"\b(?:the|this|next|last) year\b", plain):
            return "the claim names no year (write it as in: closes 2018 higher)"
        if not re.search(r"[DPY]\d", self.plain):
            return "the claim names no full date (write YYYY-MM-DD)"
        return _NO_FORM


def _nameable(candidates: tuple[SeriesName, ...]) -> SeriesName | None:
    """The series that a claim can name of those that are meant: an embedded one, or one by its reference."""
    names = [each for each in reachable(candidates, ("embedded",)) if each.source and ":" in each.ref]
    return names[0] if len(names) == 1 else None


def _normal(text: Text, pieces: list[Piece]) -> str:
    parts, place = [], 0
    for index, piece in enumerate(pieces):
        letter = _LETTERS[piece.kind]
        if piece.kind == "A":
            letter = {"%": "%", "bp": "X"}.get(piece.value.unit, "A")
        if piece.kind == "P":
            days = (piece.value.period.last - piece.value.period.first).days
            letter = "P" if days < 31 else "Y" if days > 360 else "X"
        if piece.kind == "S" and _nameable(piece.value) is None:
            letter = "X"
        parts += [text.masked[place : piece.start], f"{letter}{index}"]
        place = piece.end
    plain = "".join((*parts, text.masked[place:])).strip(" .?!")
    plain = re.sub(r"^(?:will|does|do|is it true that|it is true that) ", "", plain)
    plain = re.sub(r"\b(?:will|would|shall) (not )?", lambda match: "does not " if match[1] else "", plain)
    plain = re.sub(r"\bdo not\b", "does not", plain).replace("realized", "realised")
    plain = re.sub(r"[,:](?=\s|$)|\bthe (?=[SDPY]\d)|(?<=[A%]\d) or more(?= on| in)", "", plain)
    return " ".join(plain.split())


_S = r"S(?P<series>\d+)(?:'s)?"
_D, _D0 = r"[DP](?P<end>\d+)", r"[DP](?P<start>\d+)"
_N, _U = r"[A%](?P<level>\d+)", r"[A%](?P<upper>\d+)"
_P = r"%(?P<level>\d+)"
_V = r"(?:(?:closes?|ends?|finishes|finish|settles?|is|be|stands?|trades?|remains?|stays?) )?"
_NOT = r"(?P<neg>does not |is not |not |never )?"
_ON = r"(?:on|in|at|for|as of)"
_BY = r"(?P<by>before|by|through|until|up to)"
_SPAN = rf"(?:(?:from|between) {_D0} (?:to|and|until|through) {_D}|(?:by|through) [DP](?P<end2>\d+)|(?:in|over|during) Y(?P<span>\d+))"
_UP = r"rises?|gains?|increases?|climbs?|advances?|grows?|widens?|goes up"
_DOWN = r"falls?|drops?|declines?|loses|lose|decreases?|narrows?|goes down"
_MOVES = rf"(?P<verb>{_UP}|{_DOWN})"
_RELATION = r"(?P<rel>at or above|at or below|at least|at most|no (?:higher|more|greater) than|no (?:lower|less) than|(?:higher|more|greater) than|(?:lower|less) than|not above|not below|above|over|below|under|exceeds?)"
_REACHES = r"(?:touch(?:es)?|reach(?:es)?|hits?|(?:closes?|trades?|is|rises?|falls?) (?P<rel>at or above|at or below|above|over|below|under))"
_WORD = r"(?P<no>no |not )?(?P<word>higher|lower|wider|narrower|up|down)"
_TIMES = r"at least A(?P<times>\d+)"

_Groups = Mapping[str, str]
_Fields = Callable[[_Groups, Mapping[str, Any]], dict[str, Any]]


def _side(up: bool, strict: bool, negated: bool) -> dict[str, Any]:
    """The negation of "above" is "at or below": equality changes sides too."""
    side: Side = "above" if up != negated else "below"
    return {"side": side, "strict": strict != negated}


def _rises(groups: _Groups, name: str = "verb") -> bool:
    return re.fullmatch(_UP, groups[name]) is not None


def _related(pattern: Pattern) -> _Fields:
    def fields(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
        said = groups["rel"]
        down = re.search(r"below|under|lower|less|most", said) is not None
        up = not down
        if said.startswith(("no ", "not ")):
            up = re.search(r"below|lower|less", said) is not None
        strict = said not in ("at or above", "at or below", "at least", "at most") and not said.startswith(("no ", "not "))  # fmt: skip
        return {"pattern": pattern, **_side(up, strict, "neg" in groups)}

    return fields


def _worded(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    # "does not close no lower" holds two negations, which cancel.
    up = groups["word"] in ("higher", "wider", "up")
    return {"pattern": "compare", **_side(up, True, ("neg" in groups) != ("no" in groups))}


def _worded_year(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    return _worded(groups, read) | (
        {} if "start" in groups else {"start": date(read["end"].year - 1, 12, 31)}
    )


def _average(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    # "not 5 % above" also holds at 3 % above and at 5 % below; flipping the side would read it as "5 % below".
    if read["level"] and "neg" in groups:
        raise ClaimRefused("say it without the negation, as N % above or below the average; ", *CAN_DO)
    return _related("average")(groups, read) | ({"strict": False} if read["level"] else {})


def _range(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    low, high = sorted((read["level"], read["upper"]))
    return {"pattern": "range", "level": low, "upper": high, "strict": False}


def _moved(pattern: Pattern, strict: bool) -> _Fields:
    def fields(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
        up = _rises(groups)
        level = None if read["level"] is None else read["level"] * (1 if up else -1)
        # "rises 5 %" is true at exactly 5 %, so "does not rise 5 %" leaves equality out.
        return {"pattern": pattern, "level": level, **_side(up, strict, "neg" in groups)}

    return fields


def _touch(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    said = groups.get("rel")
    side: Side = "toward" if not said else "above" if said in ("above", "at or above", "over") else "below"
    notes = ("'by' is read as: on at least one day up to and including that date",) * (
        groups.get("by") == "by"
    )
    return {"pattern": "touch", "side": side, "strict": False, "never": "neg" in groups, "notes": notes}


def _drawdown(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    down = groups["word"] in ("below", "under") or re.fullmatch(_DOWN, groups["verb"]) is not None
    return {"pattern": "drawdown", "level": -read["level"] if down else read["level"], "side": "below" if down else "above", "strict": False, "never": "neg" in groups}  # fmt: skip


def _volatility(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    side = _related("volatility")(groups, read)["side"]
    return {"pattern": "volatility", "side": side, "strict": side == "above"}


def _relative(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    return {"pattern": "relative", **_side(not groups["verb"].startswith(("under", "lag", "trail")), True, "neg" in groups)}  # fmt: skip


def _statistic(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    names: dict[str, Pattern] = {"average": "mean", "highest value": "highest", "lowest value": "lowest"}
    return _related(names[groups["what"]])(groups, read)


def _count(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    if "word" in groups:
        return {"pattern": "count", "side": "below" if groups["word"] == "lower" else "above"}
    return _related("count")(groups, read)


def _step(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    up = _rises(groups)
    return {"pattern": "step", "level": read["level"] * (1 if up else -1), "side": "above" if up else "below", "strict": groups["size"] == "more than", "never": "neg" in groups}  # fmt: skip


def _first(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    side = "above" if read["level"] > read["upper"] else "below"
    return {"pattern": "first", "side": side, "strict": False, "never": "neg" in groups}


def _first_move(groups: _Groups, read: Mapping[str, Any]) -> dict[str, Any]:
    up = _rises(groups)
    if up == _rises(groups, "back"):
        raise ClaimRefused("of two moves, of which one comes first, one rises and the other falls; ", *CAN_DO)
    way = 1 if up else -1
    moves = {"level": way * read["level"], "upper": -way * read["upper"]}
    return _first(groups, moves) | moves | {"pattern": "first_move"}


_VOLATILITY = rf"{_NOT}{_V}{_RELATION} {_N}(?: a year)?"
_EXPRESSIONS: tuple[tuple[str, _Fields], ...] = (
    (rf"{_S} {_NOT}{_V}{_WORD} (?:on|in|by|at) {_D} than (?:it (?:did|was|closed) )?(?:(?:on|in|at) {_D0}|its [DP](?P<start2>\d+) close|the last value known)", _worded),
    (rf"{_S} {_NOT}{_V}{_RELATION} its {_D0} (?:close|level|value) {_ON} {_D}", _related("compare")),
    (rf"{_S} {_NOT}{_V}[DY](?P<end>\d+) {_WORD}(?: than (?:it (?:did|was|closed) )?(?:in |at )?[DY](?P<start>\d+))?", _worded_year),
    (rf"{_S} {_NOT}{_V}{_WORD} (?:in|for|on|over) Y(?P<end>\d+)(?: than (?:it (?:did|was|closed) )?(?:in |at )?[DY](?P<start>\d+))?", _worded_year),
    (rf"{_S} {_NOT}{_V}[DY](?P<end>\d+) {_RELATION} {_N}", _related("level")),
    (rf"{_S} {_NOT}{_V}(?:(?:at least |by |more than )?{_P} )?(?P<rel>above|below|over|under) its V\d+ {_ON} {_D}", _average),
    (rf"{_S} {_V}(?:within |in the range )?(?:between|from) {_N} (?:and|to) {_U} {_ON} {_D}", _range),
    (rf"{_S} {_NOT}{_V}{_RELATION} {_N} {_ON} {_D}", _related("level")),
    (rf"{_S} {_NOT}(?P<verb>closes?|{_UP}|{_DOWN}) (?:by )?(?:at least |more than )?{_P}(?: or more)? (?P<word>from|below|under|above) its (?:{_D0} close|last known close)(?: at least once)? {_BY} {_D}", _drawdown),
    (rf"{_S} {_NOT}{_MOVES} (?:by )?(?:at least |more than )?{_P}(?: or more)? {_SPAN}", _moved("change", strict=False)),
    (rf"{_S} {_NOT}{_MOVES} {_SPAN}", _moved("compare", strict=True)),
    (rf"{_S} {_NOT}{_REACHES} {_N}(?: at least once)? (?:{_BY} {_D}|from {_D0} to [DP](?P<end2>\d+))", _touch),
    (rf"{_S} has its (?P<what>average|highest value|lowest value) {_RELATION} {_N} {_SPAN}", _statistic),
    (rf"{_S} {_V}(?:(?P<word>higher|lower)|{_RELATION} {_N}) (?:on|in) {_TIMES} (?P<every>days|weeks|months) {_SPAN}", _count),
    (rf"{_S} {_NOT}{_MOVES} by at least {_N} {_SPAN}", _moved("points", strict=False)),
    (rf"{_S} {_NOT}{_MOVES} by (?P<size>at least|more than) {_P} (?:on|in) at least one (?P<every>day|week|month) {_SPAN}", _step),
    (rf"{_S} {_NOT}closes? {_P} or more below its highest close of the window {_SPAN}", lambda groups, read: {"pattern": "peak", "level": -read["level"], "side": "below", "strict": False, "never": "neg" in groups}),
    (rf"{_S} {_V}(?P<word>higher|lower) (?:on|in) {_TIMES} consecutive (?P<every>days|weeks|months) {_SPAN}", lambda groups, read: {"pattern": "streak", "side": "below" if groups["word"] == "lower" else "above"}),
    (rf"{_S} {_NOT}closes? at a new (?:A(?P<times>\d+)[- ]week )?(?P<word>high|low) at least once {_SPAN}", lambda groups, read: {"pattern": "record", "side": "below" if groups["word"] == "low" else "above", "never": "neg" in groups}),
    (rf"{_S} {_NOT}closes? at a new (?:A(?P<times>\d+)[- ]week )?(?P<word>high|low) {_SPAN}", lambda groups, read: {"pattern": "record", "side": "below" if groups["word"] == "low" else "above", "never": "neg" in groups}),
    (rf"{_S} {_NOT}reach(?:es)? {_N} before {_U} {_SPAN}", _first),
    (rf"{_S} {_NOT}{_MOVES} {_P} before it (?P<back>{_UP}|{_DOWN}) %(?P<upper>\d+) {_SPAN}", _first_move),
    (rf"{_S} {_NOT}moves? by (?P<size>at least|more than) {_P} either way {_SPAN}", lambda groups, read: {"pattern": "move", "strict": groups["size"] == "more than", "never": "neg" in groups}),
    (rf"(?:the )?realised volatility of (?:the )?{_S} {_SPAN} {_VOLATILITY}", _volatility),
    (rf"{_S} realised volatility {_SPAN} {_VOLATILITY}", _volatility),
    (rf"(?:the )?realised volatility of (?:the )?{_S} {_VOLATILITY} {_SPAN}", _volatility),
    (rf"{_S} {_NOT}(?P<verb>outperforms?|beats?|underperforms?|lags?|trails?|rises? more than) S(?P<other>\d+) {_SPAN}", _relative),
)  # fmt: skip
_PATTERNS = [(re.compile(expression), fields) for expression, fields in _EXPRESSIONS]


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
