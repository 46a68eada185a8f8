"""The words of claims as data: `lexicon.yaml` and its schema."""

import re
from functools import cache, cached_property
from importlib.resources import files

from pydantic import BaseModel, ConfigDict, Field

from proxies.yaml_text import parse_yaml


class Pair(BaseModel):
    """A quotation of two currencies."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    #: So much for a dollar; else so many dollars for one.
    per_dollar: bool = True
    #: What the dollar is said to be worth in.
    words: str = ""


class Lexicon(BaseModel):
    """What is known of words; the file says what each part is for."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    parts: dict[str, str]
    series: dict[str, dict[str, str | bool]]
    usual: dict[str, tuple[float, float]]
    names: list[dict[str, list[str]]]
    hints: list[dict[str, str]]
    places: list[dict[str, list[str]]]
    opposites: list[dict[str, list[str]]]
    pairs: dict[str, Pair]
    vague: str
    speaker: str
    moved_rates: str = Field(alias="moved rates")
    moves_of_rates: str = Field(alias="moves of rates")
    companies: dict[str, str]
    wordy: list[str]
    listed: dict[str, str]
    kinds: dict[str, str]
    uses: dict[str, str]
    marks: dict[str, list[dict[str, str]]]
    asides: list[str]
    shorthand: dict[str, str]
    spelled: str
    as_they_are: str = Field(alias="as they are")
    holidays: dict[str, str]

    @cached_property
    def phrases(self) -> dict[str, list[str]]:
        """Every phrase of words and its kinds, the usual one first."""
        known: dict[str, list[str]] = {}
        for kind, listed in self.kinds.items():
            for phrase in listed.split(","):
                for form in _forms(re.sub(r"(?<=.) the(?= )", "", " ".join(phrase.split()))):
                    known.setdefault(form, []).append(kind)
        return known

    @cached_property
    def longest(self) -> int:
        """Words of the longest phrase."""
        return max(phrase.count(" ") for phrase in self.phrases) + 1

    def pattern(self, text: str, **words: str) -> str:
        """Put the named parts into a pattern, and words for its other holes."""
        for name, part in {**self.parts, **words}.items():
            text = text.replace(f"{{{name}}}", part)
        return text


def _forms(phrase: str) -> list[str]:
    """All forms of a phrase whose verb is marked by ``*``."""
    verb, star, rest = phrase.partition("*")
    if not star:
        return [phrase] if phrase else []
    lead, _, word = verb.rpartition(" ")
    stem = word.removesuffix("e")
    forms = {word, word + "s", word + "ed", word + "ing", stem + "ed", stem + "ing", word + word[-1] + "ed", word + word[-1] + "ing"}  # fmt: skip
    if word.endswith(("s", "x", "z", "sh", "ch", "o")):
        forms.add(word + "es")
    if word.endswith("y") and word[-2] not in "aeiou":
        forms |= {word[:-1] + "ies", word[:-1] + "ied"}
    return [f"{lead} {form}{rest}".strip() for form in forms]


@cache
def lexicon() -> Lexicon:
    """Load the lexicon once."""
    text = (files(__package__ or "") / "lexicon.yaml").read_text(encoding="utf-8")
    return Lexicon.model_validate(parse_yaml(text, "lexicon.yaml"))


@cache
def words(listed: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(listed.split())


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of the lexicon that stands alone."""
    return re.compile(rf"(?<![\w.&])(?:{lexicon().pattern(pattern)})(?![\w&])")
