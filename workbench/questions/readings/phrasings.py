"""Other ways of saying what the reader knows, put into its own words; and asides, which change nothing of a claim and are named.

Every rule is about one way of speaking, and not about one claim. Words that could make another claim ("if", "unless", a second
quantity) are never touched here.
"""

import re
from dataclasses import replace
from datetime import date
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files

from proxies.yaml_text import parse_yaml
from workbench.questions.readings.plain_text import PlainText, with_parts

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_BANK = re.compile(r"\b(?:fed|fomc|federal reserve|committee|funds rate|policy rate)\b")


@cache
def _rules() -> tuple[list[tuple[re.Pattern[str], str]], list[re.Pattern[str]]]:
    """Return what is written in other words, and the asides."""
    text = (files("workbench.questions.readings") / "phrasings.yaml").read_text(encoding="utf-8")
    table = parse_yaml(text, "phrasings.yaml")

    same = [
        (re.compile(with_parts(pattern, table["parts"])), to)
        for row in table["same"]
        for pattern, to in row.items()
    ]
    return same, [re.compile(with_parts(pattern, table["parts"])) for pattern in table["asides"]]


def rephrased(text: PlainText, today: date) -> PlainText:
    """Return a text in the words that the reader knows, without its asides, which it then names.

    >>> from workbench.questions.readings.plain_text import plain_text
    >>> rephrased(plain_text("WTI below 60 this side of xmas, we think"), date(2018, 6, 30)).plain
    'wti below 60 before xmas'
    """
    asides: list[str] = []
    same, dropped = _rules()
    for pattern in dropped:
        for match in reversed([*pattern.finditer(text.plain)]):
            asides.append(text.words(*match.span()).strip(" ,;:.!?()"))
            text = _put(text, match.span(), " ")
    for compiled, to in same:
        for match in reversed([*compiled.finditer(text.plain)]):
            text = _put(text, match.span(), match.expand(to))
    for rule, said in (*_of_the_moment(text.plain, today), (r"^ +| +(?= |$)", "")):
        for match in reversed([*re.finditer(rule, text.plain)]):
            text = _put(text, match.span(), said)
    return replace(text, asides=tuple(reversed(asides)))


def _of_the_moment(plain: str, today: date) -> tuple[tuple[str, str], ...]:
    last_close = _WEEKDAYS[min(today.weekday(), 4)]
    rules = [(rf"\b(?:last )?{last_close}'s (?:close|closing (?:level|price))\b", "today's close")]
    if _BANK.search(plain):
        rules.append((r"\bat the next (?:one|go)\b", "at the next meeting"))
        rules.append((r"\bthe committee\b", "the fed"))
        if "pause" in plain:  # the same, said again
            rules.append((r"(?:,| and) (?:to )?(?:keeps?|leave[s]?|holds?) (?:its|the) (?:policy )?(?:target|rate)s?(?: range)? (?:where it is|unchanged|steady)$", ""))  # fmt: skip
    if re.search(r"\b(?:curve|spread|2s ?/?10s)\b", plain):
        rules.append((r"(?<=stays )positive|(?<=remains )positive|(?<=stay )positive", "above zero"))
        rules.append((r"(?<=stays )(?:negative|inverted)|(?<=remains )(?:negative|inverted)|(?<=stay )(?:negative|inverted)", "below zero"))  # fmt: skip
    if re.search(r"\b(?:hold|remain|stay|keep|hodl)", plain):
        rules.append((r"\b(?:in |on )?(?:every|each)(?: single)? (?:week|month|day|session|trading day)\b(?: of)?", "at all times"))  # fmt: skip
    return tuple(rules)


def _put(text: PlainText, span: tuple[int, int], to: str) -> PlainText:
    """Write other words at a place; each new letter stands for all that was typed there."""
    start, end = span
    whole = (text.spans[start][0], text.spans[end - 1][1])
    places = [whole] * len(to)
    if len(to) > 3:  # what stands in both keeps its own place
        for block in SequenceMatcher(None, text.plain[start:end], to, autojunk=False).get_matching_blocks():
            if block.size > 3:
                places[block.b : block.b + block.size] = text.spans[
                    start + block.a : start + block.a + block.size
                ]
    plain = text.plain[:start] + to + text.plain[end:]
    return replace(text, plain=plain, spans=(*text.spans[:start], *places, *text.spans[end:]))


__all__ = ["rephrased"]
