"""A reading in its plain sentence, and as a claim of the grammar where that holds it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from workbench.formatting import number, number_percent
from workbench.questions.canonical import canonical_claim
from workbench.questions.claims import AVERAGE_DAYS, SIDES, Claim, Pattern, Side
from workbench.questions.errors import ClaimRefused
from workbench.questions.readings.calendar_days import months_of
from workbench.questions.readings.names import SeriesName
from workbench.questions.readings.relations import OPPOSITE
from workbench.questions.readings.slots import SlotReading

_SIDES: Mapping[Any, tuple[Side, bool]] = {**SIDES, "between": ("above", False)}
WORDS = {"above": "above", "at_least": "at or above", "below": "below", "at_most": "at or below"}


def completed(reading: SlotReading, names: tuple[SeriesName, ...]) -> SlotReading:
    """Return a reading with its sentence, and as a claim where that can hold it."""
    claim = claim_of(reading, names)
    if claim is None:
        return replace(reading, claim=None, statement=_sentence(reading, names))
    return replace(reading, claim=claim, statement=claim.statement, notes=(*reading.notes, *claim.remarks))


def claim_of(reading: SlotReading, names: tuple[SeriesName, ...]) -> Claim | None:
    """Return the reading as a claim of the grammar; None where the grammar has no sentence for it."""
    claim = _claim(reading, names)
    if claim is None:
        return None
    try:
        # The grammar knows what fits together; a sentence that it reads otherwise is not the same claim.
        return claim if canonical_claim(claim.statement) == claim else None
    except (ClaimRefused, ValueError, KeyError):
        return None


def _claim(reading: SlotReading, names: tuple[SeriesName, ...]) -> Claim | None:
    keys = tuple(each.source for each in names)
    if not all(keys) or reading.end is None:
        return None
    toward = reading.relation == "touch" and reading.comparison == "toward"
    if (
        reading.never
        and not toward
        and reading.relation not in ("move_by", "any_step", "from_peak", "new_high", "new_low", "first")
    ):
        return None
    if reading.window not in ("on", "by", "during") or reading.comparison not in _SIDES:
        return None
    side, strict = _SIDES[reading.comparison]
    level, start = reading.level, reading.start
    claim = Claim(pattern="level", series=keys[0], end=reading.end, side=side, strict=strict, level=level)
    daily = not names[0].monthly
    every = reading.every if daily else None
    counted = every is not None or not reading.step
    match reading.relation:
        case "level" if reading.comparison == "between" and len(keys) == 1:
            return replace(claim, pattern="range", upper=reading.upper, side="above", strict=False)
        case "level" if len(keys) == 1 and reading.comparison != "toward":
            return claim
        case "compare":
            return replace(claim, pattern="compare", start=start, level=None)
        case "change" if reading.unit == "%" and reading.comparison != "between":
            return replace(claim, pattern="change", start=start, strict=_change_strict(reading))
        case "drawdown" if (
            daily and reading.unit == "%" and side == ("below" if (level or 0) < 0 else "above")
        ):
            return replace(claim, pattern="drawdown", start=start, strict=False)
        case "touch" if reading.comparison != "between":
            return replace(claim, pattern="touch", strict=False, start=start, never=reading.never)
        case "stay" if reading.comparison in OPPOSITE:
            away, _ = _SIDES[OPPOSITE[reading.comparison]]
            return replace(claim, pattern="touch", side=away, strict=False, start=start, never=True)
        case "mean" | "maximum" | "minimum" if reading.comparison in WORDS and len(keys) == 1:
            pattern: Pattern = {"mean": "mean", "maximum": "highest", "minimum": "lowest"}[reading.relation]  # type: ignore[assignment]
            return replace(claim, pattern=pattern, start=start)
        case "count" if counted and reading.comparison in WORDS and len(keys) == 1:
            return replace(claim, pattern="count", start=start, times=reading.times, level=level, every=every)
        case "change" if reading.comparison in WORDS and level and len(keys) == 1:
            return replace(claim, pattern="points", start=start, strict=_change_strict(reading))
        case "any_step" if (
            reading.unit == "%"
            and level
            and len(keys) == 1
            and counted
            and reading.comparison in WORDS
            and (daily or names[0].embedded)
        ):
            up = level > 0
            if (reading.comparison in ("above", "at_least")) != up:
                return None
            return replace(claim, pattern="step", start=start, every=every, never=reading.never)
        case "from_peak" if reading.unit == "%" and level and len(keys) == 1 and daily:
            return replace(claim, pattern="peak", start=start, level=-abs(level), side="below", strict=False, never=reading.never)  # fmt: skip
        case "streak" if (
            counted
            and level is None
            and len(keys) == 1
            and reading.comparison in ("above", "below")
            and (daily or names[0].embedded)  # a month is no day, whatever the sentence of a reference says
        ):
            return replace(claim, pattern="streak", start=start, times=reading.times, every=every)
        case "new_high" | "new_low" if len(keys) == 1 and daily and reading.lag != 1:
            beyond: Side = "above" if reading.relation == "new_high" else "below"
            return replace(claim, pattern="record", start=start, level=None, side=beyond, times=reading.lag or 1, strict=True, never=reading.never)  # fmt: skip
        case "first" if len(keys) == 1:
            pattern = "first_move" if reading.unit == "%" and names[0].kind == "price" else "first"
            return replace(
                claim, pattern=pattern, upper=reading.upper, start=start, strict=False, never=reading.never
            )
        case "move_by" if reading.unit == "%" and len(keys) == 1:
            return replace(claim, pattern="move", start=start, side="above", strict=reading.comparison == "above", never=reading.never)  # fmt: skip
        case "growth_mom" if (
            reading.lag == 1 and len(keys) == 1 and names[0].monthly and reading.window == "on"
        ):
            before = reading.end.replace(day=1) - timedelta(days=1)
            if reading.comparison in WORDS and (level or 0) > 0:
                rises = reading.comparison in ("above", "at_least")
                return replace(claim, pattern="change", start=before, side="above" if rises else "below", strict=not rises)  # fmt: skip
        case "average_gap" if reading.lag == AVERAGE_DAYS and daily:
            return replace(claim, pattern="average", strict=not level, level=abs(level) if level else None)
        case "volatility" if daily:
            return replace(claim, pattern="volatility", start=start, strict=side == "above")
        case "beats" if len(keys) == 2 and not level:
            return replace(claim, pattern="relative", other=keys[1], start=start, level=None, strict=True)
        case "growth_yoy" if (
            reading.lag == 12 and len(keys) == 1 and names[0].monthly and reading.window == "on"
        ):
            year_before = reading.end.replace(year=reading.end.year - 1, day=28)
            # A year's growth is the change since the month a year before; its rounding is finer than "more than".
            month_before = months_of(year_before.year, year_before.month).last
            if reading.comparison in ("above", "at_least") and (level or 0) > 0:
                return replace(claim, pattern="change", start=month_before, side="above", strict=False)
            if reading.comparison in ("below", "at_most") and (level or 0) > 0:
                return replace(claim, pattern="change", start=month_before, side="below", strict=True)
    return None


def _change_strict(reading: SlotReading) -> bool:
    # The grammar's "rises at least 5%" holds at 5%, its "does not rise at least 5%" below it.
    grows = (reading.level or 0) > 0
    return (reading.comparison in ("above", "at_least")) != grows


_UNITS = {"%": "%", "points": " points", "percentage points": " percentage points"}
_HIGHER = {"above": "higher", "at_least": "no lower", "below": "lower", "at_most": "no higher"}
#: What a reading says of its series where no sentence of a claim says it, by its relation; the parts are those of `_parts`.
_SAID = {
    "level": "{less}is {bound}",
    "compare": "is {higher}",
    "change": "{moves} by {size_or_range}",
    "move_by": "moves by {more} {level} either way",
    "touch": "{touches}",
    "stay": "stays {bound}",
    "drawdown": "closes {size} or more {off} its starting value at least once",
    "rise_once": "closes {size} or more {off} its starting value at least once",
    "from_peak": "closes {size} or more below its highest close at least once",
    "from_trough": "closes {size} or more above its lowest close at least once",
    "new_high": "closes at a new {weeks}high at least once",
    "new_low": "closes at a new {weeks}low at least once",
    "mean": "has its average {bound}",
    "maximum": "has its highest value {bound}",
    "minimum": "has its lowest value {bound}",
    "average_gap": "closes {beyond}{word} its {lag}-day average",
    "average_cross": "crosses {beyond}{word} its {lag}-day average",
    "volatility": "has a realised volatility {word} {plain}%",
    "count": "closes {each} {on} at least {times} {steps}",
    "streak": "closes {each} {on} at least {times} consecutive {steps}",
    "unchanged": "does not change",
    "any_step": "{goes} by {size} or more within one of the {step}s",
    "first": "reaches {plain} before {upper}",
    "first_move": "{goes} {plain_size}% before it {returns} {upper_size}%",
    "beats": "{performs} {other}{by}",
    "growth_yoy": "grows {growth}on the year",
    "growth_mom": "grows {growth}on the month",
    "growth_qoq": "grows {growth}on the quarter",
}


def _parts(reading: SlotReading, names: tuple[SeriesName, ...]) -> dict[str, str]:
    value, upper = reading.level or 0.0, reading.upper or 0.0
    word, up = WORDS.get(reading.comparison, ""), reading.comparison in ("above", "at_least")
    plain, other = number(value), names[1].article if len(names) == 2 else ""
    ranged = bool(reading.upper) or reading.comparison == "between"
    in_units = reading.relation not in ("level", "touch", "stay") or reading.unit == "%"
    unit = _UNITS.get(reading.unit, "") if in_units else ""
    level, size = plain + unit, number(abs(value)) + unit
    goes, returns = ("rises", "falls") if value >= 0 else ("falls", "rises")
    of_range = reading.relation in ("level", "change") and reading.comparison == "between"
    between = f"between {plain} and {number(upper)}"
    low, high = sorted((abs(value), abs(upper)))
    step = reading.step or ("month" if names[0].monthly else "day")
    bound = between if (of_range or (reading.relation != "level" and ranged)) else f"{word} {level}"
    return {
        "word": word,
        "plain": plain,
        "level": level,
        "size": size,
        "upper": number(upper),
        "plain_size": number(abs(value)),
        "upper_size": number(abs(upper)),
        "other": other,
        "bound": bound,
        "less": f"less {other} " if other and not of_range else "",
        "higher": _HIGHER.get(reading.comparison, ""),
        "goes": goes,
        "returns": returns,
        "moves": goes if of_range or up == (value >= 0) else f"does not {goes[:-1]}",
        "size_or_range": f"between {number(low)} and {number(high)}{_UNITS.get(reading.unit, f' {reading.unit}')}".rstrip() if of_range else f"at least {size}",
        "more": "more than" if reading.comparison == "above" else "at least",
        "touches": f"is {word} {level} at least once" if word else f"touches {level}",
        "off": "below" if value < 0 else "above",
        "weeks": f"{reading.lag}-week " if reading.lag else "",
        "lag": f"{reading.lag}",
        "beyond": f"{number_percent(abs(value))} " if reading.level else "",
        "each": f"{word} {level}" if reading.level is not None else "higher" if up else "lower",
        "on": "on" if step == "day" else "in",
        "times": f"{reading.times}",
        "steps": f"{step}s",
        "step": reading.step or "step",
        "performs": "outperforms" if reading.comparison == "above" else "underperforms",
        "by": f" by at least {level}" if reading.level else "",
        "growth": "" if reading.level is None else f"{between if reading.upper else f'{word} {plain}'}% ",
    }  # fmt: skip


def _sentence(reading: SlotReading, names: tuple[SeriesName, ...]) -> str:
    article = names[0].article
    moves = reading.relation == "first" and reading.unit == "%" and names[0].kind == "price"
    said = _SAID.get("first_move" if moves else reading.relation, "grows {growth}at an annual rate")
    middle = said.format_map(_parts(reading, names))
    negation = "it is not so that " if reading.never else ""
    sentence = f"{negation}{article} {middle} {_days_of(reading)}".strip()
    return sentence if ":" in article and sentence.startswith(article) else sentence[0].upper() + sentence[1:]


def _days_of(reading: SlotReading) -> str:
    end = reading.end
    since = f"from {reading.start} to" if reading.start else ""
    match reading.window:
        case "next_release":
            return f"in the next release, for the month to {end}"
        case "next_meeting":
            return f"at the meeting that ends on {end}"
        case "on":
            than = f" than on {reading.start}" if reading.start and reading.relation == "compare" else ""
            return f"on {end}{than}" if not since or than else f"{since} {end}"
        case _:
            return f"{since or 'through'} {end}"
