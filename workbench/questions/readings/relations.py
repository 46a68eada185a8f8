"""What a text says of its series, put together from its pieces: how it is compared, with what, and how often."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from workbench.questions.readings.amounts import Amount
from workbench.questions.readings.counts import STEPS, Count
from workbench.questions.readings.lexicon import lexicon
from workbench.questions.readings.tokens import Piece

Way = Literal["up", "down", ""]
OPPOSITE = {"above": "at_most", "at_least": "below", "below": "at_least", "at_most": "above"}
MIRRORED = {"above": "below", "at_least": "at_most", "below": "above", "at_most": "at_least"}
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


def mirrored(relation: Relation) -> Relation:
    """Return what a relation says of a price that is quoted the other way round: the dollar gains, and the euro in dollars falls."""
    if not relation.way:
        return relation
    side = relation.comparison if relation.name == "change" else MIRRORED.get(relation.comparison, relation.comparison)  # fmt: skip
    return replace(relation, way="down" if relation.way == "up" else "up", comparison=side)


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


def relations(
    pieces: Pieces, *, series: int, kind: str, monthly: bool, usual: tuple[float, float] | None
) -> list[Relation]:
    """Return the relation that the pieces state, or the several that they may; the likeliest first.

    Parameters
    ----------
    series : How many series are named.
    kind : Of the first series: of a rate, percent and basis points are levels; of a price they are moves.
    usual : Levels that the series has had, where that is known.
    """
    return [*_Teller(pieces, series, kind, monthly, usual).tell()]


class _Teller:
    """The parts of what is said, each read once."""

    def __init__(
        self, pieces: Pieces, series: int, kind: str, monthly: bool, usual: tuple[float, float] | None
    ) -> None:
        self.pieces, self.series, self.kind, self.monthly, self.usual = pieces, series, kind, monthly, usual
        self.compared, self.comparison = self._comparison()
        verb, adjective = pieces.first("up", "down"), pieces.first("higher", "lower")
        self.moved = verb or adjective
        self.verb_way: Way = verb.kind if verb else ""  # type: ignore[assignment]
        self.way: Way = self.verb_way or (
            {"higher": "up", "lower": "down"}[adjective.kind] if adjective else ""
        )  # type: ignore[assignment]
        windows = [piece.value for piece in pieces.all if piece.kind == "W"]
        self.never = sum(piece.kind == "not" for piece in pieces.all) % 2 == 1
        at_once = ("once", "step", "step week", "step month", "step quarter", "record high", "record low")
        self.once = pieces.said(*at_once) or any(window.once for window in windows)
        self.always = pieces.said("always") or any(window.always for window in windows)
        counted = kind == "count"
        self.growth = (
            ""
            if counted and "annualised" in pieces
            else next((name for word, name in _GROWTH.items() if word in pieces), "")
        )
        self.amounts = self._levels()
        self.base = Relation(name="", now="now" in pieces, never=self.never, once=self.once, way=self.way, closing="end" in pieces, growth=self.growth)  # fmt: skip

    def _comparison(self) -> tuple[Piece | None, str]:
        """The words of a comparison; "or more" after a number turns "above" into "at least"."""
        suffix = self.pieces.first("or more", "or less")
        suffix = suffix or next(
            (Piece("or more", 0, 0) for piece in self.pieces.all if piece.kind == "A" and piece.value.plus),
            None,
        )
        found = next((piece for kind in ("at least", "at most", "above", "over", "below") if (piece := self.pieces.first(kind))), None)  # fmt: skip
        if found is not None and found.kind == "at least" and (other := self.pieces.first("above", "over", "below")) and self._amount_after(other):  # fmt: skip
            found = other  # "at least once above 30"
        if suffix is not None:
            return found, "at_least" if suffix.kind == "or more" else "at_most"
        return found, _COMPARISONS[found.kind] if found else ""

    def _amount_after(self, piece: Piece) -> bool:
        after = self.pieces.next_to(piece, 1)
        return after is not None and after.kind == "A"

    def _levels(self) -> list[tuple[Piece, Amount]]:
        """The numbers that are levels: not where it stands now ("up from 4.4 %")."""
        found = [(piece, piece.value) for piece in self.pieces.all if piece.kind == "A"]
        if len(found) > 1 and "between" not in self.pieces:
            stands = [each for each in found if self.pieces.before(each[0], "from")]
            found = [each for each in found if each not in stands] or found
        return found

    @property
    def leaning(self) -> str:
        """The side that a comparison or a motion leans to."""
        return self.comparison or {"up": "above", "down": "below"}.get(self.way, "")

    def tell(self) -> Iterator[Relation]:
        pieces, base = self.pieces, self.base
        amount = self.amounts[0][1] if self.amounts else None
        size = replace(amount, value=abs(amount.value)) if amount else None
        if (count := pieces.first("count")) is not None:
            yield from self._counted(count.value, amount)
        elif (average := pieces.first("average")) is not None:
            if self.leaning and average.value and (amount is None or amount.unit == "%"):
                name = "cross" if "cross" in pieces or self.once else "average"
                yield replace(base, name=name, comparison=self.leaning, level=amount, lag=average.value)
        elif "stays" in pieces and pieces.said("or less", "or more"):
            yield replace(base, name="compare", comparison="at_most" if "or less" in pieces else "at_least")
        elif (digits := pieces.first("digits")) is not None and not self.amounts:
            size = Amount(value=100.0 if digits.value == "triple" else 10.0)
            if digits.value != "single" and self.kind == "price" and self.way:
                yield replace(base, name="change", comparison="at_least", level=replace(size, unit="%"))
            else:
                side = "below" if digits.value == "single" else "at_least"
                yield replace(
                    base,
                    name="touch" if self.once else "level",
                    comparison=side,
                    level=size,
                    way="up" if side == "at_least" else "down",
                )
        elif (
            self.series == 1
            and pieces.said("stays")
            and not self.amounts
            and (self.kind == "rate" or "hold" not in pieces)
            and not pieces.said("or", "apart")
        ):
            yield replace(base, name="unchanged", comparison="between")
        elif amount and pieces.said("either way", "move") and not self.verb_way:
            # "Less than 5 % either way" is that it does not move so far.
            small = self.comparison in ("below", "at_most")
            side = "above" if self.comparison in ("above", "at_most") else "at_least"
            yield replace(base, name="move", comparison=side, level=size, way="", never=self.never != small)
        elif amount and self._within_of_now():
            yield replace(base, name="move", comparison="above", level=size, way="", never=not self.never)
        elif self.series == 2:
            yield from self._of_two(amount)
        elif ((record := pieces.first("record high", "record low")) or "weeks" in pieces) and not self._record_of():  # fmt: skip
            low = record.kind == "record low" if record else pieces.said("lowest")
            lag = pieces.first("weeks")
            yield replace(base, name="record", comparison="below" if low else "above", lag=lag.value if lag else None)  # fmt: skip
        elif pieces.said("from peak", "correction", "bear market", "from trough"):
            yield from self._off_the_peak(size)
        elif "volatility" in pieces and (self.kind != "index" or self.amounts):
            if amount and self.leaning:
                yield replace(base, name="volatility", comparison=self.leaning, level=size)
        elif len(self.amounts) > 1 and (between := self._between()) is not None:
            yield from self._ranged(*between)
        elif len(self.amounts) > 1 and "first" in pieces:
            yield from self._which_first()
        elif "mean" in pieces:
            for side in [self.leaning] if self.leaning else ["at_least", "at_most"]:
                if amount:
                    yield replace(base, name="mean", comparison=side, level=amount)
        elif (
            amount
            and pieces.said("step", "step week", "step month", "step quarter")
            and (self.way or amount.signed)
            and self._is_move(amount)
        ):
            step = next((name for name in ("week", "month", "quarter") if f"step {name}" in pieces), "")
            way: Way = self.way or ("down" if amount.value < 0 else "up")
            yield replace(base, name="step", comparison=self.comparison if self.comparison in ("at_least", "at_most", "above") else "at_least" if not self.comparison else "above", level=size, way=way, step=step)  # fmt: skip
        elif (times := self._multiple()) is not None:
            yield replace(base, name="change", comparison="above" if self.comparison == "above" else "at_least", level=Amount(value=abs(times), unit="%"), way="down" if times < 0 else "up")  # fmt: skip
        elif amount is None:
            yield from self._without_number()
        elif pieces.said("highest", "lowest") and not (pieces.said("step")):
            yield from self._extreme(amount)
        elif "handle" in pieces:
            yield from self._handles(amount)
        else:
            yield from self._at_or_by(*self.amounts[self._index_of_level()], size=size)

    def _record_of(self) -> bool:
        """Whether it is said what the record is ("its record of 5,048"): a level, whatever it was."""
        return any(
            amount.unit in ("", "money", "points", "%" if self.kind == "rate" else "") and (self.usual is None or amount.value >= self.usual[0])
            and self.pieces.before(piece, "of", "to", "reach", "cross", "record high", "record low", *_SIDES)
            for piece, amount in self.amounts
        )  # fmt: skip

    def _index_of_level(self) -> int:
        """Of several numbers the level is the one that a comparison or "to" stands before."""
        led = [
            i
            for i, (piece, _) in enumerate(self.amounts)
            if self.pieces.before(piece, "to", "reach", *_SIDES)
        ]
        return led[0] if led and len(self.amounts) > 1 else 0

    def _counted(self, count: Count, amount: Amount | None) -> Iterator[Relation]:
        leaning = self.comparison or {"up": "above", "down": "below"}.get(count.way or self.way, "")
        if not leaning:
            return
        if amount is None:
            leaning = "above" if leaning in ("above", "at_least") else "below"
            if count.way or self.way:
                leaning = {"up": "above", "down": "below"}[count.way or self.way]
        step = STEPS.get(count.step, count.step)
        yield replace(self.base, name="streak" if count.row else "count", comparison=leaning, level=amount, times=count.times, step=step, never=self.never and "hold" not in self.pieces)  # fmt: skip

    def _within_of_now(self) -> bool:
        inside = self.pieces.first("between", "within")
        if "within" in self.pieces:
            return True
        return len(self.amounts) == 1 and "now" in self.pieces and inside is not None and inside.value in ("within", "inside")  # fmt: skip

    def _of_two(self, amount: Amount | None) -> Iterator[Relation]:
        pieces, base = self.pieces, self.base
        beats, trails, apart = pieces.first("beats"), pieces.first("trails"), pieces.first("apart")
        if amount is None and (beats or trails):
            above = beats is not None and (trails is None or beats.start <= trails.start)
            yield replace(base, name="relative", comparison="above" if above else "below", level=None)
        elif amount is not None and (beats or trails) and amount.unit in ("%", "pp", "points"):
            yield replace(base, name="relative", comparison="above" if beats else "below", level=amount)  # fmt: skip
        elif amount is not None and self._by(amount) and self.way:
            yield replace(base, name="change", comparison="at_least", level=amount)
        elif amount is not None and (self.comparison or self.way):
            yield replace(base, name="level", comparison=self.comparison or {"up": "at_least", "down": "at_most"}[self.way], level=amount)  # fmt: skip
        elif apart and self.way:
            yield replace(base, name="compare", comparison="above" if self.way == "up" else "below")
        elif self.comparison and amount is None:
            yield replace(base, name="relative", comparison="above" if self.comparison in ("above", "at_least") else "below")  # fmt: skip
            yield replace(base, name="level", comparison=self.comparison, level=_ZERO)

    def _off_the_peak(self, size: Amount | None) -> Iterator[Relation]:
        standard = 20.0 if "bear market" in self.pieces else 10.0 if "correction" in self.pieces else None
        if size is None and standard is not None:
            size = Amount(value=standard, unit="%")
        if size is None or size.unit not in ("%", "points", "money", ""):
            return
        trough = "from trough" in self.pieces
        # "Drawdown no worse than 3 %": it never falls so far.
        small = self.comparison in ("at_most",) or (self.comparison == "below" and self.compared is not None and self.compared.value in ("less than", "smaller than"))  # fmt: skip
        yield replace(self.base, name="trough" if trough else "peak", comparison="above" if trough else "below", level=size, never=self.never != small)  # fmt: skip

    def _between(self) -> tuple[Amount, Amount] | None:
        """Two numbers that bound a range: "60 to 80", "above 60 but below 80"."""
        (first, low), (second, high) = self.amounts[:2]
        joined = self.pieces.all[self.pieces.all.index(first) + 1 : self.pieces.all.index(second)]
        kinds = [piece.kind for piece in joined if piece.kind not in ("filler",) or piece.value == "of"]
        inside = self.pieces.first("between")
        if (inside is not None and inside.value in ("within", "inside") and kinds == ["of"]) or kinds == [
            "now"
        ]:
            width = high.value * low.value / 100 if low.unit == "%" else low.value
            return replace(high, value=high.value - width), replace(high, value=high.value + width)
        opposed = {"above", "over", "at least"} & set(kinds) and self.pieces.before(first, "below", "at most")
        opposed = opposed or ({"below", "at most"} & set(kinds) and self.pieces.before(first, "above", "over", "at least"))  # fmt: skip
        if opposed and set(kinds) <= {"and", "or", "above", "over", "below", "at least", "at most", "not", "nor"} and ("and" in kinds or "not" in kinds or "nor" in kinds):  # fmt: skip
            return (low, high) if low.value <= high.value else (high, low)
        if [kind for kind in kinds if kind != "filler"] in ([], ["to"], ["and"], ["or"]) and (
            kinds != ["or"] or "between" in self.pieces
        ):
            if not kinds and second.start - first.end > 3:
                return None
            return (low, high) if low.value <= high.value else (high, low)
        return None

    def _ranged(self, low: Amount, high: Amount) -> Iterator[Relation]:
        if not low.unit and high.unit:
            low = replace(low, unit=high.unit)
        base = replace(self.base, comparison="between", level=low, upper=high)
        by_how_much = low.unit == "%" if self.kind == "price" else low.unit in ("bp", "pp", "points")
        by_how_much = by_how_much or (bool(self.way) and (high.unit == "points" or self.base.now))
        if by_how_much and self.way and not self.pieces.said("to at"):
            yield replace(base, name="change")
            return
        if self.comparison and self.compared is not None and self.compared.kind in ("above", "below", "over") and self._amount_after(self.compared) and not self.pieces.said("and", "not", "nor"):  # fmt: skip
            beyond = high if self.comparison in ("above", "at_least") else low
            yield replace(base, name="level", comparison=self.comparison, level=beyond, upper=None)
            yield replace(base, name="touch", comparison=self.comparison, level=beyond, upper=None)
            return
        held = self.pieces.said("hold") or self.always
        yield replace(base, name="stay" if held else "mean" if "mean" in self.pieces else "level", growth=self.growth)  # fmt: skip

    def _which_first(self) -> Iterator[Relation]:
        """Of two levels, or two moves, the one that comes first; of two moves one way the nearer does, and nobody asks."""
        (first, one), (second, other) = self.amounts[:2]
        base = replace(self.base, name="first", level=one, upper=other)
        if {one.unit, other.unit} != {"%"} or self.kind != "price":
            yield base
            return
        ways = [piece for piece in self.pieces.all if piece.kind in _MOTION]
        back = next((piece for piece in ways if first.end <= piece.start < second.start), None)
        down = one.value < 0 or self.way == "down"
        back_down = other.value < 0 or (back.kind in ("down", "lower") if back else not down)
        if down != back_down:
            yield replace(base, level=replace(one, value=abs(one.value) * (-1 if down else 1)), upper=replace(other, value=abs(other.value) * (-1 if back_down else 1)))  # fmt: skip

    def _multiple(self) -> float | None:
        if multiple := self.pieces.first("multiple"):
            return 100.0 * (float(multiple.value) - 1)
        if self.amounts:
            return None
        return next((times for word, times in (("double", 100.0), ("halve", -50.0), ("triple", 200.0), ("quadruple", 300.0)) if word in self.pieces), None)  # fmt: skip

    def _without_number(self) -> Iterator[Relation]:
        pieces, base = self.pieces, self.base
        signed = pieces.first("invert", "turn positive")
        if pieces.said("between", "hole") or any(
            piece.kind == "to" and self._hole(piece) for piece in pieces.all
        ):
            return
        said = self.moved.value if self.moved else ""
        if said.startswith(("accelerat", "decelerat", "quicken", "slow")) or (self.never and said.endswith(("day", "week", "month", "quarter", "year"))):  # fmt: skip
            return  # of a pace it is not said against what, and "no down month" is no month
        if self.kind != "price" and self.kind != "rate" and self.moved and self.moved.value.startswith(("contract", "shrink", "shrank")):  # fmt: skip
            yield replace(base, name="level", comparison="below", level=_ZERO, way="", growth=self.growth)
            return
        levelled = self.kind != "price" or bool(self.growth)
        sign = self.pieces.first("higher", "lower")
        if pieces.said("crash"):
            yield replace(base, name="drawdown", comparison="at_least", level=Amount(value=20.0, unit="%"), way="down")  # fmt: skip
        elif signed is not None and not levelled:
            yield replace(
                base,
                name="touch",
                comparison="below" if signed.kind == "invert" else "above",
                level=_ZERO,
                way="",
            )
            yield replace(base, name="compare", comparison="below" if signed.kind == "invert" else "above")
        elif self.series == 1 and signed is not None and levelled:
            side = "below" if signed.kind == "invert" else "above"
            held = "hold" in pieces or self.always
            inverts = signed.value.startswith(("invert", "un", "disinvert"))
            yield replace(base, name="stay" if held else "touch" if inverts or self.kind == "rate" else "level", comparison=side, level=_ZERO, way="")  # fmt: skip
        elif (
            sign is not None and sign.value in ("negative", "positive") and levelled and "verb" not in pieces
        ):
            side = "below" if sign.value == "negative" else "above"
            held = "hold" in pieces or self.always
            yield replace(base, name="stay" if held else "level", comparison=side, level=_ZERO, way="")
        elif self.growth and self.verb_way and self.kind != "rate":
            yield replace(base, name="level", comparison="above" if self.verb_way == "up" else "below", level=_ZERO, way="")  # fmt: skip
        elif pieces.said("highest", "lowest", "always") or self.always or pieces.said("hold"):
            return
        elif self.way:
            weak = self.comparison if self.comparison in ("at_least", "at_most") else ""
            negated = self.pieces.first("at least", "at most")
            side = "above" if self.way == "up" else "below"
            yield replace(base, name="compare", comparison=(weak if negated else "") or side)
        elif self.comparison and (self.base.now or "started" in pieces or any(piece.value.kind == "since" for piece in pieces.all if piece.kind == "W")):  # fmt: skip
            yield replace(base, name="compare", comparison=self.comparison, way="up" if self.comparison in ("above", "at_least") else "down")  # fmt: skip

    def _is_move(self, amount: Amount) -> bool:
        if "reach" in self.pieces or (amount.unit == "%" and self.kind == "rate" and self.comparison):
            return False
        if amount.unit not in ("%", "bp", "pp") and not self._of_size:
            return False
        return amount.unit in ("%", "bp", "pp", "points", "money") or (
            self.usual is not None and amount.value < self.usual[0] / 2
        )

    def _hole(self, piece: Piece) -> bool:
        """Whether it is not said where to ("rises to by December")."""
        after = self.pieces.next_to(piece, 1)
        return piece.value == "to" and self.pieces.before(piece, "up", "down", "higher", "lower") and (after is None or after.kind in ("W", "by"))  # fmt: skip

    def _extreme(self, amount: Amount) -> Iterator[Relation]:
        high = "highest" in self.pieces
        side = self.leaning or ("at_least" if "reach" in self.pieces else "")
        if side:
            yield replace(
                self.base, name="highest" if high else "lowest", comparison=side, level=amount, way=""
            )

    def _handles(self, amount: Amount) -> Iterator[Relation]:
        low, width = amount.value, 1.0
        if self.usual is not None:
            least = max(self.usual[0] if self.usual[0] > 1 else 0.0, 10.0 if self.usual == (1, 400) else 0.0)
            while 0 < low < least:
                low, width = low * 10, width * 10
        bottom, top = replace(amount, value=low, unit=""), replace(amount, value=low + width, unit="")
        touch = "touch" if self.once else "level"
        if self.pieces.said("or less") or (self.verb_way == "down" and not self.pieces.said("or more")):
            yield replace(self.base, name="touch" if self.verb_way else touch, comparison="below", level=top if self.pieces.said("or less") else bottom)  # fmt: skip
        elif self.pieces.said("or more"):
            yield replace(self.base, name=touch, comparison="at_least", level=bottom)
        else:
            yield replace(self.base, name="level", comparison="between", level=bottom, upper=top)
            yield replace(self.base, name="touch", comparison="below", level=top)
            yield replace(self.base, name="touch", comparison="at_least", level=bottom)

    @property
    def _of_size(self) -> bool:
        """Whether the words of the comparison may be said of a size ("more than"), and not only of a place ("under")."""
        return self.compared is None or self.compared.value in ("more than", "less than", "at least", "at most", "no more than", "up to", "no less than", "higher than", "lower than", "a minimum of", "at the very least", "over", "fewer than", "no fewer than")  # fmt: skip

    def _by(self, amount: Amount) -> bool:
        """Whether an amount is how far it moves, and not where to."""
        piece = next(piece for piece, value in self.amounts if value == amount)
        before = self.pieces.next_to(piece, -1)
        pointed = before
        while pointed is not None and pointed.kind in _SIDES | {"end"}:
            pointed = self.pieces.next_to(pointed, -1)
        if pointed is not None and pointed.kind == "to":
            return False
        after = self.pieces.next_to(piece, 1)
        measured = after is not None and (
            (after.kind in ("higher", "lower") and (amount.unit != "" or self.base.now))
            or (after.kind in ("above", "below", "over") and self.base.now)
        )
        if measured or (pointed is not None and pointed.kind == "by") or (amount.unit == "%" and self.kind == "price"):  # fmt: skip
            return True
        said = self.moved.value if self.moved else ""
        if amount.unit == "money":
            # "Drops more than $200" is by how much; "drops below $200" is to where.
            return self._of_size and (
                (self.compared is not None and self.compared.value != "over")
                or self.base.now
                or said.startswith(("up", "down", "gain", "los", "add", "tack", "shed", "higher", "lower"))
            )
        if (
            self.kind == "rate"
            and amount.unit == ""
            and amount.value in (25, 50, 75, 100)
            and not self.compared
        ):
            return True
        return self._of_size and amount.unit in ("%", "bp", "pp", "points")

    def _at_or_by(self, piece: Piece, amount: Amount, size: Amount | None) -> Iterator[Relation]:
        pieces, base = self.pieces, replace(self.base, level=amount)
        size = replace(amount, value=abs(amount.value))
        way: Way = self.way
        if not way and amount.signed and amount.unit in ("%", "bp", "pp", "points"):
            way = "up" if amount.value > 0 else "down"
            by = self.kind == "price" or amount.unit != "%"
        else:
            by = self._by(amount)
        edge = pieces.next_to(piece, 1)
        if not way and by and edge is not None and edge.kind in ("above", "below", "over") and (base.now or self._since_follows(edge)):  # fmt: skip
            way = "down" if edge.kind == "below" else "up"
            least = (
                "at_least"
                if self.compared is edge or self.comparison in ("at_least", "")
                else self.comparison
            )
            yield replace(base, name="change", comparison=least, level=size, way=way, closing=True)
            return
        if amount.unit == "%" and not way and self.comparison and edge is not None and edge.kind == "now" and edge.value.startswith("of "):  # fmt: skip
            # "Less than half of today's price": it falls by more than half.
            yield replace(base, name="change", comparison=MIRRORED[self.comparison], level=replace(size, value=100 - size.value), way="down")  # fmt: skip
            return
        if by and way:
            side = self.comparison if self.comparison in ("at_least", "at_most", "below") else "above" if self.comparison else "at_least"  # fmt: skip
            yield replace(base, name="change", comparison=side, level=size, way=way)
            return
        if by and not way and not self.comparison and not pieces.said("reach", "cross", "hold"):
            for each in ("up", "down"):
                yield replace(base, name="change", comparison="at_least", level=size, way=each)
            return
        if pieces.said("hold") or self.always:
            held = self.comparison or ("at_most" if way == "down" else "at_least")
            if self.never:  # what does not stay above a level is below it at some time
                yield replace(base, name="touch", comparison=OPPOSITE[held], never=False)
            else:
                yield replace(base, name="stay", comparison=held)
            return
        side = self.comparison or {"up": "at_least", "down": "at_most"}.get(way, "")
        if self.once and self.compared is not None and self.compared.kind in ("at least", "at most") and self.compared.value.startswith(("no ", "not ")):  # fmt: skip
            yield replace(base, name="stay", comparison=self.comparison)
        elif pieces.said("reach", "cross", "first") or self.once:
            yield replace(base, name="touch", comparison=side or "toward")
        elif not side:
            # "3000 by year end", "at 80": whether it closes there, or beyond, or only touches it, is not said.
            yield replace(base, name="bare", comparison="toward")
        else:
            yield replace(base, name="level", comparison=side)

    def _since_follows(self, edge: Piece) -> bool:
        after = self.pieces.next_to(edge, 1)
        return after is not None and after.kind == "W" and after.value.kind == "since"
