"""Parse numbers as a person types them: a probability, and the reference that contributions are counted from."""

from workbench.engine.record.state import RunState
from workbench.errors import Option, UsageError
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
        raise UsageError(f"{what}: type a number from 0 to 1, such as 0.35")
    return value + 0.0  # "-0" is zero, and is shown as it


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
        raise UsageError("the run has ", *missing, " on record: count from zero, half or a probability")
    return value
