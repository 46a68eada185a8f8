"""Write the meaning of a paired test for people: the verdict, what to do, then the figure it rests on with its interval."""

from collections.abc import Callable

from workbench.formatting import counted, signed_figure
from workbench.science.comparing.clusters import MIN_CLUSTERS
from workbench.science.comparing.paired import PairedVerdict


def past_dates(count: int) -> str:
    """Return how many dates of the past something was tried on.

    >>> past_dates(1), past_dates(114)
    ('1 past date', '114 past dates')
    """
    return counted(count, "past date")


def skill_line(
    test: PairedVerdict,
    tried_on: str,
    *,
    subject: str = "this method",
    rival: str = "the base rate",
    gain: str = "gain in Brier Index",
    written: Callable[[float], str] = signed_figure,
) -> str:
    """Return how a test against a simpler forecast came out, in words that need no statistics, then its numbers.

    Every screen that says how far to trust forecasts prints it: the record of a claim, of a series, of a back-test and of a home.

    >>> from workbench.science.comparing.paired import paired_test
    >>> skill_line(paired_test([0.5, 0.4]), "2 past dates")
    'Too little history to judge this method. Use the base rate. Tested on 2 past dates (2 independent), a verdict needs 6 independent ones. Gain in Brier Index +0.5.'
    >>> skill_line(paired_test([0.3, -0.5, 0.1, -0.2, 0.1, -0.2]), "6 past dates")
    'Tested on 6 past dates (6 independent), this method did no better than the base rate. Use the base rate. Gain in Brier Index −0.1, 95% interval −0.5 to +0.3.'
    """
    figures = f"{gain[0].upper()}{gain[1:]} {written(test.estimate)}"
    if test.interval is not None:
        low, high = test.interval
        figures += f", 95% interval {written(low)} to {written(high)}"
    if test.verdict in (None, "too few to tell"):
        short = test.interval is None and test.verdict is not None
        few = f"a verdict needs {MIN_CLUSTERS} independent ones" if short else test.reason
        return f"Too little history to judge {subject}. Use {rival}. Tested on {tried_on} ({test.clusters} independent), {few}. {figures}."
    tested = f"Tested on {tried_on} ({test.clusters} independent), {subject}"
    if test.verdict == "better":
        return f"{tested} did better than {rival}. {figures}."
    outcome = (
        f"did worse than {rival}"
        if test.verdict == "worse"
        else f"beat {rival} within chance only"
        # by the figure as it is shown: nobody reads that +0.0 beat anything
        if written(test.estimate).startswith("+")
        else f"did no better than {rival}"
    )
    return f"{tested} {outcome}. Use {rival}. {figures}."
