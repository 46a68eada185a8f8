"""Record the outcome of a claim or a leaf, from a person or the embedded series; each call appends one event or refuses."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from workbench.annotations.entries import checked_line, require_finished
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.offline.visible_past import broker_history, open_sources, present_cutoff, visible
from workbench.propositions import ROOT, NodeId
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.readings.slots import stored_claim
from workbench.questions.worded_answers import share_of
from workbench.store import Store
from workbench.store import events as ev
from workbench.store.removal import began_at


class KnownOutcome(NamedTuple):
    """The outcome of a claim, and the day that decides it."""

    true: bool
    day: date


async def known_outcome(
    statement: str,
    cutoff: Cutoff,
    read_as: Mapping[str, Any] | None = None,
    *,
    services_at: datetime | None = None,
) -> KnownOutcome | None:
    """Read the claim's outcome from the embedded data; None where they cannot tell.

    ``read_as`` is the reading that it was stored with: a later grammar does not read it anew. ``services_at`` is when its run
    began: a service that was changed since is asked as it was then.
    """
    try:
        claim = (stored_claim(read_as) or read_claim(statement)).going_on()
    except ClaimRefused:
        return None  # a claim in words only: no data are opened for it
    # reading the series is pandas; the Python API loads this file
    from workbench.questions.decision import resolve

    broker = open_sources(claim.sources, services_at=services_at)
    try:
        observe = broker_history(broker)
        present = present_cutoff()
        rows = await visible(observe, claim.sources, present)
        rows_at_cutoff = await visible(observe, claim.sources, cutoff)
        # A level that was reached decides a claim before its end.
        return KnownOutcome(
            resolve(claim, rows, rows_at_cutoff), min(claim.last_close, present.last_moment_day)
        )
    except (ClaimRefused, ProxyError):
        return None  # about a day the data do not reach, or a source that does not answer
    finally:
        await broker.aclose()


def record_outcome(
    store: Store,
    run_id: str,
    outcome: str,
    *,
    on: str | None = None,
    author: str = "",
    node: str | None = None,
) -> None:
    """Record a person's outcome of the claim, or of a leaf: ``yes``, ``no`` or a share, on a day (ISO date; today in UTC unless named).

    Raises ``UsageError`` for no such outcome or day, a day that has not come, and for a run without a probability: there is nothing to score, and an
    outcome on record before the forecast would make the forecast worthless.
    """
    day = _outcome_day(on)
    p = share_of(outcome)
    with store.transaction():
        state = load_state(store, run_id)
        require_finished(state)
        if node is not None and state.tree[node].children:
            raise UsageError(
                f"{node} has drivers below it: outcomes are of the claim, or of drivers at the end of the tree"
            )
        leaf = None if node == ROOT else node
        name = checked_line(author, "an author")
        store.append(run_id, ev.OutcomeRecorded(node=leaf, p=p, day=day, source="person", author=name))


async def resolve_leaves_from_series(store: Store, run_id: str) -> list[str]:
    """Record the outcomes that the leaves' own series show, and return the leaves that have one now.

    Grounders, pooling and calibration of later runs learn from them, each only from what was decided before its own cutoff.
    """
    state = load_state(store, run_id)
    require_finished(state)
    leaves = {leaf: await _known(store, state, state.tree[leaf].statement) for leaf in state.tree.leaves()}
    resolved = {leaf: known for leaf, known in leaves.items() if known is not None}
    for leaf, known in resolved.items():
        _record_known(store, run_id, leaf, known)
    return list(resolved)


async def resolve_from_series(store: Store, run_id: str) -> bool:
    """Record the outcome that the claim's own series shows; return False if the data cannot tell (yet).

    The rows it reads are later than the run's cutoff. An outcome that stands already is not recorded twice.
    """
    state = load_state(store, run_id)
    require_finished(state)
    known = await _known(store, state, state.statement, state.read_as)
    if known is not None:
        _record_known(store, run_id, ROOT, known)
    return known is not None


async def _known(
    store: Store, state: RunState, statement: str, read_as: Mapping[str, Any] | None = None
) -> KnownOutcome | None:
    begun = began_at(store, state.run_id)
    return await known_outcome(statement, state.parsed_cutoff(), read_as, services_at=begun)


def _record_known(store: Store, run_id: str, node: NodeId, known: KnownOutcome) -> None:
    p, day = float(known.true), known.day.isoformat()
    with store.transaction():
        standing = load_state(store, run_id).annotations.outcomes().get(node)
        if standing is None or (standing.p, standing.day) != (p, day):
            leaf = None if node == ROOT else node
            store.append(run_id, ev.OutcomeRecorded(node=leaf, p=p, day=day, source="series"))


async def resolve_when_finished(store: Store, run_id: str) -> None:
    """Record the outcome of a run that has just finished, where its series shows it; the doors call this after the work.

    Not the engine: nothing that runs agents may read a row later than the cutoff.
    """
    state = load_state(store, run_id)
    if state.finished and state.annotations.outcome is None:
        await resolve_from_series(store, run_id)


def _outcome_day(text: str | None) -> str:
    today = datetime.now(UTC).date()
    if text is None:
        return today.isoformat()
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"a day is written 2018-12-31, not {text!r:.40}") from None
    if day > today:
        raise UsageError(
            f"an outcome of {day} is not known yet on {today}: record the outcome after that day"
        )
    return day.isoformat()
