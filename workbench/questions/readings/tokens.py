"""A text in plain small letters, and the pieces that it is made of: series, days, amounts, and words of known kinds."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.questions.readings.lexicon import lexicon, words
from workbench.questions.series.series_reference import SeriesRef, replace_references

_WRITTEN = re.compile(r"<\d+>|\b[Bb]4\b|\b[Bb]/[Ww]\b|[A-Za-z]+(?:'[A-Za-z]+)?|\s+|.", re.DOTALL)
_SIGNS = {
    "’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u00a0": " ", "≥": ">=", "≤": "<=", "½": ".5", "¼": ".25", "¾": ".75", "％": "%", "…": ".",
}  # fmt: skip
_COUNTED = {word: number for number, word in enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen"], start=2)} | {"twenty": 20, "thirty": 30}  # fmt: skip
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
#: What parts the words of a phrase.
_APART = "ABCDEFGHIJKLMNOPQRSTUVWXYZ,;:()!?"
#: Kinds of words that compare two series.
_OF_TWO = ("beats", "trails", "apart")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text that was recognised: its kind, where it stands, and what it says."""

    kind: str
    start: int
    end: int
    value: Any = None


@dataclass(slots=True)
class Text:
    """What was typed, the same in plain letters, and what was recognised in it; a piece's letters are written over."""

    written: str
    plain: str
    #: For every letter of ``plain`` the part of ``written`` that it stands for.
    spans: list[tuple[int, int]]
    notes: list[str] = field(default_factory=list)
    refs: Sequence[SeriesRef] = ()
    #: ``plain`` with a capital for each letter of a piece.
    masked: str = ""
    pieces: list[Piece] = field(default_factory=list)

    def words(self, start: int, end: int) -> str:
        """Return what was typed for a part of the plain text."""
        if start >= end:
            return ""
        typed = self.written[self.spans[start][0] : self.spans[end - 1][1]].strip()
        return re.sub(r"<(\d+)>", lambda match: self.refs[int(match[1])].reference, typed)

    def take(self, start: int, end: int, kind: str, value: Any = None) -> None:
        """Write a part over, as a piece."""
        while start < end and self.masked[start] == " ":
            start += 1
        while end > start and self.masked[end - 1] == " ":
            end -= 1
        self.pieces = [each for each in self.pieces if not start <= each.start < end]
        self.pieces.append(Piece(kind, start, end, value))
        letter = kind[0] if kind[0].isupper() else "Z"
        self.masked = self.masked[:start] + letter * (end - start) + self.masked[end:]

    def at(self, place: int) -> Piece:
        """The piece that begins at a place."""
        return next(each for each in self.pieces if each.start == place)

    def find(
        self, pattern: "re.Pattern[str] | str", kind: str, value: Callable[[re.Match[str]], Any]
    ) -> None:
        """Take every match of a pattern that has a value, the last one first."""
        for match in reversed([*re.finditer(pattern, self.masked)]):
            if (found := value(match)) is not None:
                self.take(match.start(), match.end(), kind, found)

    def in_order(self, *, two: bool) -> list[Piece]:
        """All pieces as they stand, and the words of no kind between them, as pieces of the kind ``?``; of ``two`` series."""
        return sorted((*self.pieces, *self._phrases(two)), key=lambda piece: piece.start)

    def _phrases(self, two: bool) -> Iterator[Piece]:
        known = lexicon()

        def kind_of(said: str) -> str | None:
            kinds = known.phrases.get(said, [])
            fit = [kind for kind in kinds if (kind in _OF_TWO) is two] or [
                kind for kind in kinds if kind not in _OF_TWO
            ]
            return fit[0] if fit else None

        tokens = [
            *re.finditer(
                r"[a-z][a-z'.&/]*[a-z]|[a-z]|\d[\d.,]*|[<>]=?|=[<>]|[+=&]|[A-Z]+|[,;:()!?]", self.masked
            )
        ]
        place = 0
        while place < len(tokens):
            if tokens[place][0][0] in _APART:
                place += 1
                continue
            for length in range(min(known.longest, len(tokens) - place), 0, -1):
                part = tokens[place : place + length]
                # an article in a phrase changes nothing of it
                said = " ".join(
                    each[0] for i, each in enumerate(part) if not (i and length > 1 and each[0] == "the")
                )
                if (kind := kind_of(said)) is not None and (length == 1 or part[-1][0] != "the"):
                    yield Piece(kind, part[0].start(), part[-1].end(), said)
                    place += length
                    break
            else:
                bare = tokens[place][0].removesuffix("'s")
                yield Piece(kind_of(bare) or "?", tokens[place].start(), tokens[place].end(), bare)
                place += 1


def take_marks(text: Text, when: str, **words: str) -> None:
    """Take what the lexicon marks by a pattern; ``words`` are those that it has holes for."""
    for row in lexicon().marks[when]:
        for kind, pattern in row.items():
            text.find(lexicon().pattern(pattern, **words), kind, lambda match: match[0])


def text_of(written: str) -> Text:
    """Return a text in plain letters: spelled right, without its asides, references as ``<0>``.

    >>> text_of("the S&P closses higer on Friday").plain
    'the s&p closes higher on friday'
    """
    written, refs = replace_references(written)
    letters: list[str] = []
    spans: list[tuple[int, int]] = []
    notes = []
    short = lexicon().shorthand
    for piece in _WRITTEN.finditer("".join(_SIGNS.get(sign, sign)[:1] for sign in written)):
        source = written[piece.start() : piece.end()]
        word = _SIGNS.get(source, piece[0]) if len(source) == 1 else piece[0]
        if word.isspace() or (word == "-" and _joins(written, piece.start())):
            word = " " if letters and letters[-1] != " " else ""
        elif word[0].isalpha():
            word = word.lower()
            right = short.get(word) or spelled(word)
            if word in _COUNTED and re.match(
                r"[- ](?:year|yr|month|week|day|trading)", written[piece.end() :], re.I
            ):
                right = str(_COUNTED[word])
                short = {**short, word: right}
            if right != word and word not in short:
                notes.append(f"{source!r} is read as {right!r}")
            word = right
        letters += word
        spans += [(piece.start() + i, piece.start() + i + 1) if len(word) == len(source) else piece.span() for i in range(len(word))]  # fmt: skip
    text = Text(written, "".join(letters), spans, notes, refs)
    for pattern in lexicon().asides:
        for match in reversed([*re.finditer(lexicon().pattern(pattern), text.plain)]):
            said = text.words(*match.span()).strip(" ,;:.!?()")
            notes.append(f"{said!r} is an aside, and no part of the claim")
            _replace(text, match.start(), match.end(), " ")
    for match in reversed([*re.finditer(r"^ +|(?<= ) +|[ .?!]+$|\bwon't\b|\bcan't\b|n't\b", text.plain)]):
        _replace(
            text,
            match.start(),
            match.end(),
            {"won't": "will not", "can't": "can not", "n't": " not"}.get(match[0], ""),
        )
    text.masked = text.plain
    return text


def _joins(written: str, place: int) -> bool:
    before, after = written[place - 1 : place], written[place + 1 : place + 2]
    return before.isalnum() and after.isalnum() and not (before.isdigit() and after.isdigit())


def _replace(text: Text, start: int, end: int, to: str) -> None:
    whole = (text.spans[start][0], text.spans[end - 1][1])
    text.plain = text.plain[:start] + to + text.plain[end:]
    text.spans[start:end] = [whole] * len(to)


def spelled(word: str) -> str:
    """Return the one known word that a typed one is a single slip away from, else the word itself.

    >>> spelled("abvoe"), spelled("grains"), spelled("lower")
    ('above', 'grains', 'lower')
    """
    known = words(lexicon().spelled)
    if len(word) < 4 or word in known or "'" in word or word in words(lexicon().as_they_are):
        return word
    nearest = {each for each in _one_slip(word) & known if len(each) >= 5}
    if len(word) == 4:  # most words of four letters are words
        nearest &= {"above", "below", "under", "close"}
    # Another number or person of the same word is no slip, and neither is its own other form.
    if not word.startswith("clo") and any(each in (f"{word}s", f"{word}es") or (word[-1] == "s" and each == word[:-1]) for each in nearest):  # fmt: skip
        return word
    if re.sub("(?:ed|ing|er|ers|d|r|rs)$", "", word) in known:
        return word
    # A lost or doubled letter, or two that changed places, is what hands do; a wrong one is hit beside the right one.
    nearest = {each for each in nearest if len(each) != len(word) or sorted(each) == sorted(word) or _one_key_away(word, each)}  # fmt: skip
    if len(nearest) > 1:
        nearest = {each for each in nearest if len(each) != len(word) or sorted(each) == sorted(word)}
    return nearest.pop() if len(nearest) == 1 else word


def _one_key_away(word: str, right: str) -> bool:
    pair = next((typed, meant) for typed, meant in zip(word, right, strict=True) if typed != meant)
    places = [(row, line.index(each)) for each in pair for row, line in enumerate(_ROWS) if each in line]
    return len(places) == 2 and all(abs(a - b) <= 1 for a, b in zip(*places, strict=True))


def _one_slip(word: str) -> set[str]:
    parts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    return {
        *(a + b[1:] for a, b in parts if b),
        *(a + b[1] + b[0] + b[2:] for a, b in parts if len(b) > 1),
        *(a + c + b[1:] for a, b in parts if b for c in _LETTERS),
        *(a + c + b for a, b in parts for c in _LETTERS),
    }
