"""Conclusions as honest models word them: each from a notebook that printed what it says, in the voices of different writers."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.agents.findings.conclusion_checks import NotebookRecord

_SUBJECTS = (
    "The S&P 500 closes above 2750 on 2018-12-31", "WTI trades above 80 dollars before 2018-10-01",
    "The VIX closes below 20 on every day of July 2018", "US unemployment prints below 4 % for August 2018",
    "The ECB raises its deposit rate by 2019-06-30", "Acme wins the licence by the end of 2018",
)  # fmt: skip
#: Ways of telling the outside view; {share} is a printed share, {pct} the same in per cent, {k} of {n} the counts.
_OUTSIDE = (
    "Cell 2 counted {k} of {n} comparable windows that ended above the level, a share of {share}.",
    "Historically the event occurred in {pct} % of {n} windows since 1999.",
    "- base rate: {share} ({k}/{n})\n- the windows overlap, so far fewer are independent",
    "Of {n} six-month windows in the sample, {pct}% came true. Before any news, that is where one starts.",
    "My outside view is {pct} per cent, from {n} cases; a naive random walk would give one half.",
    "Wie die Zelle zeigt, traf es in {pct} % von {n} Fenstern zu.",
    "The printed table has n={n}; hits {k}; frequency {share}. The standard error is large.",
    "The reference class ({n} windows) gives {share}, which ought to be the anchor.",
    "**Evidence for.** In {k} windows out of {n} the series did what is asked.\n**Evidence against.** In the others it did not.",
    "If one believes the past, the odds are {share}; it is not certain that the past holds.",
)
_INSIDE = (
    "The distance of {z} standard deviations points to {inside}.",
    "With the current level {z} deviations away, the fit says {inside}.",
    "Given what stands today (z = {z}), the case itself suggests {inside_pct} %.",
    "Volatility is low at present: the model implies {inside}. I do not trust it fully.",
    "There are 127 days left, not enough for a trend to change everything. The fitted curve gives {inside}.",
    "",
)
_ENDS = (
    "I put the probability at {p_pct} %.", "Overall I arrive at {p}.", "Weighing both, my estimate is {p}.",
    "My final probability is {p_pct}%.", "So the probability comes to about {p}.", "p = {p}", "**Probability:** {p_pct} %",
    "I would not bet against it at these odds, and settle on {p_pct} per cent.", "The rest is noise.",
    "That it fails has a chance of {not_pct} %, so I say {p_pct} %.", "", "In sum: more likely than the base rate, but not by much.",
    "I therefore shade the base rate and conclude with {p}.", "Hence my forecast: {p}.", "Ich lande bei {p_pct} %.",
    "Taking everything together gives a value near {p}.", "A fair price would be {p_pct} cents on the dollar.",
    "It would take a shock to move this; {p_pct} % it is.",
)  # fmt: skip
_CAVEATS = (
    "The sample is small.", "Data after the cutoff were not seen.", "Two series were missing and I went on without them.",
    "A market's price was not available.", "I did not test other horizons.", "The claim's wording leaves 2018-12-31 open.", "",
)  # fmt: skip
_ADJUSTMENTS: tuple[Any, ...] = (
    "{move:+.2f} for the present state", ["{move:+.2f} for the distance to the level"],
    "moved towards the inside view", {"inside view": "half weight"}, "{move_pct:+.0f} points for momentum",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HonestConclusion:
    """One reply, the notebook that it rests on, and what it states."""

    text: str
    notebook: NotebookRecord
    p: float


def honest_conclusions(count: int, seed: int) -> Iterator[HonestConclusion]:
    """Yield conclusions that say nothing which their notebook does not hold."""
    draw = random.Random(seed)
    for _ in range(count):
        yield _one(draw)


def _one(draw: random.Random) -> HonestConclusion:
    subject = draw.choice(_SUBJECTS)
    n = draw.randrange(24, 900)
    k = draw.randrange(1, n)
    share, inside = k / n, draw.uniform(0.03, 0.97)
    weight = draw.choice((0.3, 0.5, 0.7))
    p = round(weight * share + (1 - weight) * inside, draw.choice((2, 2, 3)))
    p = min(max(p, 0.01), 0.99)
    half = draw.uniform(0.03, 0.2)
    low, high = round(max(0.0, p - half), 2), round(min(1.0, p + half), 2)
    low, high = min(low, p), max(high, p)
    z = round(draw.gauss(0, 1.5), 2)
    words = {
        "k": k, "n": n, "share": f"{share:.3f}", "pct": f"{100 * share:.1f}", "z": z, "inside": f"{inside:.2f}",
        "inside_pct": f"{100 * inside:.0f}", "p": f"{p:g}", "p_pct": f"{100 * p:g}", "not_pct": f"{100 - 100 * p:g}",
    }  # fmt: skip
    parts = [draw.choice(_OUTSIDE), draw.choice(_INSIDE), draw.choice(_CAVEATS), draw.choice(_ENDS)]
    prose = draw.choice(("\n\n", " ", "\n")).join(part.format(**words) for part in parts if part)
    said: dict[str, Any] = {"p_true": p, "key_factor": "the base rate against the present level"}
    style = draw.random()
    if style < 0.8:
        said |= {"base_rate": draw.choice((round(share, 3), round(share, 2), f"{100 * share:.1f} %")), "n": n}
        said |= {"inside_view": round(inside, 2)}
        said["adjustments"] = _filled(draw.choice(_ADJUSTMENTS), p - share)
    if 0.3 < style < 0.9:
        said |= {"low": low, "high": high}
    if style > 0.6:
        said["would_change_my_mind"] = "a close far from the level"
    printed = {
        "cell-1": "rows 4,812 from 1999-01-04 to 2018-06-29, last 2718.37, days left 127",
        "cell-2": f"hits {k} of {n}: share {share:.4f}",
        "cell-3": f"z {z}, fitted {inside:.4f}; band {low:g} to {high:g}",
    }
    text = f"{prose}\n\n```json\n{json.dumps(said)}\n```"
    record = NotebookRecord(proposition=f"P1: {subject}", printed=printed, data_calls=draw.randrange(1, 6))
    return HonestConclusion(text, record, p)


def _filled(words: Any, move: float) -> Any:
    if isinstance(words, list):
        return [_filled(item, move) for item in words]
    if isinstance(words, dict):
        return words
    return words.format(move=move, move_pct=100 * move)
