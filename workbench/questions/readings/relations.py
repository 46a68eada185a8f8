"""What a text says of its series, put together from its pieces: how it is compared, with what, and how often."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from workbench.questions.readings.amounts import Amount
from workbench.questions.readings.counts import STEPS, Count
from workbench.questions.readings.lexicon import lexicon
from workbench.questions.readings.tokens import Piece

Way = Literal["up", "down", ""]
OPPOSITE = {"above": "at_most", "at_least": "below", "below": "at_least", "at_most": "above"}
#: A comparison as one with what lies further down, further up, or on the other side.
DOWNWARD = {"above": "below", "at_least": "at_most"}
_UPWARD = {below: above for above, below in DOWNWARD.items()}
MIRRORED = DOWNWARD | _UPWARD
#: Of moves of the federal funds rate, in percentage points.
QUARTER_POINT = 0.25
_ZERO = Amount(value=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What a text says, before it is known of which days."""

    #: A pattern of claims; "stay"; "bare" for a level of which nothing is said.
    name: str
    #: "toward" for a level that is reached from whichever side.
    comparison: str = ""
    level: Amount | None = None
    upper: Amount | None = None
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
    #: One day of the window is enough.
    once: bool = False


def mirrored(relation: Relation, strength: Way = "") -> Relation:
    """Return what a relation says of a series that goes the other way: the yen weakens past 115, and the dollar in yen rises above it.

    ``strength`` is the direction of words that compare and do not move: "weaker than 115".
    """
    if not (way := relation.way or strength):
        return relation
    other: Way = "down" if way == "up" else "up"
    further = {} if relation.name == "change" else _UPWARD if other == "up" else DOWNWARD
    side = further.get(relation.comparison, relation.comparison)
    return replace(relation, way=other if relation.way else "", comparison=side)


_GROWTH = {"yoy": "yoy", "mom": "mom", "qoq": "qoq", "annualised": "annualized"}
_COMPARISONS = {"at least": "at_least", "at most": "at_most", "above": "above", "over": "above", "below": "below"}  # fmt: skip
_MOTION = {"up", "down", "higher", "lower"}
_SIDES = {"above", "below", "over", "at least", "at most", "or more", "or less"}
_GROUPS: Mapping[str, Iterable[str]] = {"motion": _MOTION, "sides": _SIDES, "growth": _GROWTH}


@cache
def _uses(relation: str) -> frozenset[str]:
    """The kinds of words that a relation has a use for."""
    known = lexicon().uses
    listed = [word.strip() for name in ("any", relation) for word in known.get(name, "").split(",")]
    return frozenset(kind for word in listed for kind in _GROUPS.get(word, (word,)))


@dataclass(slots=True)
class Pieces:
    """The pieces of a text, asked for by their kinds."""

    all: Sequence[Piece]

    def __contains__(self, kind: str) -> bool:
        return self.first(kind) is not None

    def first(self, *kinds: str) -> Piece | None:
        """The first piece of one of these kinds."""
        return next((piece for piece in self.all if piece.kind in kinds), None)

    def of(self, *kinds: str) -> list[Piece]:
        """All pieces of these kinds."""
        return [piece for piece in self.all if piece.kind in kinds]

    def said(self, *kinds: str) -> bool:
        """Whether a piece of one of these kinds is there."""
        return self.first(*kinds) is not None

    def next_to(self, piece: Piece, step: int) -> Piece | None:
        """The piece beside one, fillers passed over."""
        place = self.all.index(piece) + step
        while 0 <= place < len(self.all):
            if self.all[place].kind != "filler":
                return self.all[place]
            place += step
        return None

    def before(self, piece: Piece, *kinds: str) -> bool:
        """Whether a piece of one of these kinds stands before another."""
        other = self.next_to(piece, -1)
        return other is not None and other.kind in kinds


def uncertain(relation: Relation, pieces: Pieces) -> bool:
    """Whether words of the text say what the relation has no place for."""
    uses = _uses(relation.name) | ({"now"} if relation.now else set())
    uses |= {"move"} if "either way" in pieces else set()
    if relation.once and relation.name in ("level", "mean", "compare", "average"):
        return True  # "higher at some point than today"
    return any(piece.kind not in uses for piece in pieces.all if piece.kind != "?")


def relations(pieces: Pieces, *, series: int, kind: str, usual: tuple[float, float] | None) -> list[Relation]:
    """Return the relation that the pieces state, or the several that they may; the likeliest first.

    Parameters
    ----------
    series : How many series are named.
    kind : Of the first series: of a rate, percent and basis points are levels; of a price they are moves.
    usual : Levels that the series has had, where that is known.
    """
    words = _Words(pieces, series, kind, usual)
    return next([*row.says(words)] for row in ROWS if row.fits(words))


class _Words:
    """The words of a text, each part read once: what the rows of the table ask for."""

    numbers: list[tuple[Piece, Amount]]
    amount: Amount | None
    #: piece, level, edge: The number that is the level, and what stands after it.
    piece: Piece
    level: Amount
    edge: Piece
    #: moving: The way that it moves by a number, where the number says so; by: the number is how far, and not where to.
    moving: Way
    by: bool
    growth: str
    #: The side that a comparison or a motion leans to.
    leaning: str
    #: It is said to hold all the time.
    held: bool
    #: now, since: It is measured from the last known value, or from a day.
    now: bool
    since: bool
    #: Whether it is spoken of by values that may lie at zero, and not as a price is.
    levelled: bool

    def __init__(self, pieces: Pieces, series: int, kind: str, usual: tuple[float, float] | None) -> None:
        self.pieces, self.series, self.kind, self.usual = pieces, series, kind, usual
        self.has = pieces.said
        self.compared, self.comparison = _comparison(pieces)
        verb, adjective = pieces.first("up", "down"), pieces.first("higher", "lower")
        self.moved = (verb or adjective or Piece("", 0, 0, "")).value
        self.verb_way: Way = verb.kind if verb else ""  # type: ignore[assignment]
        if not verb and "crash" in pieces and "A" in pieces:
            self.verb_way = "down"  # to a level, or by so much
        self.way: Way = self.verb_way or (_WAYS[adjective.kind] if adjective else "")
        windows = [piece.value for piece in pieces.of("W")]
        self.never = len(pieces.of("not")) % 2 == 1
        self.once = self.has("once", *_STEPS, "record high", "record low") or any(
            each.once for each in windows
        )
        self.held = self.has("hold", "always") or any(each.always for each in windows)
        self.now = "now" in pieces
        self.since = any(window.kind == "since" for window in windows)
        counted_yearly = (
            kind == "count" and "annualised" in pieces
        )  # "1.3 million starts, annualised" is a level
        self.growth = (
            "" if counted_yearly else next((name for word, name in _GROWTH.items() if word in pieces), "")
        )
        self.levelled = kind != "price" or bool(self.growth)
        self.numbers = _levels(pieces)
        self.amount = self.numbers[0][1] if self.numbers else None
        self.base = Relation(name="", now=self.now, never=self.never, once=self.once, way=self.way, closing="end" in pieces, growth=self.growth)  # fmt: skip
        self.leaning = self.comparison or {"up": "above", "down": "below"}.get(self.way, "")
        if self.numbers:
            self._see_the_number()

    def _see_the_number(self) -> None:
        """Of several numbers the level is the one that a comparison or "to" stands before; see whether it says where to, or by how much."""
        led = [each for each in self.numbers if self.pieces.before(each[0], "to", "reach", *_SIDES)]
        self.piece, self.level = led[0] if led and len(self.numbers) > 1 else self.numbers[0]
        self.edge = self.pieces.next_to(self.piece, 1) or Piece("", 0, 0, "")
        # "Returns less than -5%": a rise by less than nothing is a fall.
        falls = self.way == "up" and self.level.value < 0
        signed = self.level.signed and self.level.unit in _MEASURES and (falls or not self.way)
        self.by = (
            self.kind == "price" or self.level.unit != "%" if signed else _by(self, self.piece, self.level)
        )
        if signed and (self.by or not self.way):
            self.moving = "up" if self.level.value > 0 else "down"
        else:
            self.moving = self.way

    @property
    def size(self) -> Amount:
        """How large the first number is."""
        assert self.amount is not None
        return replace(self.amount, value=abs(self.amount.value))

    @property
    def of_size(self) -> bool:
        """Whether the words of the comparison may be said of a size ("more than"), and not only of a place ("under")."""
        return self.compared is None or self.compared.value in _OF_SIZE

    def one(
        self, name: str, comparison: str = "", level: Amount | None = None, **fields: Any
    ) -> list[Relation]:
        """The one relation that is stated."""
        return [replace(self.base, name=name, comparison=comparison, level=level, **fields)]


_WAYS: Mapping[str, Way] = {"higher": "up", "lower": "down"}
_STEPS = ("step", "step week", "step month", "step quarter")
_MEASURES = ("%", "bp", "pp", "points")
_OF_SIZE = ("more than", "less than", "at least", "at most", "no more than", "up to", "no less than", "higher than", "lower than", "a minimum of", "at the very least", "over", "fewer than", "no fewer than")  # fmt: skip


def _comparison(pieces: Pieces) -> tuple[Piece | None, str]:
    """The words of a comparison; "or more" after a number turns "above" into "at least"."""
    plus = (Piece("or more", 0, 0) for piece in pieces.of("A") if piece.value.plus)
    suffix = pieces.first("or more", "or less") or next(plus, None)
    found = next((piece for kind in ("at least", "at most", "above", "over", "below") if (piece := pieces.first(kind))), None)  # fmt: skip
    if found is not None and found.kind == "at least":
        other = pieces.first("above", "over", "below")
        if other and (after := pieces.next_to(other, 1)) and after.kind == "A":
            found = other  # "at least once above 30"
    if suffix is not None:
        return found, "at_least" if suffix.kind == "or more" else "at_most"
    return found, _COMPARISONS[found.kind] if found else ""


def _levels(pieces: Pieces) -> list[tuple[Piece, Amount]]:
    """The numbers that are levels: not where it stands now ("up from 4.4 %")."""
    found = [(piece, piece.value) for piece in pieces.of("A")]
    if len(found) > 1 and "between" not in pieces:
        return [each for each in found if not pieces.before(each[0], "from")] or found
    return found


def _by(words: _Words, piece: Piece, amount: Amount) -> bool:
    """Whether an amount is how far it moves, and not where to."""
    pointed = words.pieces.next_to(piece, -1)
    while pointed is not None and pointed.kind in _SIDES | {"end"}:
        pointed = words.pieces.next_to(pointed, -1)
    led = pointed.kind if pointed else ""
    if led == "to":
        return False
    measured = words.edge.kind in ("higher", "lower") and (amount.unit != "" or words.now)
    measured = measured or (words.edge.kind in ("above", "below", "over") and words.now)
    if measured or led == "by" or (amount.unit == "%" and words.kind == "price"):
        return True
    if amount.unit == "money":  # "drops more than $200" is by how much; "drops below $200" is to where
        gained = words.moved.startswith(
            ("up", "down", "gain", "los", "add", "tack", "shed", "higher", "lower")
        )
        return words.of_size and (
            words.now or gained or (words.compared is not None and words.compared.value != "over")
        )
    if (
        words.kind == "rate"
        and amount.unit == ""
        and amount.value in (25, 50, 75, 100)
        and not words.compared
    ):
        return True
    return words.of_size and amount.unit in _MEASURES


def _counted(words: _Words) -> Iterator[Relation]:
    count: Count = words.pieces.first("count").value  # type: ignore[union-attr]
    side = {"up": "above", "down": "below"}.get(count.way or words.way, "")
    if words.amount is None:
        side = side or {"at_least": "above", "at_most": "below"}.get(words.comparison, words.comparison)
    else:
        side = words.comparison or side
    if side:
        step, never = STEPS.get(count.step, count.step), words.never and not words.has("hold")
        yield from words.one("streak" if count.row else "count", side, words.amount, times=count.times, step=step, never=never)  # fmt: skip


def _against_average(words: _Words) -> list[Relation]:
    days = words.pieces.first("average").value  # type: ignore[union-attr]
    if not (words.leaning and days) or (words.amount and words.amount.unit != "%"):
        return []
    crossing = words.once or words.has("cross")
    return words.one("cross" if crossing else "average", words.leaning, words.amount, lag=days)


def _digits(words: _Words) -> list[Relation]:
    said = words.pieces.first("digits").value  # type: ignore[union-attr]
    size = Amount(value=100.0 if said == "triple" else 10.0)
    if said == "single":
        return words.one("touch" if words.once else "level", "below", size, way="down")
    if words.kind == "price" and words.way:
        return words.one("change", "at_least", replace(size, unit="%"))
    return words.one("touch" if words.once else "level", "at_least", size, way="up")


def _record(words: _Words) -> list[Relation]:
    record, weeks = words.pieces.first("record high", "record low"), words.pieces.first("weeks")
    low = record.kind == "record low" if record else words.has("lowest")
    return words.one("record", "below" if low else "above", lag=weeks.value if weeks else None)


def _names_the_record(words: _Words) -> bool:
    """Whether it is said what the record is ("its record of 5,048"): a level, whatever it was."""
    units = ("", "money", "points", *["%"] * (words.kind == "rate"))
    least = words.usual[0] if words.usual else float("-inf")
    before = ("of", "to", "reach", "cross", "record high", "record low", *_SIDES)
    return any(
        amount.unit in units and amount.value >= least and words.pieces.before(piece, *before)
        for piece, amount in words.numbers
    )


def _off_the_extreme(words: _Words) -> list[Relation]:
    usual = 20.0 if words.has("bear market") else 10.0 if words.has("correction") else None
    size = words.size if words.amount else usual and Amount(value=usual, unit="%")
    if not size or size.unit not in ("%", "points", "money", ""):
        return []
    # "Drawdown no worse than 3 %": it never falls so far.
    smaller = words.compared is not None and words.compared.value in ("less than", "smaller than")
    small = words.comparison == "at_most" or (words.comparison == "below" and smaller)
    trough = words.has("from trough")
    return words.one("trough" if trough else "peak", "above" if trough else "below", size, never=words.never != small)  # fmt: skip


def _bounds(words: _Words) -> tuple[Amount, Amount] | None:
    """Two numbers that bound a range: "60 to 80", "above 60 but below 80", "within 5 of 80"."""
    if len(words.numbers) < 2:
        return None
    pieces, ((first, low), (second, high)) = words.pieces, words.numbers[:2]
    joined = pieces.all[pieces.all.index(first) + 1 : pieces.all.index(second)]
    kinds = [piece.kind for piece in joined if piece.kind != "filler" or piece.value == "of"]
    inside = pieces.first("between")
    if kinds == ["now"] or (kinds == ["of"] and inside is not None and inside.value in ("within", "inside")):
        width = high.value * low.value / 100 if low.unit == "%" else low.value
        return replace(high, value=high.value - width), replace(high, value=high.value + width)
    over, under = {"above", "over", "at least"}, {"below", "at most"}
    opposed = (over & {*kinds} and pieces.before(first, *under)) or (under & {*kinds} and pieces.before(first, *over))  # fmt: skip
    both = (
        opposed
        and {*kinds} <= {*over, *under, "and", "or", "not", "nor"}
        and {*kinds} & {"and", "not", "nor"}
    )
    plain = [kind for kind in kinds if kind != "filler"]
    apart = not kinds and second.start - first.end > 3
    if (
        both
        or (plain in ([], ["to"], ["and"]) and not apart)
        or (plain == ["or"] and (kinds != ["or"] or inside))
    ):
        return (low, high) if low.value <= high.value else (high, low)
    return None


def _ranged(words: _Words) -> list[Relation]:
    low, high = _bounds(words)  # type: ignore[misc]
    low = replace(low, unit=low.unit or high.unit)
    compared, pieces = words.compared, words.pieces
    by_how_much = low.unit == "%" if words.kind == "price" else low.unit in ("bp", "pp", "points")
    if (by_how_much or high.unit == "points" or words.now) and words.way and not words.has("to at"):
        return words.one("change", "between", low, upper=high)
    if compared and compared.kind in ("above", "below", "over") and not words.has("and", "not", "nor"):
        after = pieces.next_to(compared, 1)
        if after is not None and after.kind == "A":
            beyond = high if words.comparison in ("above", "at_least") else low
            return [each for name in ("level", "touch") for each in words.one(name, words.comparison, beyond)]
    return words.one("stay" if words.held else "mean" if words.has("mean") else "level", "between", low, upper=high)  # fmt: skip


def _which_first(words: _Words) -> list[Relation]:
    """Of two levels, or two moves, the one that comes first; of two moves one way the nearer does, and nobody asks."""
    (first, one), (second, other) = words.numbers[:2]
    if {one.unit, other.unit} != {"%"} or words.kind != "price":
        return words.one("first", "", one, upper=other)
    back = next((piece for piece in words.pieces.all if piece.kind in _MOTION and first.end <= piece.start < second.start), None)  # fmt: skip
    down = one.value < 0 or words.way == "down"
    back_down = other.value < 0 or (back.kind in ("down", "lower") if back else not down)
    if down == back_down:
        return []
    moves = [replace(each, value=abs(each.value) * (-1 if falls else 1)) for each, falls in ((one, down), (other, back_down))]  # fmt: skip
    return words.one("first", "", moves[0], upper=moves[1])


def _multiple(words: _Words) -> float | None:
    """By how many percent it grows, of what doubles or halves."""
    if multiple := words.pieces.first("multiple"):
        return 100.0 * (float(multiple.value) - 1)
    times = {"double": 100.0, "halve": -50.0, "triple": 200.0, "quadruple": 300.0}
    return None if words.numbers else next((size for word, size in times.items() if words.has(word)), None)


def _is_move(words: _Words) -> bool:
    """Whether a number is by how much it moves in one step."""
    unit, value = words.amount.unit, words.amount.value  # type: ignore[union-attr]
    if not (words.way or words.amount.signed) or words.has("reach"):  # type: ignore[union-attr]
        return False
    if unit == "%" and words.kind == "rate" and words.comparison:
        return False
    small = words.usual is not None and value < words.usual[0] / 2
    return unit in ("%", "bp", "pp") or (words.of_size and (unit in ("points", "money") or small))


def _in_one_step(words: _Words) -> list[Relation]:
    step = next((kind.removeprefix("step ") for kind in _STEPS[1:] if words.has(kind)), "")
    side = words.comparison if words.comparison in ("", "at_least", "at_most") else "above"
    down = words.way == "down" or (not words.way and words.amount.value < 0)  # type: ignore[union-attr]
    return words.one("step", side or "at_least", words.size, way="down" if down else "up", step=step)


def _without_place(words: _Words) -> bool:
    """Whether it is not said where to ("rises to by December")."""
    pieces = words.pieces
    for piece in pieces.all:
        if piece.kind == "to" and piece.value == "to" and pieces.before(piece, *_MOTION):
            after = pieces.next_to(piece, 1)
            if after is None or after.kind in ("W", "by"):
                return True
    return words.has("between", "hole")


def _crosses_zero(words: _Words) -> list[Relation]:
    word = words.pieces.first("invert", "turn positive")
    side = "below" if word.kind == "invert" else "above"  # type: ignore[union-attr]
    if not words.levelled:
        return words.one("touch", side, _ZERO, way="") + words.one("compare", side)
    inverts = words.kind == "rate" or word.value.startswith(("invert", "un", "disinvert"))  # type: ignore[union-attr]
    return words.one("stay" if words.held else "touch" if inverts else "level", side, _ZERO, way="")


def _handles(words: _Words) -> list[Relation]:
    amount: Amount = words.amount  # type: ignore[assignment]
    low, width = amount.value, 1.0
    if words.usual is not None:
        least = max(words.usual[0] if words.usual[0] > 1 else 0.0, 10.0 if words.usual == (1, 400) else 0.0)
        while 0 < low < least:
            low, width = low * 10, width * 10
    bottom, top = replace(amount, value=low, unit=""), replace(amount, value=low + width, unit="")
    touch = "touch" if words.once else "level"
    if words.has("or less") or (words.verb_way == "down" and not words.has("or more")):
        return words.one(
            "touch" if words.verb_way else touch, "below", top if words.has("or less") else bottom
        )
    if words.has("or more"):
        return words.one(touch, "at_least", bottom)
    return words.one("level", "between", bottom, upper=top) + words.one("touch", "below", top) + words.one("touch", "at_least", bottom)  # fmt: skip


def _beyond_its_base(words: _Words) -> bool:
    """Whether a number stands before "above" and a day that it is measured from: "5 % above Friday's close"."""
    if words.moving or not words.by or words.edge.kind not in ("above", "below", "over"):
        return False
    after = words.pieces.next_to(words.edge, 1)
    return words.now or (after is not None and after.kind == "W" and after.value.kind == "since")


def _moved_beyond(words: _Words) -> list[Relation]:
    least = words.comparison if words.comparison and words.compared is not words.edge else "at_least"
    way = "down" if words.edge.kind == "below" else "up"
    return words.one(
        "change", least, replace(words.level, value=abs(words.level.value)), way=way, closing=True
    )


def _moved_by(words: _Words) -> list[Relation]:
    size = replace(words.level, value=abs(words.level.value))
    if not words.moving:
        return words.one("change", "at_least", size, way="up") + words.one("change", "at_least", size, way="down")  # fmt: skip
    side = words.comparison
    if words.way != "down" and words.level.value < 0 and (words.compared or side != "at_least"):
        side = MIRRORED.get(side, side)  # "below -3%" is a fall by more; "-3% or more" is one as well
    side = side if side in ("", "at_least", "at_most", "below") else "above"
    return words.one("change", side or "at_least", size, way=words.moving)


def _held(words: _Words) -> list[Relation]:
    side = words.comparison or ("at_most" if words.moving == "down" else "at_least")
    if words.never:  # what does not stay above a level is below it at some time
        return words.one("touch", OPPOSITE[side], words.level, never=False)
    return words.one("stay", side, words.level)


def _level(words: _Words) -> list[Relation]:
    side = words.comparison or {"up": "at_least", "down": "at_most"}.get(words.moving, "")
    compared = words.compared
    if words.moving and compared and compared.value in _FURTHER:
        side = _ABOVE[words.moving]
    if words.once and compared and compared.kind in ("at least", "at most") and re.match(r"not? (?!longer)", compared.value):  # fmt: skip
        return words.one("stay", side, words.level)
    if words.once or words.has("reach", "cross", "first"):
        return words.one("touch", side or "toward", words.level)
    # "3000 by year end", "at 80": whether it closes there, or beyond, or only touches it, is not said.
    return words.one("level" if side else "bare", side or "toward", words.level)


def _beats(words: _Words) -> list[Relation]:
    beats, trails = words.pieces.first("beats"), words.pieces.first("trails")
    above = beats is not None and (trails is None or beats.start <= trails.start)
    after = words.pieces.next_to(beats if above else trails, 1)  # type: ignore[arg-type]
    above = above != (after is not None and after.kind == "by")  # "is beaten by"
    return words.one("relative", "above" if above else "below", words.amount)


_AT_LEAST = {"up": "at_least", "down": "at_most"}
_ABOVE = {"up": "above", "down": "below", "": ""}
#: Beyond a level in the direction of the motion.
_FURTHER = ("past", "beyond")


def _moved_either_way(words: _Words) -> list[Relation]:
    if words.level.signed:  # "moves -5%"
        return _moved_by(words)
    # "Less than 5 % either way" is that it does not move so far.
    small = words.comparison in ("below", "at_most")
    side = "above" if words.comparison in ("above", "at_most") else "at_least"
    return words.one("move", side, words.size, way="", never=words.never != small)


def _near_now(words: _Words) -> bool:
    """Whether a number is how far it may be from where it stands: "within 5 % of today's level"."""
    inside = words.pieces.first("between")
    alone = len(words.numbers) == 1 and words.now and inside is not None
    return words.has("within") or (alone and inside.value in ("within", "inside"))  # type: ignore[union-attr]


def _ahead_or_more(words: _Words) -> list[Relation]:
    side = {"at_least": "above", "at_most": "below"}.get(words.comparison, words.comparison)
    return words.one("relative", side) + words.one("level", words.comparison, _ZERO)


def _averages(words: _Words) -> list[Relation]:
    sides = [words.leaning] if words.leaning else ["at_least", "at_most"]
    return [each for side in sides for each in words.one("mean", side, words.amount)]


def _multiplied(words: _Words) -> list[Relation]:
    percent = _multiple(words) or 0.0
    side = "above" if words.comparison == "above" else "at_least"
    return words.one(
        "change", side, Amount(value=abs(percent), unit="%"), way="down" if percent < 0 else "up"
    )


def _of_a_pace(words: _Words) -> bool:
    """Of a pace it is not said against what, and "no down month" is no month."""
    paced = words.moved.startswith(("accelerat", "decelerat", "quicken", "slow"))
    return paced or (words.never and words.moved.endswith(("day", "week", "month", "quarter", "year")))


def _signed(words: _Words) -> bool:
    adjective = words.pieces.first("higher", "lower")
    return words.levelled and adjective is not None and adjective.value in ("negative", "positive")


def _compared(words: _Words) -> list[Relation]:
    weak = words.comparison in ("at_least", "at_most") and words.has("at least", "at most")
    return words.one("compare", words.comparison if weak else _ABOVE[words.way])


def _less_than_a_part_of_now(words: _Words) -> list[Relation]:
    # "Less than half of today's price": it falls by more than half.
    size = replace(words.level, value=100 - abs(words.level.value))
    return words.one("change", MIRRORED[words.comparison], size, way="down")


def _extreme(words: _Words) -> list[Relation]:
    side = words.leaning or ("at_least" if words.has("reach") else "")
    return words.one("highest" if words.has("highest") else "lowest", side, words.amount, way="") if side else []  # fmt: skip


def nothing(words: _Words) -> list[Relation]:
    """What cannot be told from these words, and shall not be guessed by a row after."""
    return []


def stating(name: str, comparison: str = "", level: Amount | None = None, **fields: Any) -> "_Says":
    """Return what states one relation, whatever the numbers of the text."""
    return lambda words: words.one(name, comparison, level, **fields)


_Says = Callable[[_Words], Iterable[Relation]]


@dataclass(frozen=True, slots=True)
class Row:
    """What words have to have, and what they then state."""

    #: Kinds of words: one of those between commas, and of each part beside a plus.
    kinds: str
    says: _Says
    #: How many numbers: exactly 0, at least 1 or 2; None for any.
    numbers: int | None = None
    #: How many series; 0 for any.
    series: int = 0
    where: Callable[[_Words], object] = lambda words: True

    def fits(self, words: _Words) -> bool:
        """Whether the words have all of it."""
        count = len(words.numbers)
        return (
            self.series in (0, words.series)
            and (self.numbers is None or (count >= self.numbers if self.numbers else not count))
            and all(words.has(*part.split(", ")) for part in self.kinds.split(" + ") if part)
            and bool(self.where(words))
        )


#: What words say, in order: the first row that fits is taken. A new way of saying something is a new row.
ROWS = (
    Row("count", _counted),
    Row("average", _against_average),
    Row("stays + or less", stating("compare", "at_most")),
    Row("stays + or more", stating("compare", "at_least")),
    Row("digits", _digits, numbers=0),
    Row("stays", stating("unchanged", "between"), numbers=0, series=1, where=lambda words: not words.has("or", "apart", *["hold"] * (words.kind != "rate"))),
    Row("either way, move", _moved_either_way, numbers=1, where=lambda words: not words.verb_way),
    Row("", lambda words: words.one("move", "above", words.size, way="", never=not words.never), numbers=1, where=_near_now),
    # two series
    Row("beats, trails", _beats, series=2, where=lambda words: not words.amount or words.amount.unit in ("%", "pp", "points")),
    Row("", lambda words: words.one("change", "at_least", words.amount), numbers=1, series=2, where=lambda words: words.by and words.way),
    Row("", lambda words: words.one("level", words.comparison or _AT_LEAST[words.way], words.amount), numbers=1, series=2, where=lambda words: words.leaning),
    Row("apart", lambda words: words.one("compare", _ABOVE[words.way]), numbers=0, series=2, where=lambda words: words.way),
    Row("", _ahead_or_more, numbers=0, series=2, where=lambda words: words.comparison),
    Row("", nothing, series=2),
    # extremes, volatility, ranges
    Row("record high, record low, weeks", _record, where=lambda words: not _names_the_record(words)),
    Row("from peak, correction, bear market, from trough", _off_the_extreme),
    Row("volatility", lambda words: words.one("volatility", words.leaning, words.size), numbers=1, where=lambda words: words.leaning),
    Row("volatility", nothing, where=lambda words: words.numbers or words.kind != "index"),
    Row("", _ranged, numbers=2, where=_bounds),
    Row("first", _which_first, numbers=2),
    Row("mean", _averages, numbers=1),
    Row("mean", nothing),
    Row("step, step week, step month, step quarter", _in_one_step, numbers=1, where=_is_move),
    Row("", _multiplied, where=_multiple),
    # no number
    Row("", nothing, numbers=0, where=_without_place),
    Row("", nothing, numbers=0, where=_of_a_pace),
    Row("down", stating("level", "below", _ZERO, way=""), numbers=0, where=lambda words: words.kind not in ("price", "rate") and words.moved.startswith(("contract", "shrink", "shrank"))),
    Row("crash", stating("drawdown", "at_least", Amount(value=20.0, unit="%"), way="down"), numbers=0),
    Row("invert, turn positive", _crosses_zero, numbers=0, where=lambda words: words.series == 1 or not words.levelled),
    Row("", lambda words: words.one("stay" if words.held else "level", "below" if words.has("lower") else "above", _ZERO, way=""), numbers=0, where=_signed),
    Row("up, down", lambda words: words.one("level", _ABOVE[words.verb_way], _ZERO, way=""), numbers=0, where=lambda words: words.growth and words.kind != "rate"),
    Row("", nothing, numbers=0, where=lambda words: words.held or words.has("highest", "lowest")),
    Row("up, down, higher, lower", _compared, numbers=0),
    Row("", lambda words: words.one("compare", words.comparison, way="up" if words.comparison in ("above", "at_least") else "down"), numbers=0, where=lambda words: words.comparison and (words.now or words.since or words.has("started"))),
    Row("", nothing, numbers=0),
    # one number
    Row("highest, lowest", _extreme, where=lambda words: not words.has("step")),
    Row("handle", _handles),
    Row("", _moved_beyond, where=_beyond_its_base),
    Row("now", _less_than_a_part_of_now, where=lambda words: words.level.unit == "%" and not words.moving and words.comparison and words.edge.kind == "now" and words.edge.value.startswith("of ")),
    Row("", _moved_by, where=lambda words: words.by and (words.moving or not (words.comparison or words.has("reach", "cross", "hold")))),
    Row("", _held, where=lambda words: words.held),
    Row("", _level),
)  # fmt: skip
