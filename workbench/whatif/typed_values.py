"""Parse numbers as a person types them: a probability or a range, and the reference that contributions are counted from."""

import re
from typing import NamedTuple

from workbench.engine.record.state import RunState
from workbench.errors import Option, UsageError
from workbench.formatting import percent
from workbench.whatif.stored_reports import run_base_rate

#: What contributions can be counted from, besides a probability.
REFERENCES = ("zero", "half", "base-rate", "market")


def parse_probability(text: object) -> float:
    """Return the probability that an analyst typed.

    Raises `UsageError`: Not a number from 0 to 1; the message says what to type.

    >>> parse_probability(" 0.25 "), parse_probability("1"), parse_probability("40%")
    (0.25, 1.0, 0.4)
    """
    written = str(text).strip()
    percentage = written.endswith("%")
    try:
        value = float(written[:-1] if percentage else written)
    except ValueError:
        value = float("nan")
    if percentage:
        value /= 100
    # float() reads "1_0" as 10. NaN fails every comparison, so the refusal below covers it too.
    if "_" in written or not 0.0 <= value <= 1.0:
        quoted = written if len(written) <= 20 else written[:20] + "..."
        what = f"{quoted!r} is not a probability" if quoted else "an empty field is not a probability"
        raise UsageError(f"{what}: type a number from 0 to 1, such as 0.35, or from 0% to 100%")
    return value + 0.0  # "-0" is zero, and is shown as it


_FIGURE = r"(\d*\.?\d+(?:e-?\d+)?)\s*(%?)"
_RANGE = re.compile(rf"{_FIGURE}\s*(?:-|–|—|\.\.|to)\s*{_FIGURE}")


class TypedValue(NamedTuple):
    """A probability as it was typed: one number, or a range with its middle."""

    p: float
    low: float | None = None
    high: float | None = None

    def words(self) -> str:
        """Return it as people write it.

        >>> TypedValue(0.5).words(), TypedValue(0.7, 0.6, 0.8).words()
        ('50.0%', '60.0% to 80.0%')
        """
        return percent(self.p) if self.low is None else f"{percent(self.low)} to {percent(self.high)}"

    def short(self) -> str:
        """Return it for a narrow column.

        >>> TypedValue(0.5).short(), TypedValue(0.7, 0.6, 0.8).short(), TypedValue(0.3, 0.125, 0.475).short()
        ('50.0%', '60–80%', '12.5–47.5%')
        """
        if self.low is None or self.high is None:
            return percent(self.p)
        low, high = (percent(end).removesuffix("%").removesuffix(".0") for end in (self.low, self.high))
        return f"{low}–{high}%"


def parse_value(value: object) -> TypedValue:
    """Return the probability or the range that an analyst typed; a range of one point is a probability.

    Raises `UsageError`: Neither; the message says what to type.

    >>> parse_value("40%"), parse_value("60-80%"), parse_value("0.25 to 0.5"), parse_value([0.5, 0.75])
    (TypedValue(p=0.4, low=None, high=None), TypedValue(p=0.7, low=0.6, high=0.8), TypedValue(p=0.375, low=0.25, high=0.5), TypedValue(p=0.625, low=0.5, high=0.75))
    """
    if isinstance(value, TypedValue):  # read before, of a client's arguments
        return value
    if isinstance(value, list | tuple) and len(value) == 2:
        low, high = map(parse_probability, value)
    elif typed := _RANGE.fullmatch(str(value).strip()):
        start, percent_of_start, end, percent_of_end = typed.groups()
        low = parse_probability(start + (percent_of_start or percent_of_end))
        high = parse_probability(end + percent_of_end)
    else:
        return TypedValue(parse_probability(value))
    if low > high:
        raise UsageError(
            f"{percent(low)} to {percent(high)} is not a range: type the lower end first, such as 60-80%"
        )
    # in decimal figures: the middle of 60% and 80% is 70%, not 0.7000000000000001
    return TypedValue(round((low + high) / 2, 12), low, high) if low < high else TypedValue(low)


def market_of(state: RunState) -> float | None:
    """Return the price of a market or crowd at the cutoff, as the analyst gave it (``analyze --crowd``); None without."""
    return state.settings.context.crowd


def reference_of(state: RunState, text: str) -> float:
    """Return the probability that contributions are counted from.

    Raises `UsageError`: The run has no base rate or no market's figure on record, or the text is neither a name nor a probability.
    """
    name = text.strip().casefold().replace(" ", "-")
    if name not in REFERENCES:
        try:
            return parse_probability(text)
        except UsageError as error:
            raise UsageError(f"{error}, or one of {', '.join(REFERENCES)}") from None
    references = {
        "zero": 0.0,
        "half": 0.5,
        "base-rate": run_base_rate(state),
        "market": market_of(state),
    }
    value = references[name]
    if value is None:
        missing = (
            ["no base rate"]
            if name == "base-rate"
            else ["no market's figure (analyze ", Option("crowd"), ")"]
        )
        raise UsageError("the run has ", *missing, " on record: choose zero, half or a probability")
    return value
