"""Replies on record that a run could go on from only by asking for them again, and how it asks whether it may.

A request that was cut since, or whose prompt is kept no more, cannot be made as it was: what was answered to it is worthless then.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from proxies.ledger import Address
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, command
from workbench.models.base import ModelReply
from workbench.models.model_options import OFFLINE
from workbench.store import ModelLedger, Store
from workbench.store import events as ev

if TYPE_CHECKING:
    from workbench.engine.record.recorder import Recorder

#: Leaf or node, trial (0 at a node) and attempt of a dialogue.
Place = tuple[str, int, int]


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
    trials: tuple[Place, ...] = ()
    cut: tuple[ev.CutText, ...] = ()

    @classmethod
    def at(
        cls,
        store: Store,
        state: RunState,
        places: Iterable[Place],
        rests: Callable[[Address, Sequence[dict[str, Any]], ModelReply], bool],
        why: str,
        **more: Any,
    ) -> "Rebuy":
        """Return what is lost with the replies at these places that rest on what is gone; trials that have one begin again."""
        ledger = ModelLedger(store)
        lost: dict[Place, list[ModelReply]] = {}
        for node, trial, attempt in places:
            address = Address(run=state.run_id, node=node, trial=trial, attempt=attempt)
            lost[node, trial, attempt] = [call[2] for call in ledger.dialogue(address) if rests(*call)]
        again = [place for place, replies in lost.items() if replies and place[1]]
        return cls.of(state.run_id, why, [*chain.from_iterable(lost.values())], again, **more)

    @classmethod
    def of(
        cls, run_id: str, why: str, lost: Sequence[ModelReply], trials: Iterable[Place] = (), **more: Any
    ) -> "Rebuy":
        """Return what is lost with these replies."""
        costs = [reply.cost_usd for reply in lost]
        known = [usd for usd in costs if usd is not None]
        usd = sum(known) if len(known) == len(costs) else None
        return cls(run_id=run_id, why=why, calls=len(lost), usd=usd, trials=tuple(trials), **more)

    @property
    def line(self) -> str:
        """The sentence for the screens."""
        price = "at a price that is not known" if self.usd is None else f"for about ${self.usd:.2f}"
        return f"run {self.run_id} {self.why}: {self.calls} replies on record would be bought again, {price}"

    def refusal(self) -> RebuyNeeded:
        """The error where nobody has said yes."""
        return RebuyNeeded(f"{self.line}: ", command("resume", self.run_id, yes=True), " does")

    def require(self, allowed: bool) -> None:
        """Raise ``RebuyNeeded`` where something is lost and nobody has said yes."""
        if self.calls and not allowed:
            raise self.refusal()

    def begin_again(self, recorder: "Recorder", reason: str) -> None:
        """Put on record that its trials failed for a reason, so that the next attempt asks anew."""
        for node, trial, attempt in self.trials:
            recorder.record(
                ev.LeafFailed(node=node, trial=trial, attempt=attempt, reason=reason, final=False)
            )


def is_paid(reply: ModelReply) -> bool:
    """Whether a reply costs anything to ask for again: all but the offline model's."""
    return reply.model != OFFLINE


def unfinished(store: Store, state: RunState) -> list[Place]:
    """Return where dialogues were begun that go on: open trials of leaves and, while there is no tree, the analyzer's."""
    trials = [
        (node, trial, each.attempt)
        for (node, trial), each in state.trials.items()
        if each.open or each.goes_on
    ]
    if state.planned:
        return trials
    attempt = 1 + len(state.failures.get("P0", ()))
    return [*trials, *((node, 0, attempt) for node in ModelLedger(store).nodes(state.run_id))]
