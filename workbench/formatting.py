"""How probabilities, their changes, outcomes and tokens are written for people, the same on every screen."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

#: The eight words of every screen, help and manual.
GLOSSARY = {
    "claim": "What you ask: a dated statement that will turn out true or false.",
    "driver": "A statement below the claim, or below another driver, that makes it more or less likely.",
    "evidence": "What the probability of a driver rests on: a notebook, its data, a report with its sources.",
    "base rate": "How often claims of this kind came true in the past, before anything else is known.",
    "weight": "How much a driver moves the claim or driver above it: points gained per point of the driver.",
    "cutoff": "The moment up to which information counts: nothing published later is used.",
    "scenario": "A saved what-if: edits of drivers, and the probability of the claim with these edits.",
    "check": "A test of a run against its own records: it holds, needs a look, or fails.",
}

#: What scores are called, and what they say: hovers, `help glossary`, and the lines under a table of scores.
SCORE_WORDS = {
    "Brier score": "The mean squared distance between probability and outcome: 0 is perfect, always 50% scores 0.250.",
    "Brier Index": "The Brier score on a scale where higher is better: 100 is perfect, always 50% scores 50.",
    "Metaculus score": "Points of the Metaculus baseline: always 50% scores 0, a certain forecast that comes true scores 100.",
    "calibration error": "How far stated probabilities lie from how often the events came true: 0 is perfect. By luck alone: the value that a perfectly calibrated forecaster would have.",
    "log loss": "Penalizes confident wrong forecasts most: 0 is perfect, always 50% scores 0.693.",
    "accuracy": "The share of forecasts on the right side of 50%.",
    "95% interval": "A range that holds the true figure in 95 of 100 cases. None is given below six independent cases.",
    "independent": "Independent cases: those about one series in one stretch of time count as one.",
}

#: Other names on a screen, for hovers: what each says to whoever meets it for the first time.
_EXPLAINED = {
    "sandbox": "Where the code behind the evidence ran: without network, other files or API keys.",
    "calls": "Requests to the model, requests for data, and what they cost together.",
    "track record": f"How the same forecaster did at earlier cutoffs. Brier Index: {SCORE_WORDS['Brier Index']} Independent: {SCORE_WORDS['independent']}",
    "outcome": f"Whether the claim came true. Brier score: {SCORE_WORDS['Brier score']}",
    "verified": "All evidence was computed a second time with the same result, and all records are unaltered.",
    "leak audit": "Nothing from after the cutoff was used: checked are dates of data, searches, and models trained later.",
    "coherence": "The probabilities do not contradict one another.",
}
#: Ids that a line lists; more are a wall to whoever reads it.
_DRIVERS_NAMED = 3
_SEALS = {"namespaces": "Linux namespaces", "landlock": "Landlock"}
MINUS = "\N{MINUS SIGN}"
_OF_STYLE = re.compile(r"(?<=\d) (?=%)|(?<=\d),(?=\d{3}(?!\d))")
NO_VALUE = "–"  # an en dash: there is no number yet, or none that still holds


def percent(p: float | None) -> str:
    """Return a probability as every screen and message of the house shows it, in figures and in sentences: with one decimal.

    One spelling everywhere: a sentence with whole percents said 77% beside a row that said 77.5%, and was read as another number.

    >>> percent(0.48), percent(1.0), percent(None)
    ('48.0%', '100.0%', '–')
    """
    return NO_VALUE if p is None else f"{100 * p:.1f}%"


def point_change(before: float | None, after: float | None, *, unit: str = " points") -> str:
    """Return the change between two probabilities in percentage points, with its sign.

    It is the difference of the two figures as they are shown, so that a reader who subtracts them finds the same. A
    column whose head names the unit leaves it out.

    >>> point_change(0.6692, 0.6888), point_change(0.5, 0.40), point_change(0.1, 0.10001), point_change(None, 0.3)
    ('+2.0 points', '−10.0 points', '0.0 points', '–')
    """
    if before is None or after is None:
        return NO_VALUE
    tenths = _tenths(after) - _tenths(before)
    sign = "" if not tenths else "+" if tenths > 0 else MINUS
    return f"{sign}{abs(tenths) / 10:.1f}{unit}"


def points_apart(first: float, second: float) -> str:
    """Return how far two probabilities are apart, by the figures as they are shown.

    >>> points_apart(0.643, 0.6888), points_apart(0.5, 0.1)
    ('4.6 points', '40.0 points')
    """
    return f"{abs(_tenths(first) - _tenths(second)) / 10:.1f} points"


def _tenths(p: float) -> int:
    return round(10 * float(f"{100 * p:.1f}"))


def sent_tokens(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the input tokens of some nodes' calls (``ModelLedger.spending``), their share out of a cache, and the dollars.

    What a provider did not report for all of them is left out.

    >>> sent_tokens([{"input_tokens": 12000, "cached_tokens": 9000, "cost_usd": 0.03}])
    '12,000, 75% cached, $0.0300'
    """
    sent = sum(row["input_tokens"] for row in rows)
    cached = [row["cached_tokens"] for row in rows]
    cost = [row["cost_usd"] for row in rows]
    said = f"{sent:,}"
    if sent and None not in cached:
        said += f", {sum(cached) / sent:.0%} cached"
    return said if None in cost else f"{said}, ${sum(cost):.4f}"


def sandbox_words(level: str | None) -> str:
    """Return how the code behind a run's evidence was shut off, by the level that its log names; None is that none ran.

    >>> sandbox_words("namespaces"), sandbox_words("none"), sandbox_words(None)
    ('sealed (Linux namespaces)', 'not sealed', 'none ran yet')
    """
    if level in (None, "none"):
        return "none ran yet" if level is None else "not sealed"
    return f"sealed ({_SEALS.get(str(level), level)})"


def outcome_words(p: float) -> str:
    """Return an outcome in [0, 1] as a word, or as the share it is."""
    return {1.0: "yes", 0.0: "no"}.get(p, percent(p))


def day_words(day: date | str) -> str:
    """Return a day as prose names it; inputs and tables have the ISO form.

    >>> day_words(date(2018, 12, 31)), day_words("2018-09-03T00:00")
    ('31 December 2018', '3 September 2018')
    """
    day = date.fromisoformat(day[:10]) if isinstance(day, str) else day
    return f"{day.day} {day:%B %Y}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, in the singular or the plural.

    >>> counted(1, "day"), counted(2000, "run"), counted(0, "query", "queries")
    ('1 day', '2,000 runs', '0 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def number(value: float) -> str:
    """Return a number as short as it can be written without loss, as claims state it; `read_claim` reads it back.

    >>> number(20), number(2718.37), number(-0.5)
    ('20', '2,718.37', '−0.5')
    """
    return f"{value:,.10g}".replace("-", MINUS)


def number_percent(value: float) -> str:
    """Return a percentage that somebody stated, with all its digits.

    >>> number_percent(7), number_percent(2.5)
    ('7%', '2.5%')
    """
    return f"{number(value)}%"


def plain_numbers(text: str) -> str:
    """Return a text in which numbers have no commas and no blank before a percent sign, to compare sentences of any style.

    >>> plain_numbers("above 2,900"), plain_numbers("falls 7 %"), plain_numbers("on 1,2 and 3")
    ('above 2900', 'falls 7%', 'on 1,2 and 3')
    """
    return _OF_STYLE.sub("", text).replace(MINUS, "-")


def quoted(value: float, places: int = 2) -> str:
    """Return a level as its market quotes it: whole from a thousand on, else with so many decimals; small ones with three digits.

    >>> quoted(2782.672), quoted(13.391), quoted(1.09123, 4), quoted(-0.5), quoted(0.012345)
    ('2,783', '13.39', '1.0912', '−0.50', '0.0123')
    """
    size = abs(value)
    whole, small = size >= 1000, 0 < size < 0.1 and places
    text = f"{value:,.0f}" if whole else f"{value:.3g}" if small else f"{value:.{places}f}"
    return text.replace("-", MINUS)


def places_of(values: Iterable[float]) -> int:
    """Return with how many decimals a market quotes a series, by its values: at most four.

    >>> places_of([26.31, 27.5]), places_of([120.0, 135.0]), places_of([1.0911518])
    (2, 0, 4)
    """
    return max((len(f"{value:.4f}".rstrip("0").partition(".")[2]) for value in values), default=2)


def meaning(word: str) -> str:
    """Return what a word of the glossary or another name on a screen means, "" for any other; a filter of HTML templates, for hovers."""
    return next(
        (
            each[key]
            for each in (GLOSSARY, SCORE_WORDS, _EXPLAINED)
            for key in (word, word.lower())
            if key in each
        ),
        "",
    )


def decimals(value: float | None, digits: int = 3) -> str:
    """Return a figure with so many decimals, a dash for none; a filter of HTML templates."""
    return "–" if value is None else f"{value:.{digits}f}"


def signed_figure(value: float, digits: int = 1) -> str:
    """Return a difference with its sign and so many decimals; what rounds to nothing has none.

    >>> signed_figure(2.14), signed_figure(-0.03), signed_figure(-0.1234, 3)
    ('+2.1', '0.0', '−0.123')
    """
    text = f"{abs(value):.{digits}f}"
    return text if not float(text) else f"{'+' if value > 0 else MINUS}{text}"


def signed_interval(value: float, interval: Sequence[float] | None, digits: int = 1) -> str:
    """Return a difference with the ends of its interval, where it has one.

    >>> signed_interval(2.14, (-0.4, 3.8)), signed_interval(-0.5, None)
    ('+2.1 [−0.4, +3.8]', '−0.5')
    """
    ends = "" if interval is None else f" [{', '.join(signed_figure(end, digits) for end in interval)}]"
    return f"{signed_figure(value, digits)}{ends}"


def single_line(text: str) -> str:
    """Return a text on one line, each stretch of white space one blank."""
    return " ".join(text.split())


def first_named(names: Sequence[str], most: int) -> str:
    """Return the first names of a list, and how many more there are.

    >>> first_named(["a", "b", "c"], 2), first_named(["a"], 2)
    ('a, b and 1 more', 'a')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def counted_drivers(nodes: Sequence[str]) -> str:
    """Return the drivers that a line is about: the ids of a few, or how many there are with the first of them.

    >>> counted_drivers(["P1", "P2"]), counted_drivers([f"P{n}" for n in range(1, 16)])
    ('P1, P2', '15 drivers (P1, P2, P3 and 12 more)')
    """
    if len(nodes) <= _DRIVERS_NAMED:
        return ", ".join(nodes)
    return f"{len(nodes)} drivers ({first_named(nodes, _DRIVERS_NAMED)})"


def notebook_text(value: object) -> str:
    """Return a source or output of a stored notebook, which keeps it as one text or as lines; "" for anything else."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
