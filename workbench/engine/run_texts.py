"""What people wrote of a claim, kept to its cutoff, and the replies on record that a run would have to buy again because of it.

Text from after the cutoff is never sent again. Where a run's prompts held some, replies on record answer requests that cannot be
made any more; `Rebuy` says how many would be asked for anew, and at what price, before anybody is asked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proxies.asof.asof_text import Removed, as_of, emptied_line
from proxies.asof.clock import Cutoff
from proxies.ledger import Address
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.errors import UsageError
from workbench.models.base import ModelReply
from workbench.models.model_options import OFFLINE
from workbench.store import ModelLedger, Store
from workbench.store import events as ev

if TYPE_CHECKING:
    from workbench.engine.record.recorder import Recorder


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


_SHOWN = 160  # characters of a piece on a line


def cut_claim(
    statement: str, cutoff: Cutoff, settings: RunSettings
) -> tuple[str, RunSettings, tuple[ev.CutText, ...]]:
    """Return statement and settings without what was written after the cutoff, and what was cut; called when a run is opened.

    Raises ``UsageError`` where nothing is left of a text.
    """
    claim = as_of(statement, cutoff, kind="title")
    known = settings.context.as_of(cutoff)
    for name in (*(["the statement"] if claim.emptied else []), *known.emptied):
        raise UsageError(emptied_line(name, cutoff))
    return claim.text, _with_context(settings, cutoff), _records({"statement": claim.cut, **known.cut})


def _with_context(settings: RunSettings, cutoff: Cutoff) -> RunSettings:
    known = settings.context.as_of(cutoff)
    if not known.cut:
        return settings
    return replace(
        settings,
        context=replace(
            settings.context,
            background=known.background.text,
            criteria=known.criteria.text,
            horizon=known.horizon.text,
        ),
    )


def _records(cut: Mapping[str, Sequence[Removed]]) -> tuple[ev.CutText, ...]:
    return tuple(
        ev.CutText(field=name, text=piece.text, reason=piece.reason)
        for name, pieces in cut.items()
        for piece in pieces
    )


def cut_lines(cut: Sequence[ev.CutText]) -> list[str]:
    """Return a line for each piece that was cut, for screens."""
    return [f"cut from the {each.field}, {each.reason}: {each.text[:_SHOWN]!r}" for each in cut]


def rebuy(store: Store, state: RunState) -> Rebuy | None:
    """Return what of an unfinished run's own words is of after its cutoff, with the replies that rest on it; None if nothing is.

    Raises
    ------
    UsageError
        The statement itself, or all of another text, is of later: such a run cannot go on.
    """
    if state.finished:
        return None
    cutoff = state.parsed_cutoff()
    statement, settings, cut = cut_claim(state.statement, cutoff, state.settings)
    options = settings.options.get("grounder", {})
    names = [str(options.get("event", "")), *map(str, options.get("outcomes") or ())]
    if statement != state.statement or any(as_of(name, cutoff, kind="title").cut for name in names):
        raise UsageError(
            f"run {state.run_id} asks what was written after its cutoff {cutoff.text}: it cannot go on; analyze the claim anew"
        )
    if not cut:
        return None
    pieces = [each.text for each in cut]
    due = [*open_trials(state), *unplanned(store, state)]
    calls, usd, again = 0, 0.0, []
    unknown = False
    for node, trial, attempt in due:
        place = Address(run=state.run_id, node=node, trial=trial, attempt=attempt, stage="", step=0, retry=0)
        resting = 0
        for _, messages, reply in ModelLedger(store).dialogue(place):
            if any(piece in " ".join(str(each["content"]).split()) for piece in pieces for each in messages):
                resting += 1
                usd += reply.cost_usd or 0.0
                unknown = unknown or reply.cost_usd is None
        calls += resting
        if resting and trial:
            again.append((node, trial, attempt))
    return Rebuy(
        run_id=state.run_id,
        why=f"was begun with text of after its cutoff, which is not sent again ({len(cut)} pieces)",
        cut=cut,
        calls=calls,
        usd=None if unknown else usd,
        trials=tuple(again),
    )


def adopt_cut(recorder: "Recorder", *, allowed: bool) -> None:
    """Cut the run's own words to its cutoff and put that on record; called before a run goes on.

    Raises ``RebuyNeeded`` where that makes replies on record worthless and nobody has allowed to buy them again.
    """
    due = rebuy(recorder.store, recorder.state)
    if due is None:
        return
    if due.calls and not allowed:
        raise due.refusal()
    context = _with_context(recorder.state.settings, recorder.state.parsed_cutoff()).context
    recorder.record(
        ev.TextCut(
            cut=due.cut,
            context={
                "background": context.background,
                "criteria": context.criteria,
                "horizon": context.horizon,
            },
        )
    )
    for node, trial, attempt in due.trials:
        reason = "its prompts held text of after the cutoff"
        recorder.record(ev.LeafFailed(node=node, trial=trial, attempt=attempt, reason=reason, final=False))
