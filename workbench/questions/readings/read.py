"""``read``: what a claim as a person types it may say; every screen shows it before anything starts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice, product, takewhile

from workbench.formatting import day_words, number
from workbench.propositions.values import MAX_STATEMENT
from workbench.questions.canonical import canonical_claim
from workbench.questions.claims import REFERENCE, Claim
from workbench.questions.errors import ClaimRefused
from workbench.questions.readings.amounts import THOUSANDS_DOT, Amount, take_amounts
from workbench.questions.readings.calendar_days import after, period_of
from workbench.questions.readings.counts import UNITS, Count, take_counts
from workbench.questions.readings.days import (
    EVENTS,
    SPANS,
    WINDOWS,
    Calendar,
    Window,
    before,
    last_weekday,
    take_days,
    take_windows,
)
from workbench.questions.readings.lexicon import lexicon
from workbench.questions.readings.names import (
    SeriesName,
    joined_pair,
    named_otherwise,
    named_place,
    reachable,
    take_hint,
    take_series,
)
from workbench.questions.readings.placements import placed_claims
from workbench.questions.readings.relations import (
    QUARTER_POINT,
    Pieces,
    Relation,
    mirrored,
    relations,
    uncertain,
)
from workbench.questions.readings.slots import ClaimReading, Form, Readings, Slot, reading_of
from workbench.questions.readings.tokens import Piece, take_marks, text_of

#: Where series come from; a source that is added here is asked for names that a text may mean.
SOURCES = ("embedded",)
#: Readings that are offered at most.
MOST = 4
_PLURAL = re.compile("people|men|women|children|[a-z]{3,}(?<![suix'])s")
TWO_CLAIMS = "a claim has one level, or one range that it lies in; ask for what is above and what is below as two claims"


def read(text: str, cutoff: date, *, sources: Sequence[str] = SOURCES) -> Readings:
    """Return what a text is taken to say at a cutoff; nothing is asked of a model or of data.

    A text with one meaning has a ``best``; one with several has them as ``others`` and no best: it is asked, never guessed. Words that
    belong to no part are in ``leftover``, and then nothing is taken for read: a reading without them is offered where they cannot turn
    the claim into another one, and none where they can ("unless", "futures").

    >>> readings = read("WTI crude > 75 by October 2018", date(2018, 6, 30))
    >>> [each.statement for each in readings.others]
    ['WTI crude oil closes above 75 on 2018-10-31', 'WTI crude oil closes above 75 at least once through 2018-10-31']
    >>> read("WTI above 80", date(2018, 6, 30)).missing
    ('window',)
    """
    if len(text) > MAX_STATEMENT:
        note = f"the text has {len(text)} characters, at most {MAX_STATEMENT} are read: state one claim"
        missing: tuple[Slot, ...] = ("series", "relation", "level", "window")
        return Readings(text=text, missing=missing, notes=(note,), form=Form())
    if text.lower().startswith(REFERENCE.lower()):
        return _by_reference(text, read(text[len(REFERENCE) :], cutoff, sources=sources))
    first = _Draft(text, cutoff, sources, {})
    parted = re.search(r"\d,\d{1,2}(?!\d)", text) or (
        THOUSANDS_DOT.search(text) and "level" in first.unsettled
    )
    if not parted and (claim := _canonical(text)) is not None:
        best = reading_of(claim, first.matched, first.text.notes)
        return Readings(text=text, best=best, matched=best.read_from, notes=best.notes)
    ways = () if first.refusal else _choices(first.unsettled)
    rest = [_Draft(text, cutoff, sources, choice) for choice in ways]
    return _joined(text, first, [each.readings for each in (first, *rest)])


def _by_reference(text: str, readings: Readings) -> Readings:
    """The same event judged by its reference class alone."""
    best = readings.best
    if best is None or best.claim is None:
        return replace(readings, text=text)
    says = replace(best.claim, reference=True, notes=())
    return replace(readings, text=text, best=reading_of(says, readings.matched))


def only_reading(text: str, today: date) -> ClaimReading | None:
    """Return the one reading of a text; None where it has several, or a hole."""
    draft = _Draft(text, today, SOURCES, {})
    return None if draft.unsettled else _joined(text, draft, [draft.readings]).best


def _canonical(text: str) -> Claim | None:
    try:
        return canonical_claim(text)
    except ClaimRefused:
        return None


def _choices(unsettled: Mapping[str, int]) -> Iterable[dict[str, int]]:
    """Every way to settle what the words left open, but the first."""
    ways = product(*(range(count) for count in unsettled.values()))
    return islice((dict(zip(unsettled, way, strict=True)) for way in ways if any(way)), 5)


def _joined(text: str, first: "_Draft", rows: Sequence[Sequence[ClaimReading]]) -> Readings:
    # Each way's own first reading before the second of any.
    longest = max(map(len, rows), default=0)
    readings = {each.statement: each for i in range(longest) for row in rows for each in row[i : i + 1]}
    offered = tuple(islice(readings.values(), MOST))
    single = len(offered) == 1 and not first.missing and not {"name", "level", "words"} & {*first.unsettled}
    return Readings(
        text=text,
        best=offered[0] if single else None,
        others=() if single else offered,
        missing=tuple(first.missing),
        leftover=tuple(first.leftover),
        matched=first.matched,
        notes=offered[0].notes if single else tuple(first.notes),
        refusal=first.refusal,
        form=None if offered else first.form(),
    )


_NO_RELATION = ("S", "A", "W", "D", "P", "?", "filler", "turn", "beside", "of", "by", "impossible")
_COMPARED = ("above", "over", "below", "at least", "at most", "between", "and")
#: Slots, and whether a piece of a kind fills one.
_SLOTS: Mapping[str, Callable[[str], bool]] = {
    "series": lambda kind: kind == "S",
    "relation": lambda kind: kind not in _NO_RELATION,
    "level": lambda kind: kind == "A",
    "window": lambda kind: kind == "W",
}


@dataclass
class _Draft:
    """One pass over a text, each of its open choices taken as ``choices`` say; ``unsettled`` are those that came up, with their ways."""

    written: str
    today: date
    sources: Sequence[str]
    choices: Mapping[str, int]
    unsettled: dict[str, int] = field(default_factory=dict)
    missing: list[Slot] = field(default_factory=list)
    leftover: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    matched: dict[str, str] = field(default_factory=dict)
    names: list[SeriesName] = field(default_factory=list)
    readings: tuple[ClaimReading, ...] = ()
    #: Why what is named is not what is asked about; then nothing is offered.
    refusal: str = ""

    def __post_init__(self) -> None:
        self.text = text_of(self.written)
        self.notes += self.text.notes
        inverse = self._take_slots()
        self.pieces = pieces = self._pieces()
        known, says_much = bool(self.names), pieces.said("A", "mean", "record high", "record low")
        if not self.names and says_much and any(_SLOTS["relation"](piece.kind) for piece in pieces.all):
            name = named_otherwise(self.text)
            if name is not None:
                self.names, self.unsettled["name"] = [name], 1
                self.notes.append(f"no series is known as {name.article!r}; it is taken as a name")
                self.pieces = pieces = self._pieces()
        main, base = self._windows()
        stated = self._relations(inverse)
        self._match()
        if main is None and not pieces.said("W") and re.search(r"\bnext (?=S)", self.text.masked) and self.names and self.names[0].monthly:  # fmt: skip
            main = Window(kind="next_release", end=period_of(self.today, "month").last)
        placeless = pieces.said("hole", "between", "to") and not pieces.said("A", "turn")
        holes: dict[Slot, bool] = {
            "level": not stated and placeless,
            "series": not self.names,
            "relation": not stated,
            "window": main is None and base is None,
        }
        self.missing += [slot for slot, missing in holes.items() if missing]
        if known:
            self._refuse_another_question(stated)
        stated = [] if self.refusal else self._certain(stated)
        if self.names and not (inverse or self.leftover):
            stated = [self._as_change(each) for each in stated]
        if stated and self.names and (main is not None or base is None):
            try:
                self._place(stated, main, base)
            except ClaimRefused as error:  # levels that are no numbers, or no range
                self._rule_out("level", str(error))
        if not self.readings and not self.missing and not self.leftover:
            self.missing.append("relation")

    def _refuse_another_question(self, stated: Sequence[Relation]) -> None:
        """Rule out a series that is not the one meant, and a number that is none of its levels."""
        article, pieces = self.names[0].article, self.pieces
        levels = [level for each in stated for level in (each.level, each.upper) if level]
        instead = f"; ask about {article} alone, or name the series that is meant (own:NAME for your own)"
        unknown, beside = pieces.first("?"), None if "turn" in pieces else pieces.first("beside")
        place = named_place(self.text, self.names, hinted="name" in self.unsettled)
        if other := place or (self._words(beside) if beside else ""):
            self._rule_out(
                "series", f"the claim names {other!r}, and {article} measures something else{instead}"
            )
        elif counted := self._counted(levels):
            self._rule_out("level", f"{counted!r} is a count, not a level of {article}{instead}")
        elif unknown and not all(_usual(level, self.names) for level in levels):
            self._rule_out("level", f"{article} was never near this level, and {self._words(unknown)!r} is not understood{instead}")  # fmt: skip

    def _rule_out(self, slot: Slot, reason: str) -> None:
        self.refusal = reason
        self.missing = list(dict.fromkeys((*self.missing, slot)))
        if slot == "series":
            self.names = []
        else:
            self.pieces = Pieces([piece for piece in self.pieces.all if piece.kind != "A"])

    def _counted(self, levels: Sequence[Amount]) -> str:
        """A level and the noun that it counts: "5 million new subscribers"; "" where there is none."""
        for place, piece in enumerate(self.pieces.all):
            if piece.value in levels and not piece.value.unit and self.names[0].kind != "count":
                nouns = takewhile(lambda word: word.kind in ("?", "S"), self.pieces.all[place + 1 :])
                noun = next((word for word in nouns if _PLURAL.fullmatch(str(word.value))), piece)
                if not re.search("[,;:()]|^$", self.text.plain[piece.end : noun.start]):
                    return self.text.words(piece.start, noun.end)
        return ""

    def _pieces(self) -> Pieces:
        return Pieces(self.text.in_order(two=len(self.names) == 2))

    def form(self) -> Form:
        """The plainest claim, filled as far as this text got."""
        words = {"above": "above", "over": "above", "up": "above", "higher": "above", "at least": "at or above", "below": "below", "down": "below", "lower": "below", "at most": "at or below"}  # fmt: skip
        relation = next((words[piece.kind] for piece in self.pieces.all if piece.kind in words), None)
        level, window = self.pieces.first("A"), self.pieces.first("W")
        name = self.names[0] if self.names else None
        if level and name and level.value.unit == "%" and _in_whole(name):
            level = None
        return Form(
            series=(name.article if name.embedded or not name.source else name.source) if name else None,
            relation=relation and f"is {relation}",
            level=number(level.value.value) if level else None,
            day=window.value.end if window else None,
        )

    def _take_slots(self) -> bool:
        """Take series, counts, days and numbers; return whether the series rises where what is said of it falls."""
        text, today = self.text, self.today
        if speaker := re.match(lexicon().speaker, text.plain):
            self.unsettled["words"] = 1
            self.notes.append(f"ignored: {text.words(*speaker.span())!r}")
            text.take(0, speaker.end(), "filler")
        take_windows(text, EVENTS, today)
        take_series(text)
        if not any(piece.kind == "S" for piece in text.pieces) and (event := next((piece for piece in text.pieces if piece.kind == "W"), None)):  # fmt: skip
            # "Above 2 % on the next core CPI release": the release names the series.
            named = text_of(text.words(event.start, event.end))
            take_series(named)
            mentioned = [piece.value for piece in named.pieces if piece.kind == "S"]
        else:
            mentioned = None
        calendar = Calendar(today, self.choices)
        take_marks(text, "before counts")
        if re.search(lexicon().moved_rates, text.plain):
            times = {"once": 1, "one": 1, "twice": 2, "two": 2, "three": 3, "four": 4}
            text.find(
                lexicon().moves_of_rates,
                "moves",
                lambda match: times.get(match[1] or match[2]) or int(match[2]),
            )
        take_counts(text)
        take_windows(text, SPANS, today)
        take_marks(text, "before days", last=last_weekday(calendar))
        take_days(text, calendar)
        take_marks(text, "after days")
        take_windows(text, WINDOWS, today)
        self.unsettled |= dict.fromkeys(sorted(calendar.asked), 2)
        take_amounts(text)
        self.names = (
            [self._chosen(i, each) for i, each in enumerate(mentioned)] if mentioned else self._named()
        )
        stated = any(
            piece.kind == "A" or _SLOTS["relation"](piece.kind) for piece in text.in_order(two=False)
        )
        if not self.names and stated and (note := take_hint(text)):
            self.notes.append(note)
            self.names = [piece.value[0] for piece in text.pieces if piece.kind == "S"]
            self.unsettled["name"] = 1
            self.missing.append("series")
        self.names, inverse = joined_pair(text, self.names)
        if {each.ref for each in self.names} == {"embedded:WTI", "Brent crude oil"} and re.search(r"\b(?:spread|gap|differential|discount|premium)\b", text.plain):  # fmt: skip
            self.names.sort(key=lambda each: each.ref)  # quoted as Brent less WTI, however it is written
        return inverse

    def _named(self) -> list[SeriesName]:
        mentioned = sorted(
            (piece for piece in self.text.pieces if piece.kind == "S"), key=lambda each: each.start
        )
        if len(mentioned) > 2:  # "the Brent-WTI spread": the word is what the two are to each other
            for piece in mentioned:
                if self.text.plain[piece.start : piece.end].removeprefix("the ") == "spread":
                    self.text.take(piece.start, piece.end, "apart")
            mentioned = [piece for piece in mentioned if piece in self.text.pieces]
        single = {piece.value[0].ref for piece in mentioned if len(piece.value) == 1}
        names: list[SeriesName] = []
        for index, piece in enumerate(mentioned):
            if len(piece.value) > 1 and len({each.ref for each in piece.value} & single) == 1:
                continue  # "oil's slump goes on, and Brent ...": the word is the one that is named beside it
            name = self._chosen(index, piece.value, self.text.plain[piece.start : piece.end])
            if name not in names:
                names.append(name)
        if len(names) > 2:
            self.leftover += [each.article for each in names[2:]]
        return names

    def _chosen(self, index: int, named: Sequence[SeriesName], written: str = "") -> SeriesName:
        candidates = reachable(named, self.sources)
        name = candidates[0]
        if len(candidates) > 1:
            self.unsettled[f"series {index}"] = len(candidates)
            name = candidates[min(self.choices.get(f"series {index}", 0), len(candidates) - 1)]
        elif len(named) > 1:
            others = ", ".join(other.article for other in named if other != name)
            self.notes.append(f"{written!r} is read as {name.article}; {others} would have to be named")
        if ":" in name.source and name.article.upper() not in name.source.upper():
            # The reading says the series by its id, which tells most readers nothing.
            self.notes.append(f"{written!r} is read as {name.source}, {name.article}")
        return name

    def _windows(self) -> tuple[Window | None, Window | None]:
        """The window that is asked about, and the one that changes are measured from."""
        today = self.today
        days: list[Window] = [piece.value for piece in self.pieces.of("W")]
        count = self.pieces.first("count")
        if count is not None and count.value.of:
            days.append(_counted_days(count.value, today, monthly=bool(self.names) and self.names[0].monthly))
        if (length := self.pieces.first("length")) is not None:
            days = _volatile_days(days, length.value, today)
        main = [each for each in days if each.kind != "since"]
        base = next((each for each in days if each.kind == "since"), None)
        if base is not None and base.start is not None and not main:
            main, base = [replace(base, kind="on", start=base.end, end=base.start)], None
        if base is None and (base := self._month_before()) is not None:
            main = [each for each in main if each.start == base.end]
        ends = {each.end for each in main}
        if len(ends) > 1 and not (count is not None and count.value.of):
            main.sort(key=lambda each: each.kind == "during")
            self.leftover.append(" ... ".join(self._words(piece) for piece in self.pieces.of("W") if piece.value.end != main[0].end))  # fmt: skip
            self.unsettled["words"] = 1
        if main and base and base.end >= main[0].end:
            base = before(base, main[0].end)
        supposed = [note for each in days for note in each.notes]
        self.notes += supposed
        if supposed or re.search(r"\b(?:\d{2,}|[6-9]|six|seven|eight|nine|ten|fifteen|twenty|thirty|sixty) (?:trading |business )(?:days|sessions)\b", self.text.plain):  # fmt: skip
            self.unsettled["words"] = (
                1  # which day the middle of a month, a summer or sixty sessions end on is asked
            )
        return (main[0] if main else None), base

    def _month_before(self) -> Window | None:
        """What changes are measured from in "grow in October by 150,000 over September"; it ends where the other window starts."""
        windows = [piece for piece in self.pieces.of("W") if piece.value.kind == "during"]
        for piece in windows:
            if self.text.plain.startswith("over ", piece.start) and self.pieces.before(piece, "A"):
                for other in windows:
                    month = before(piece.value, other.value.end)
                    if month.end == other.value.start:
                        return replace(month, kind="since")
        return None

    def _relations(self, inverse: bool) -> list[Relation]:
        name = self.names[0] if self.names else SeriesName(ref="", article="")
        stated = relations(self.pieces, series=len(self.names), kind=name.kind, usual=name.usual)
        moves = self.pieces.first("moves")
        if moves and stated and stated[0].way and name.ref == "federal funds rate":
            self.notes.append("a move is read as a quarter of a percentage point")
            now = re.search("more|another|further|additional|again", self.text.plain[moves.start : moves.end]) is not None  # fmt: skip
            stated = [Relation(name="change", comparison="at_least", level=Amount(value=QUARTER_POINT * moves.value, unit="pp"), way=stated[0].way, now=now, never=stated[0].never)]  # fmt: skip
        if name.ref == "US recession indicator" and not stated and "not" not in self.pieces:
            stated = [Relation(name="touch", comparison="at_least", level=Amount(value=1))]
        if stated and stated[0].name == "compare" and any("inflation" in self._words(piece).lower() for piece in self.pieces.of("S")):  # fmt: skip
            self.notes.append("price levels are compared, and they rise even while inflation falls; to ask about inflation itself, say how high it is on a day")  # fmt: skip
            self.unsettled["words"] = 1
        opposites = (words for row in lexicon().opposites for words, refs in row.items() if name.ref in refs)
        if any(re.search(words, self.text.plain) for words in opposites):
            inverse = not inverse
        if not inverse:
            return stated
        strength = re.search(r"\b(?:(weak|soft)|strong|firm)er than\b", self.text.plain)
        return [
            mirrored(each, "" if strength is None else "down" if strength[1] else "up") for each in stated
        ]

    def _as_change(self, relation: Relation) -> Relation:
        """Read "above 3%" of what is no percentage as its change; any other relation is returned as it is."""
        name, level = self.names[0], relation.level
        of_value = relation.name in ("level", "touch") and level and level.unit == "%" and not relation.growth
        if not (of_value and _in_whole(name) and all(self.pieces.before(each, *_COMPARED) for each in self.pieces.of("A"))):  # fmt: skip
            return relation
        self.notes.append(f"a percentage is no level of {name.article}: it is read as a change")
        self.unsettled["words"] = 1
        return replace(relation, name="change", once=relation.once or relation.name == "touch")

    def _match(self) -> None:
        """Which words each slot was read from, and those that no slot took."""
        for slot, says in _SLOTS.items():
            spans: list[tuple[int, int]] = []
            for piece in (piece for piece in self.pieces.all if says(piece.kind)):
                if slot == "relation" and spans and piece.start == spans[-1][1] + 1:
                    spans[-1] = (spans[-1][0], piece.end)
                else:
                    spans.append((piece.start, piece.end))
            if spans:
                between = " ... " if slot == "relation" else ", "
                self.matched[slot] = between.join(self.text.words(*span) for span in spans)
        self.leftover += self._unplaced("?", "turn", "beside", "impossible", "out of")

    def _unplaced(self, *kinds: str) -> list[str]:
        """Words of no part, as they were typed; what a hyphen joins is one."""
        said: list[str] = []
        last = -2
        for piece in self.pieces.of(*kinds):
            if piece.start == last + 1 and self._hyphen_at(last):
                said[-1] = f"{said[-1]}-{self._words(piece)}"
            else:
                said.append(self._words(piece))
            last = piece.end
        return said

    def _words(self, piece: Piece) -> str:
        return self.text.words(piece.start, piece.end)

    def _hyphen_at(self, place: int) -> bool:
        return self.text.written[self.text.spans[place][0]] == "-"

    def _certain(self, stated: list[Relation]) -> list[Relation]:
        """What is still stated beside words of no part; where it is not all, it is asked."""
        pieces, levels, unknown = self.pieces, self.pieces.of("A"), self._unplaced("?")
        relation = stated[0] if stated else Relation(name="")
        between = relation.comparison == "between"
        joined = pieces.said("and", "or") and not between and relation.name not in _OF_TWO
        if (
            not stated
            or pieces.said("turn", "beside", "impossible")
            or (pieces.said("out of", "leave") and len(levels) > 1)
            or (pieces.said("nor") and not between)
            or (joined and _two_predicates(pieces))
        ):
            if len(levels) > 1 or (not stated and pieces.said("out of")):
                self.notes.append(TWO_CLAIMS)
            return []
        # "52-week": a number of something that was not understood is no level
        ends = {piece.end for piece in levels}
        measures = any(
            piece.start - 1 in ends and self._hyphen_at(piece.start - 1) for piece in pieces.of("?")
        )
        much = len(unknown) > 3 or len(self.names) > 2 or (unknown and "window" in self.missing)
        if measures or much:
            return []
        if unknown:
            self.notes.append(f"ignored: {', '.join(map(repr, unknown))}")
        used = [abs(each.value) for each in (relation.level, relation.upper) if each]
        spare = any(abs(piece.value.value) not in used for piece in levels)
        if relation.name in ("level", "touch") and len(levels) <= max(1, len(used)):
            spare = False
        negated_twice = len(pieces.of("not")) > 1 or (pieces.said("leave") and levels)
        if unknown or spare or negated_twice or len(stated) > 1 or joined or uncertain(relation, pieces):  # fmt: skip
            self.unsettled["words"] = 1
        return stated

    def _place(self, stated: Sequence[Relation], main: Window | None, base: Window | None) -> None:
        names, today = tuple(self.names[:2]), self.today
        of_levels = [each for each in stated if each.name not in ("volatility", "change", "step")]
        if "name" not in self.unsettled and not all(
            _usual(level, names) for each in of_levels for level in (each.level, each.upper)
        ):
            self.notes.append("the level is far from any that the series has had")
            self.unsettled["level"] = 1
            if dotted := THOUSANDS_DOT.search(self.text.plain):
                self.notes.append(
                    f"write {dotted[0].replace('.', '')} for {dotted[0]} where thousands are meant"
                )
        windows = [main] if main else []
        if main is None:
            end = period_of(today, "year").last
            windows = [Window(kind="on", end=end, supposed=True), Window(kind="by", end=end, supposed=True)]
            self.notes.append(f"no date given: year-end ({day_words(end)}) assumed")
        readings, backwards = [], False
        for window in windows:
            for relation in stated:
                if window.supposed and window.kind == "on" and relation.name in ("count", "streak", "first"):
                    continue  # "three in a row" is never on one day
                for claim in placed_claims(relation, window, base, names, today):
                    if claim.start and claim.start >= claim.end:
                        backwards = True
                        continue
                    says, notes = replace(claim, notes=()), (*self.notes, *claim.notes)
                    readings.append(reading_of(says, self.matched, notes, monthly=names[0].monthly))
        if backwards and not readings:
            self.notes.append("its window ends before it starts")
            self.missing.append("window")
        self.readings = tuple({each.statement: each for each in readings}.values())


def _two_predicates(pieces: Pieces) -> bool:
    """Whether words on both sides of "and" say something of a series: two claims."""
    says = [piece.kind in _SAYS for piece in pieces.all]
    joints = [place for place, piece in enumerate(pieces.all) if piece.kind in ("and", "or")]
    return any(any(says[:place]) and any(says[place:]) for place in joints)


_SAYS = (
    "A",
    "up",
    "down",
    "higher",
    "lower",
    "above",
    "below",
    "at least",
    "at most",
    "reach",
    "cross",
    "hold",
    "end",
    "volatility",
)
#: Relations that have two parts.
_OF_TWO = ("first", "relative", "move", "unchanged")


def _counted_days(count: Count, today: date, *, monthly: bool) -> Window:
    unit, of = UNITS.get(count.step, count.step), count.of or 1
    if unit in ("week", "month") and not monthly:
        return Window(kind="during", end=period_of(date.fromordinal(today.toordinal() - 1), unit, of).last)
    return Window(kind="during", end=after(today, of, unit))


def _volatile_days(days: list[Window], length: tuple[int, str], today: date) -> list[Window]:
    """The last part of a window, of "20-day volatility at year end"; from today where there is none."""
    if not any(each.kind != "since" for each in days):
        return [*days, Window(kind="during", end=after(today, *length))]
    span = length[0] * {"trading day": 7 / 5, "week": 7, "month": 30.5, "year": 365.25}[length[1]]

    def cut(window: Window) -> Window:
        start = date.fromordinal(window.end.toordinal() - round(span))
        return replace(window, kind="during", start=start) if window.kind in ("on", "by") and start > today else window  # fmt: skip

    return [cut(each) for each in days]


def _in_whole(name: SeriesName) -> bool:
    """Whether a percentage is no value of a series, but a change."""
    return bool(name.source) and name.kind in ("price", "count") and not name.growth


def _usual(amount: Amount | None, names: Sequence[SeriesName]) -> bool:
    if amount is None or amount.unit in ("%", "bp", "pp", "points") or not amount.value or len(names) > 1:
        return True
    in_basis_points = names[0].kind == "rate" and amount.value >= 25
    return names[0].has_had(amount.value / 100 if in_basis_points else amount.value)
