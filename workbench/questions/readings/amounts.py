"""Numbers with their units, as people write them: ``$80``, ``80k``, ``5 1/4``, ``2,5%``, ``120bp``, ``ten percent``."""

import re
from dataclasses import dataclass
from functools import partial
from typing import Literal

from workbench.questions.readings.tokens import Text

Unit = Literal["", "%", "points", "bp", "pp", "money"]
_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL = {word: value for value, word in enumerate(_UNITS.split())} | {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)} | {"parity": 1, "dozen": 12}  # fmt: skip
_BIG = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SHORT = {"k": 1000, "m": 10**6, "mn": 10**6, "mln": 10**6, "bn": 10**9, "b": 10**9, "grand": 1000, "tn": 10**12, **_BIG}  # fmt: skip
_PARTS = {"half": 0.5, "third": 1 / 3, "two thirds": 2 / 3, "quarter": 0.25, "three quarters": 0.75, "fifth": 0.2, "tenth": 0.1}  # fmt: skip
_WORD = "|".join(sorted((*SMALL, *_BIG), key=len, reverse=True))
_NUMBER = r"\d+(?:\.\d+)?e[-+]?\d{1,3}(?!\d)|\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:[.,]\d+)?|\.\d+"
_AMOUNT = re.compile(
    rf"(?P<sign>(?<![\w%])[-+](?=[$€£\d.]))?(?P<money>us ?\$|\$|€|£|usd |eur )? ?"
    rf"(?:\b(?P<half>(?:a |one )?half|(?:a|one) third|two thirds|(?:a|one) quarter|three quarters|(?:a|one) fifth|(?:a|one) tenth|[a-z]+ tenths)(?: an?| of an?)?(?=(?: (?:percent(?:age)?|point|of (?:its|their|the|what)|from|or more|as much|its|their|dearer|cheaper|higher|lower|more|less|[A-Z]+))|$)|\b(?P<one>an?)(?= (?:percentage point|percent\b|basis point|cent\b|point\b|buck\b|full (?:point|percentage)))|(?<![\w.])(?P<number>{_NUMBER})(?!\d*(?:st|nd|rd|th)\b)(?: (?P<top>\d)/(?P<bottom>\d+)(?!\d))?|\b(?P<words>(?:a )?(?:{_WORD})(?:[- ](?:and )?(?:{_WORD}))*)\b)"
    r"(?P<rest> and (?:a half|(?:a|one) quarter|three[- ]quarters))?(?: ?(?P<short>k|grand|mn?|mln|bn|b|tn|thousand|million|billion|trillion)s?\b)?(?P<plus> ?\+(?!\d))?"
    r"(?: ?(?:-)?(?P<unit>%(?:-?points?)?|percent(?:age)?(?:[- ]points?)?|per cent|pct|pc\b|ppts?|pps?|bps?|basis[- ]points?|(?:index |vol |full )?points?|pts?|dollars?|bucks|usd|euros?|c(?:ents?)?|pips?|vols?|handles|[$€£])(?![\w]))?"
    r"(?: ?(?:[$]?/|an? |per )(?:lb|pound|barrel|bbl|ounce|oz|share|gallon|bushel|coin|ton(?:ne)?|mmbtu)\b)?"
)
#: "2.800", which is 2,800 in half of Europe.
THOUSANDS_DOT = re.compile(r"(?<![\d.,])[1-9]\d{0,2}\.\d{3}(?![\d.,])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number of a text: ``unit`` is empty where none was written; ``signed`` where a plus or minus was."""

    value: float
    unit: Unit = ""
    signed: bool = False
    #: "500+".
    plus: bool = False


def take_amounts(text: Text, *, decimal: bool = False) -> None:
    """Take the numbers of a text; ``decimal`` where every dot is one of decimals, also in "10.000".

    >>> from workbench.questions.readings.tokens import text_of
    >>> text = text_of("to 120bp or 5 1/4 or $1.5bn or 2,5% or twenty-five")
    >>> take_amounts(text)
    >>> [(each.value.value, each.value.unit) for each in text.in_order(two=False) if each.kind == "A"]
    [(120.0, 'bp'), (5.25, ''), (1500000000.0, 'money'), (2.5, '%'), (25.0, '')]
    """
    text.find(_AMOUNT, "A", partial(_amount, decimal=decimal))


def _amount(match: re.Match[str], *, decimal: bool) -> Amount | None:
    value = _value(match, decimal=decimal)
    if value is None:
        return None
    unit = (match["unit"] or "").replace("-", " ")
    value *= {"pip": 1e-4, "c": 0.01, "cent": 0.01}.get(unit.removesuffix("s"), 1)
    sign = match["sign"]
    return Amount(
        value=-value if sign == "-" else value,
        unit=_unit(unit, match),
        signed=bool(sign),
        plus=bool(match["plus"]),
    )


def _value(match: re.Match[str], *, decimal: bool) -> float | None:
    if match["half"]:
        return _part(match["half"], whole=not match["unit"])
    if match["one"]:
        return 1.0
    if match["words"]:
        # "one" alone is a pronoun as often as a number.
        if match["words"].removeprefix("a ") == "one" and not match["unit"]:
            return None
        value = number_in_words(match["words"].removeprefix("a "))
    else:
        value = _digits(match["number"], decimal=decimal)
        if match["top"]:
            value += int(match["top"]) / int(match["bottom"])
    if match["rest"]:
        value += 0.5 if "half" in match["rest"] else 0.75 if "three" in match["rest"] else 0.25
    return value * _SHORT.get(match["short"] or "", 1)


def _part(text: str, *, whole: bool) -> float | None:
    """A part in words; without a unit it is one of the whole, in percent."""
    tenths = SMALL.get(text.partition(" ")[0]) if text.endswith("tenths") else None
    part = _PARTS.get(text.removeprefix("a ").removeprefix("one ")) if tenths is None else tenths / 10
    return part if part is None or not whole else 100 * part


def _digits(text: str, *, decimal: bool) -> float:
    text = text.replace("'", "").replace(" ", "")
    if not decimal and re.fullmatch(
        r"\d{1,3}(?:\.000)+", text
    ):  # nobody writes three decimals to say that there are none
        text = text.replace(".", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", text):
        text = text.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d+,\d{1,2}|0,\d+", text):
        text = text.replace(",", ".")
    return float(text.replace(",", ""))


def number_in_words(text: str) -> float:
    """The number that words say."""
    total = part = 0
    for word in re.split(r"[- ]", text):
        if word in SMALL:
            part += SMALL[word]
        elif word == "hundred":
            part = (part or 1) * 100
        elif word in _BIG:
            total, part = total + (part or 1) * _BIG[word], 0
    return float(total + part)


def _unit(unit: str, match: re.Match[str]) -> Unit:
    if match["half"] and not unit:
        return "%"
    if unit.startswith(("bp", "basis")):
        return "bp"
    if unit.startswith(("pp", "percentage point", "percent point", "%point", "% point")):
        return "pp"
    if unit.startswith(("%", "per", "pct", "pc")):
        return "%"
    if unit.endswith(("point", "points", "pt", "pts", "handles", "pip", "pips")):
        return "points"
    return "money" if unit or match["money"] else ""
