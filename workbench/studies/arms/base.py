"""What arms share. An arm has a name, a price, and ``draws``: whether trials and seeds differ.

Either it fills a whole table at once (``forecasts``: probabilities, ``nan`` where there is none, and why, by row),
or runs of the engine make its forecasts (``settings`` of a cell, equal for equal cells).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import UsageError


class ArmError(UsageError):
    """An arm that cannot be made as its settings say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPrice:
    """What forecasts of an arm are expected to take; ``usd`` is None where the price is unknown."""

    calls: float = 0.0
    tokens_in: float = 0.0
    usd: float | None = 0.0

    def __add__(self, other: "ArmPrice") -> "ArmPrice":
        usd = None if None in (self.usd, other.usd) else (self.usd or 0.0) + (other.usd or 0.0)
        return ArmPrice(calls=self.calls + other.calls, tokens_in=self.tokens_in + other.tokens_in, usd=usd)

    def __mul__(self, times: float) -> "ArmPrice":
        usd = None if self.usd is None else self.usd * times
        return ArmPrice(calls=self.calls * times, tokens_in=self.tokens_in * times, usd=usd)

    def words(self, model: str) -> str:
        """Calls, tokens and dollars as a line of a plan says them."""
        usd = "whose price is unknown" if self.usd is None else f"about ${self.usd:.2f}"
        return f"about {round(self.calls)} calls to {model}, {round(self.tokens_in):,} tokens sent, {usd}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmContext:
    """What a kind of arm may look at when it is made: the folder of the study's file, and how often it is asked of each event."""

    folder: Path
    samples: int = 1


def take(settings: Mapping[str, Any], known: Mapping[str, Any], *, arm: str) -> dict[str, Any]:
    """Settings with their defaults; raises `ArmError` for one that the kind does not have or that is of another sort.

    A default of None makes a setting necessary only if the kind says so; a default's type is the setting's.
    """
    unknown = [key for key in settings if key not in known]
    if unknown:
        listing = ", ".join(known) if known else "none"
        raise ArmError(f"arm {arm!r} has no setting {unknown[0]!r}; it has: {listing}")
    values = {**known, **settings}
    for key, default in known.items():
        value = values[key]
        if value is None:  # written without a value: as if it were left out
            values[key] = default
        if default is None or value is None:
            continue
        number = isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool)
        if type(value) is not type(default) and not number:
            raise ArmError(f"arm {arm!r}: {key} is {type(default).__name__}, not {value!r:.40}")
        if number:
            values[key] = float(value)
    return values
