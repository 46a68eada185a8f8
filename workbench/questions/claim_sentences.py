"""The canonical sentence of each pattern of claims, one table for writing and reading: what is written reads back into the same claim."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from workbench.questions.errors import ClaimRefused

if TYPE_CHECKING:
    from workbench.questions.claims import Claim

_UP, _DOWN = {"side": "above"}, {"side": "below"}
_NOT: Mapping[str, Any] = {"never": True}
_YES: Mapping[str, Any] = {"never": False}
_RISES, _FALLS = {"sign": 1, "side": "above"}, {"sign": -1, "side": "below"}

#: Words of a slot, and the fields of the claim that each stands for; ``sign`` is the level's, ``wide`` the series' manner of speaking.
WORDS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "side": {
        "above": {**_UP, "strict": True},
        "below": {**_DOWN, "strict": True},
        "at or above": {**_UP, "strict": False},
        "at or below": {**_DOWN, "strict": False},
        "at least": {**_UP, "strict": False},
        "at most": {**_DOWN, "strict": False},
    },
    "way": {"above": _UP, "below": _DOWN},
    "off": {"below": {**_DOWN, "sign": -1}, "above": {**_UP, "sign": 1}},
    "upward": {"higher": _UP, "lower": _DOWN},
    "record": {"high": _UP, "low": _DOWN},
    "higher": {
        f"{no}{word}": {**(_UP if up != bool(no) else _DOWN), "strict": not no, "wide": wide}
        for no in ("", "no ")
        for wide, word, up in (
            (False, "higher", True),
            (False, "lower", False),
            (True, "wider", True),
            (True, "narrower", False),
        )
    },
    # What rises at least 5 % does so at exactly 5 %; what does not stays below it.
    "rises": {
        "rises": {**_RISES, "strict": False},
        "falls": {**_FALLS, "strict": False},
        "does not rise": {**_RISES, **_DOWN, "strict": True},
        "does not fall": {**_FALLS, **_UP, "strict": True},
    },
    "goes": {
        "rises": {**_RISES, **_YES},
        "falls": {**_FALLS, **_YES},
        "does not rise": {**_RISES, **_NOT},
        "does not fall": {**_FALLS, **_NOT},
    },
    "closes": {
        "closes": _YES,
        "never closes": _NOT,
        "does not close": _NOT,
        "close": _YES,
        "is": _YES,
        "trades": _YES,
    },
    "touches": {"touches": _YES, "never touches": _NOT},
    "reaches": {"reaches": _YES, "does not reach": _NOT},
    "moves": {"moves": _YES, "does not move": _NOT},
    "more": {"more than": {"strict": True}, "at least": {"strict": False}},
    "beyond": {"above": {**_UP, "strict": True}, "at most": {**_DOWN, "strict": False}},
    "returns": {"falls": {"sign": 1}, "rises": {"sign": -1}},
    "outperforms": {
        "outperforms": _UP,
        "underperforms": _DOWN,
        "does not outperform": _DOWN,
        "does not underperform": _UP,
    },
    "statistic": {
        "average": {"pattern": "mean"},
        "highest value": {"pattern": "highest"},
        "lowest value": {"pattern": "lowest"},
    },
}


def number(value: float) -> str:
    """A number as short as it can be written without loss: ``20``, ``12.5``, ``1.05``."""
    return f"{value:.10g}"


def _level(claim: "Claim") -> str | None:
    return None if claim.level is None else number(claim.level)


def _size(claim: "Claim") -> str | None:
    return number(abs(claim.level)) if claim.level is not None else None


def _percent(claim: "Claim") -> str | None:
    return None if claim.level is None else f"{_size(claim)} %"


def _from(claim: "Claim", alone: str) -> str:
    return f"from {claim.start} to {claim.end}" if claim.start else f"{alone} {claim.end}"


def _unit(claim: "Claim") -> str:
    return claim.every or ("month" if claim.about.monthly else "day")


_SPAN = r"(?:from [DP](?P<start>\d+) to [DP](?P<end>\d+)|(?:by|through) [DP](?P<end2>\d+))"
#: What other slots write, None where the claim has no such thing, and how they are read, in the letters of `grammar`.
SLOTS: Mapping[str, tuple[Callable[["Claim"], str | None], str]] = {
    "verb": (lambda claim: f"{claim.verb} ", "(?:(?:closes?|ends?|finish(?:es)?|settles?|is|be|stands?|trades?|remains?|stays?) )?"),
    "level": (_level, r"[A%](?P<level>\d+)"),
    "upper": (lambda claim: number(claim.upper or 0.0), r"[A%](?P<upper>\d+)"),
    "percent": (_percent, r"%(?P<level>\d+)"),
    "further": (lambda claim: _percent(claim) if claim.level else None, r"%(?P<level>\d+)"),
    "back": (lambda claim: f"{number(abs(claim.upper or 0.0))} %", r"%(?P<upper>\d+)"),
    "points": (lambda claim: f"{_size(claim)} points", r"A(?P<level>\d+)(?: points)?"),
    "end": (lambda claim: f"{claim.end}", r"[DP](?P<end>\d+)"),
    "at": (lambda claim: "on ", "(?:on|in|at|as of) "),
    "until": (lambda claim: None, r"(?:(?P<before>before)|by|through|until|up to) [DP](?P<end>\d+)"),
    "since": (lambda claim: f"on {claim.start}" if claim.start else "the last value known", r"(?:on [DP](?P<start>\d+)|the last value known)"),
    "base": (lambda claim: f"{claim.start or 'last known'} close", r"(?:[DP](?P<start>\d+)|last known) close"),
    "by": (lambda claim: _from(claim, "by"), _SPAN),
    "through": (lambda claim: _from(claim, "through"), _SPAN),
    "least": (lambda claim: "at least ", "(?:by )?(?:at least |more than )?"),
    "once": (lambda claim: "" if claim.never else " at least once", "(?: at least once)?"),
    "other": (lambda claim: claim.against.article if claim.against else None, r"S(?P<other>\d+)"),
    "on": (lambda claim: "on" if _unit(claim) == "day" else "in", "(?:on|in)"),
    "times": (lambda claim: f"{claim.times}", r"A(?P<times>\d+)"),
    "step": (_unit, "(?P<every>day|week|month)"),
    "weeks": (lambda claim: f"{claim.times}-week " if claim.times > 1 else "", r"(?:A(?P<times>\d+)[- ]week )?"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceForm:
    """A sentence of a pattern; ``fixed`` are fields that it has whatever its words are."""

    pattern: str
    text: str
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def written(self, claim: "Claim") -> str | None:
        """The sentence of a claim without its series; None where a slot has nothing to write."""
        if self.fixed.get("side", claim.side) != claim.side:
            return None
        parts = {name: _written(name, claim) for name in self.slots}
        if any(part is None for part in parts.values()):
            return None
        return self.text.format_map(parts)

    @property
    def slots(self) -> list[str]:
        """The names of its slots."""
        return re.findall(r"\{(\w+)\}", self.text)

    @property
    def expression(self) -> re.Pattern[str]:
        """How it is read, in the letters of `grammar`."""
        subject = "" if "{series}" in self.text else r"{series} "
        text = re.sub(r"\{(\w+)\}", lambda match: _read(match[1]), subject + self.text)
        return re.compile(text.replace("200-day average", r"V\d+"))

    def fields(self, groups: Mapping[str, str], amounts: dict[str, Any]) -> dict[str, Any]:
        """The fields of a claim that a match stands for; ``amounts`` are those of its numbers. Raises ``ClaimRefused``: They are at odds."""
        found: dict[str, Any] = {"pattern": self.pattern, **self.fixed}
        said = [WORDS[slot][groups[slot]] for slot in WORDS.keys() & groups.keys()]
        if len({fields["sign"] for fields in said if "sign" in fields}) > 1:
            raise ClaimRefused("of two moves, of which one comes first, one rises and the other falls")
        for fields in said:
            found |= fields
        found.pop("wide", None)
        sign = found.pop("sign", 0)
        if sign and amounts.get("level") is not None:
            amounts["level"] *= sign
        if self.pattern == "range":
            amounts["level"], amounts["upper"] = sorted((amounts["level"], amounts["upper"]))
        if self.pattern == "first_move":
            amounts["upper"] *= -sign
        if self.pattern in ("first", "first_move"):
            found["side"] = "above" if amounts["level"] > amounts["upper"] else "below"
        return {**amounts, **found}


def _read(slot: str) -> str:
    if slot == "series":
        return r"S(?P<series>\d+)(?:'s)?"
    if slot in WORDS:
        return f"(?P<{slot}>{'|'.join(WORDS[slot])})"
    return SLOTS[slot][1]


def _written(slot: str, claim: "Claim") -> str | None:
    if slot == "series":
        return claim.about.article
    if slot not in WORDS:
        return SLOTS[slot][0](claim)
    level = claim.level or 0.0
    traits = {
        "sign": -1 if level < 0 or (level == 0 and claim.side == "below") else 1,
        "wide": claim.about.wide,
    }

    def holds(fields: Mapping[str, Any]) -> Iterator[bool]:
        for name, value in fields.items():
            yield traits.get(name, getattr(claim, name, None)) == value

    words = WORDS[slot]
    # A claim may be stricter than its sentence can say.
    exact = (word for word, fields in words.items() if all(holds(fields)))
    near = (
        word
        for word, fields in words.items()
        if all(holds({name: value for name, value in fields.items() if name != "strict"}))
    )
    return next(exact, None) or next(near, None)


_LOOSE = {"strict": False}
TEMPLATES = tuple(
    SentenceForm(pattern=pattern, text=text, fixed=fixed)
    for pattern, text, fixed in (
        ("compare", "{verb}{higher} on {end} than {since}", {}),
        ("level", "{verb}{side} {level} {at}{end}", {}),
        ("average", "closes at least {further} {way} its 200-day average on {end}", _LOOSE),
        ("average", "closes {way} its 200-day average on {end}", {}),
        ("range", "{verb}between {level} and {upper} on {end}", {**_UP, **_LOOSE}),
        ("change", "{rises} {least}{percent} {by}", {}),
        ("touch", "{touches} {level} {through}", {"side": "toward", **_LOOSE}),
        ("touch", "{closes} at or {way} {level}{once} {through}", _LOOSE),
        ("drawdown", "{closes} {percent} or more {off} its {base}{once} through {end}", _LOOSE),
        ("volatility", "the realised volatility of {series} {through} is {beyond} {percent}", {}),
        ("relative", "{outperforms} {other} {by}", {"strict": True}),
        ("mean", "has its {statistic} {side} {level} {through}", {}),
        ("count", "{verb}{side} {level} {on} at least {times} {step}s {through}", {}),
        ("count", "{verb}{upward} {on} at least {times} {step}s {through}", {}),
        ("points", "{rises} by at least {points} {by}", {}),
        ("move", "{moves} by {more} {percent} either way {by}", {}),
        ("step", "{goes} by {more} {percent} {on} at least one {step} {through}", {}),
        ("peak", "{closes} {percent} or more below its highest close of the window {through}", {**_DOWN, **_LOOSE, "sign": -1}),
        ("streak", "{verb}{upward} {on} at least {times} consecutive {step}s {through}", {}),
        ("record", "{closes} at a new {weeks}{record} at least once {through}", {}),
        ("first", "{reaches} {level} before {upper} {through}", _LOOSE),
        ("first_move", "{goes} {percent} before it {returns} {back} {through}", _LOOSE),
    )
)  # fmt: skip
#: As people and earlier versions wrote some of them; read and never written.
ALSO_READ = (
    SentenceForm(pattern="touch", text="{closes} {way} {level}{once} {until}", fixed=_LOOSE),
    SentenceForm(
        pattern="drawdown", text="{goes} {least}{percent} from its {base}{once} {until}", fixed=_LOOSE
    ),
)


@cache
def expressions() -> tuple[tuple[re.Pattern[str], SentenceForm], ...]:
    """Every template with the expression that reads it."""
    return tuple((template.expression, template) for template in (*TEMPLATES, *ALSO_READ))


def sentence(claim: "Claim") -> str:
    """The sentence of a claim, which begins with its series; raises ``ValueError`` where its pattern has none for its fields."""
    pattern = "mean" if claim.pattern in ("highest", "lowest") else claim.pattern
    for template in TEMPLATES:
        if template.pattern == pattern and (text := template.written(claim)) is not None:
            return text if "{series}" in template.text else f"{claim.about.article} {text}"
    raise ValueError(
        f"a claim of the pattern {claim.pattern!r} lacks a level, or has a side that it cannot have"
    )
