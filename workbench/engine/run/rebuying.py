"""Replies on record that a run would have to buy again to go on: how many, at what price, and who must say so first."""

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.engine.run.state import RunState
from workbench.errors import UsageError
from workbench.models.base import ModelReply
from workbench.models.model_options import OFFLINE
from workbench.store import ModelLedger, Store
from workbench.store import events as ev


class RebuyNeeded(UsageError):
    """A run goes on only by buying replies again that are on record; the person has not said that it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuy:
    """What a run must lose to go on, why, and what that costs: replies on record that would be asked for anew.

    ``usd`` is what they cost, None where a price is unknown; ``trials`` are the open trials of leaves that begin again.
    """

    run_id: str
    why: str
    calls: int
    usd: float | None
    trials: tuple[tuple[str, int, int], ...] = ()
    cut: tuple[ev.CutText, ...] = ()

    @property
    def line(self) -> str:
        """The sentence for the screens."""
        price = "at a price that is not known" if self.usd is None else f"for about ${self.usd:.2f}"
        return f"run {self.run_id} {self.why}: {self.calls} replies on record would be bought again, {price}"

    def refusal(self) -> RebuyNeeded:
        """The error where nobody has said yes."""
        return RebuyNeeded(f"{self.line}: `workbench resume {self.run_id} --yes` does")


def price_of_replies(replies: Iterable[ModelReply]) -> tuple[int, float | None]:
    """Return how many replies cost anything to ask for again, and what they cost; None where a price is unknown."""
    bought = [reply.cost_usd for reply in replies if reply.model != OFFLINE]
    known = [usd for usd in bought if usd is not None]
    return len(bought), sum(known) if len(known) == len(bought) else None


def open_trials(state: RunState) -> list[tuple[str, int, int]]:
    """Return leaf, trial and attempt of what was begun and goes on."""
    return [
        (node, trial, each.attempt)
        for (node, trial), each in state.trials.items()
        if each.open or each.goes_on
    ]


def unplanned(store: Store, state: RunState) -> list[tuple[str, int, int]]:
    """Where the analyzer's replies stand, if the tree is not planned yet."""
    if state.planned:
        return []
    attempt = 1 + len(state.failures.get("P0", ()))
    return [(node, 0, attempt) for node in ModelLedger(store).nodes(state.run_id)]
