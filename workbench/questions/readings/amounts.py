"""Numbers with their units, as people write them: ``$80``, ``80k``, ``5 1/4``, ``2,5%``, ``120bp``, ``ten percent``."""

import re
from dataclasses import dataclass
from typing import Literal

Unit = Literal["", "%", "points", "bp", "pp", "money"]

_SMALL = {
    word: value
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
    )
} | {word: 10 * value for value, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2)}  # fmt: skip
_SMALL["parity"] = 1  # of two currencies
_BIG = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SHORT = {
    "k": 1000,
    "m": 10**6,
    "mn": 10**6,
    "mln": 10**6,
    "bn": 10**9,
    "b": 10**9,
    "grand": 1000,
    "tn": 10**12,
    **_BIG,
}

_WORD = "|".join(sorted((*_SMALL, *_BIG), key=len, reverse=True))
_NUMBER = r"\d+(?:\.\d+)?e[-+]?\d{1,3}(?!\d)|\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:[.,]\d+)?|\.\d+"
AMOUNT = re.compile(
    rf"(?P<sign>(?<![\w%])[-+](?=[$€£\d.]))?(?P<money>us ?\$|\$|€|£|usd |eur )? ?"
    rf"(?:\b(?P<half>(?:a |one )?half|(?:a|one) third|two thirds|(?:a|one) quarter|three quarters|(?:a|one) fifth|(?:a|one) tenth|[a-z]+ tenths)(?: an?| of an?)?(?=(?: (?:percent(?:age)?|point|of its|of their|from|or more|R|W))|$)|(?<![\w.])(?P<number>{_NUMBER})(?!\d*(?:st|nd|rd|th)\b)(?: (?P<top>\d)/(?P<bottom>\d+)(?!\d))?|\b(?P<words>(?:{_WORD})(?:[- ](?:and )?(?:{_WORD}))*)\b)"
    r"(?P<rest> and (?:a half|(?:a|one) quarter|three[- ]quarters))?(?: ?(?P<short>k|grand|mn?|mln|bn|b|tn|thousand|million|billion|trillion)s?\b)?"
    r"(?: ?(?:-)?(?P<unit>%(?:-?points?)?|percent(?:age)?(?:[- ]points?)?|per cent|pct|ppts?|pps?|bps?|basis[- ]points?|(?:index |vol )?points?|pts?|handles|dollars?|bucks|usd|euros?|c(?:ents?)?|pips?|vols?|[$€£])(?![\w]))?"
    r"(?: ?(?:[$]?/|an? |per )(?:lb|pound|barrel|bbl|ounce|oz|share|gallon|bushel|coin|ton(?:ne)?|mmbtu)\b)?"
)
_PARTS = {
    "half": 0.5,
    "third": 1 / 3,
    "two thirds": 2 / 3,
    "quarter": 0.25,
    "three quarters": 0.75,
    "fifth": 0.2,
    "tenth": 0.1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number of a text: ``unit`` is empty where none was written; ``signed`` where a plus or minus was."""

    value: float
    unit: Unit
    span: tuple[int, int] = (0, 0)
    signed: bool = False


def amounts(plain: str) -> tuple[str, tuple[Amount, ...]]:
    """Return the text with its numbers written over by ``A``, and the numbers.

    >>> [(each.value, each.unit) for each in amounts("to 120bp or 5 1/4 or $1.5bn or 2,5% or twenty-five")[1]]
    [(120.0, 'bp'), (5.25, ''), (1500000000.0, 'money'), (2.5, '%'), (25.0, '')]
    """
    matched: list[Amount] = []

    def take(match: re.Match[str]) -> str:
        text = match[0]
        lead = len(text) - len(text.lstrip())
        span = (match.start() + lead, match.end())
        value = _value_of(match)
        if value is None:
            return text
        negative = (match["sign"] or "") == "-"
        matched.append(
            Amount(
                value=-value if negative else value,
                unit=_unit_of_amount(match),
                span=span,
                signed=bool(match["sign"]),
            )
        )
        return text[:lead] + "A" * (span[1] - span[0])

    return AMOUNT.sub(take, plain), tuple(matched)


def _value_of(match: re.Match[str]) -> float | None:
    if match["half"]:
        return _part_of_one(match["half"], whole=not match["unit"])
    if match["words"]:
        value = _from_words(match["words"])
        # "one" alone is a pronoun as often as a number.
        if match["words"] in ("one", "zero") and not (match["unit"] or match["words"] == "zero"):
            return None
    else:
        value = _from_digits(match["number"])
        if match["top"]:
            value += int(match["top"]) / int(match["bottom"])
    if match["rest"]:
        value += 0.5 if "half" in match["rest"] else 0.75 if "three" in match["rest"] else 0.25
    if (match["unit"] or "").startswith("pip"):
        value /= 10_000
    if (match["unit"] or "") in ("c", "cent", "cents"):
        value /= 100
    return value * _SHORT.get(match["short"] or "", 1)


def _part_of_one(text: str, *, whole: bool) -> float | None:
    """A part in words; without a unit it is one of the whole, in percent."""
    tenths = _SMALL.get(text.partition(" ")[0]) if text.endswith("tenths") else None
    part = _PARTS.get(text.removeprefix("a ").removeprefix("one ")) if tenths is None else tenths / 10
    return part if part is None or not whole else 100 * part


def _from_digits(text: str) -> float:
    text = text.replace("'", "").replace(" ", "")
    if re.fullmatch(r"\d{1,3}(?:\.000)+", text):  # nobody writes three decimals to say that there are none
        text = text.replace(".", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", text):
        text = text.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d+,\d{1,2}|0,\d+", text):
        text = text.replace(",", ".")
    return float(text.replace(",", ""))


def _from_words(text: str) -> float:
    total = part = 0
    for word in re.split(r"[- ]", text):
        if word in _SMALL:
            part += _SMALL[word]
        elif word == "hundred":
            part = (part or 1) * 100
        elif word in _BIG:
            total, part = total + (part or 1) * _BIG[word], 0
    return float(total + part)


def _unit_of_amount(match: re.Match[str]) -> Unit:
    unit = (match["unit"] or "").replace("-", " ")
    if match["half"] and not unit:
        return "%"
    if unit.startswith(("bp", "basis")):
        return "bp"
    if unit.startswith(("pp", "percentage point", "percent point", "%point", "% point")):
        return "pp"
    if unit.startswith(("%", "per", "pct")):
        return "%"
    if unit.endswith(("point", "points", "pt", "pts", "handles", "pip", "pips")):
        return "points"
    return "money" if unit or match["money"] else ""
