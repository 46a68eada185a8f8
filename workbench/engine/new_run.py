"""Opening a run: a claim is checked first, so that a refused one leaves nothing behind."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar, runtime_checkable

import orjson

from proxies.asof.clock import Cutoff
from workbench.agents.base import Analyzer, Grounder, Synthesizer
from workbench.agents.registry import agent_names, open_analyzer, open_grounder, open_synthesizer
from workbench.engine.ownership import own_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.followed_run import FollowedRun
from workbench.engine.run_settings import CHANGEABLE_BOUNDS, RunSettings
from workbench.engine.run_texts import cut_claim
from workbench.errors import UsageError
from workbench.models.base import Model, PastShare
from workbench.models.model_options import OFFLINE
from workbench.plug_points import SYNTHESIZERS
from workbench.propositions.values import MAX_STATEMENT
from workbench.store import Store
from workbench.store import events as ev
from workbench.terminal import shown_line

T = TypeVar("T")


@runtime_checkable
class Preflight(Protocol):
    """A model that can say, before a run is opened, that it will not treat a claim."""

    async def preflight(
        self, statement: str, cutoff: str, *, stages: Sequence[str], free_rules: Sequence[str]
    ) -> PastShare | None:
        """Return what history says of the claim, where the model knows; raise a ``UsageError`` with one sentence if it cannot be treated.

        ``free_rules`` are those that ask no model, for the sentence.
        """
        ...


class Agents:
    """The three agents of a run, opened by name from its settings.

    Raises ``UnknownAgent`` for a name nobody registers (it says which package is missing where the run recorded one), and
    ``BadSetting`` for settings that an agent refuses.
    """

    def __init__(self, settings: RunSettings) -> None:
        self.synthesizer: Synthesizer = _opened(open_synthesizer, settings, "synthesizer", settings.rule)
        self.grounder = grounder_of(settings)
        self.analyzer: Analyzer = _opened(open_analyzer, settings, "analyzer", settings.analyzer)


def grounder_of(settings: RunSettings) -> Grounder:
    """Return the grounder of a run; raises as `Agents`."""
    return _opened(open_grounder, settings, "grounder", settings.grounder)


def _opened(opener: Callable[..., T], settings: RunSettings, role: str, name: str) -> T:
    own, package = settings.options.get(role), settings.packages.get(role)
    return opener(name, settings.agent, options=own, package=package)


def check_statement(statement: str) -> str:
    """Return the statement with its white space folded; raises ``UsageError`` when it is empty or overlong."""
    text = " ".join(shown_line(statement).split())
    if not text:
        raise UsageError("the claim is empty: write a statement that will turn out true or false")
    if len(text) > MAX_STATEMENT:
        raise UsageError(
            f"the statement has {len(text)} characters, at most {MAX_STATEMENT} are allowed: state one claim"
        )
    return text


async def check_claim(
    statement: str, cutoff: Cutoff, settings: RunSettings, model: Model
) -> PastShare | None:
    """Refuse a claim before a run is opened for it: by its form, by the names it uses, by what the model can treat.

    Return what history says of it, where the model knows without evidence.

    Raises ``UsageError``.
    """
    text = check_statement(statement)
    # Opened for what it raises as well: an unknown agent or a bad setting must show before the run exists.
    agents = Agents(settings)
    if isinstance(model, Preflight):
        return await model.preflight(
            text, cutoff.text, stages=agents.synthesizer.stages, free_rules=rules_without_model()
        )
    return None


def rules_without_model() -> tuple[str, ...]:
    """Return the installed synthesizers that ask no model, sorted by name."""
    free = []
    for name in agent_names(SYNTHESIZERS):
        with suppress(UsageError):  # one that needs settings of its own cannot be opened to be asked
            if not open_synthesizer(name).stages:
                free.append(name)
    return tuple(free)


def new_run(
    store: Store,
    statement: str,
    cutoff: Cutoff,
    settings: RunSettings,
    *,
    read_as: Mapping[str, Any] | None = None,
    history: PastShare | None = None,
    follows: FollowedRun | None = None,
) -> str:
    """Open a run in the log and return its id; no model and no source is asked yet.

    ``follows`` makes it a review of that run: its leaves are pooled as they were, by whatever the run before had learned.

    What was written after the cutoff is cut from statement and context first, and is on the run's log.

    Raises ``UsageError`` for an empty or overlong statement, and where nothing is left of a text.
    """
    from workbench.engine.leaves.own_record import (
        with_record,  # loads numpy, which a screen need not wait for
    )

    if settings.model == OFFLINE and cutoff.live:
        # Its forecasts are made again at past cutoffs, and its sources held to what was known: of one instant.
        cutoff = Cutoff.parse(cutoff.instant.isoformat())
    text, settings, cut = cut_claim(check_statement(statement), cutoff, settings)
    started = ev.RunStarted(
        statement=text,
        cutoff=cutoff.text,
        cutoff_instant=cutoff.instant.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        settings=(settings if follows else with_record(store, cutoff, settings)).with_packages().to_json(),
        cut=cut,
        quote_key=secrets.token_hex(16),
        read_as=dict(read_as) if read_as is not None and not cut else None,
        history=history and (history.share, history.periods, history.forecast),
        fan=store.put_body(orjson.dumps(history.fan)) if history and history.fan else None,
        follows=ev.Follows(run=follows.run, body=store.put_body(follows.to_body())) if follows else None,
    )
    with (
        store.transaction()
    ):  # forty processes that open runs in one second draw one token twice now and then
        while store.has_run(run_id := _new_id()):
            continue
        store.append(run_id, started)
    return run_id


def _new_id() -> str:
    # The time makes ids sort by age and easy to name by their beginning, the token keeps two of one second apart.
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def change_run(store: Store, run_id: str, changes: Mapping[str, Any]) -> None:
    """Put on record that a run goes on with other settings; called by ``resume``, nothing where nothing changes.

    Raises `UsageError`: A value that the settings refuse, or a run that is finished. Raises `RunInWork`: Another process works on the run:
    it has read its settings already.
    """
    if not changes:
        return
    with own_run(store.folder(run_id)):
        state = load_state(store, run_id)
        if state.finished:
            raise UsageError(
                f"run {run_id} is finished, so its settings cannot be changed: start a new run with `workbench analyze`"
            )
        if "prices" in changes:
            changes = {**changes, "prices": {**state.settings.prices, **changes["prices"]}}
        state.settings.changed(changes)  # refused before it is on the log, which keeps everything
        now = state.settings.to_json()
        now |= {name: now["agent"][name] for name in CHANGEABLE_BOUNDS}
        fresh = {name: value for name, value in changes.items() if now[name] != value}
        if fresh:
            store.append(run_id, ev.RunChanged(changes=fresh))
