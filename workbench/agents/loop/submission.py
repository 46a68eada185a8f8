"""``submit``: how a loop ends, read in one place; the raw value is kept beside what counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.agents.errors import BadSetting, MalformedReply
from workbench.agents.loop.belief_state import BeliefState, read_probability
from workbench.agents.loop.tool_box import tool_spec, tool_texts
from workbench.agents.replies.stage_replies import Accounting, check_form
from workbench.models.base import ToolSpec
from workbench.quoting import visible

SUBMIT = "submit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a loop submitted."""

    #: The probabilities as stated, one for each date that was asked about (one where none was named).
    raw: tuple[float, ...]
    #: What counts: the last of ``raw``, clamped.
    p: float
    #: The report, with the accounting behind the probability at its end.
    reasoning: str = ""
    key_factor: str = ""
    #: That accounting as stated (`Accounting`); empty where nothing of it was.
    numbers: Mapping[str, Any] = field(default_factory=dict)
    #: Why nobody submitted it and it was taken from the belief; "" for a submission.
    forced: str = ""
    #: ``updated_belief.probability`` of the submitting call; None without a belief.
    stated_belief: float | None = None

    @property
    def gap(self) -> float | None:
        """Distance of what was submitted from the belief beside it (BLF, App. E: there should be none)."""
        return None if self.stated_belief is None else abs(self.raw[-1] - self.stated_belief)


def check_clamp(clamp: Sequence[float]) -> tuple[float, float]:
    """Return the bounds of a clamp; raises `BadSetting` unless they are two numbers 0 <= low < high <= 1."""
    if len(clamp) != 2 or not 0 <= clamp[0] < clamp[1] <= 1:
        raise BadSetting(f"clamp must be two numbers, 0 <= low < high <= 1, not {list(clamp)}")
    return float(clamp[0]), float(clamp[1])


def clamped(p: float, clamp: Sequence[float]) -> float:
    """Return p within the bounds of a clamp; the one place where a submitted value is changed (BLF, section 3).

    >>> clamped(0.99, (0.05, 0.95)), clamped(0.3, (0.0, 1.0))
    (0.95, 0.3)
    """
    low, high = clamp
    return min(max(p, low), high)


def submit_spec(dates: Sequence[str]) -> ToolSpec:
    """Return the tool that ends a loop, for one probability or one for each of these dates (BLF, App. J.3)."""
    if not dates:
        return tool_spec(SUBMIT)
    properties = dict(tool_texts()[SUBMIT]["properties"])
    del properties["probability"]
    each = {
        "type": "array",
        "items": {"type": "number"},
        "minItems": len(dates),
        "maxItems": len(dates),
        "description": f"That the proposition is true on each of {', '.join(dates)}, in this order.",
    }
    properties = {"probabilities": each, **properties}
    return tool_spec(SUBMIT, properties=properties, required=list(properties))


def read_submission(
    arguments: Mapping[str, Any], *, dates: Sequence[str], clamp: Sequence[float], stated_belief: float | None
) -> Submission:
    """Return what a call of ``submit`` says; raises `MalformedReply` where that is no probability, or not one a date."""
    if dates:
        values = arguments.get("probabilities")
        if not isinstance(values, list) or len(values) != len(dates):
            raise MalformedReply(f'"probabilities" must be a list of {len(dates)} numbers, one for each date')
        raw = tuple(read_probability(value, "probabilities") for value in values)
    else:
        raw = (read_probability(arguments.get("probability", arguments.get("p_true")), "probability"),)
    numbers = check_form(Accounting, dict(arguments))
    reasoning = visible(str(arguments.get("reasoning") or arguments.get("report") or ""))[:20_000].strip()
    return Submission(
        raw=raw,
        p=clamped(raw[-1], clamp),
        reasoning="\n\n".join(filter(None, (reasoning, visible(numbers.lines(raw[-1]))))),
        numbers=numbers.model_dump(mode="json", exclude_defaults=True),
        key_factor=" ".join(visible(str(arguments.get("key_factor") or "")).split())[:600],
        stated_belief=stated_belief,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitEnding:
    """``submit`` as the end of a loop.

    ``forced_p`` says what counts where a limit ended the loop: the belief where there is one (BLF, Algorithm 1), else this
    number (0.5 without a belief state, BLF App. J.2); None where neither is there: the model is asked once more.
    """

    clamp: tuple[float, float]
    dates: tuple[str, ...] = ()
    forced_p: float | None = None

    @property
    def spec(self) -> ToolSpec:
        """The tool."""
        return submit_spec(self.dates)

    def read(self, arguments: Mapping[str, Any], belief: BeliefState | None) -> Submission:
        """Return what was submitted; raises `MalformedReply`."""
        stated = None if belief is None else belief.p
        return read_submission(arguments, dates=self.dates, clamp=self.clamp, stated_belief=stated)

    def forced(self, reason: str, belief: BeliefState | None) -> Submission | None:
        """Return the submission that is taken from the belief."""
        p = self.forced_p if belief is None else belief.p
        if p is None:
            return None
        return Submission(
            raw=(p,) * max(len(self.dates), 1),
            p=clamped(p, self.clamp),
            reasoning="" if belief is None else belief.update_reasoning,
            forced=f"{reason}, so the {'default' if belief is None else 'last belief'} was taken",
            stated_belief=None if belief is None else belief.p,
        )
