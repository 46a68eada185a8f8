"""Which prompts a run goes on with: those that it began with, as its manifest names them, where they are still kept."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.engine.manifest import recorded_prompts, run_manifest
from workbench.engine.rebuy import Rebuy, is_paid, unfinished
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import write_atomically
from workbench.engine.record.state import RunState
from workbench.engine.run_texts import later_texts
from workbench.formatting import first_named
from workbench.prompts import PromptSet
from workbench.resources import ResourceStop, is_resource_error, resource_line
from workbench.store import Store, StoreCorrupt

if TYPE_CHECKING:
    from workbench.engine.record.recorder import Recorder

#: Where analyzers ask at an inner node, whose synthesis comes later.
_ANALYSIS = ("analyze", "critic")
_LISTED = 5


def run_prompts(store: Store, state: RunState) -> PromptSet:
    """Return the prompts of a run; today's where its manifest names none."""

    def kept(digest: str) -> str | None:
        try:
            return store.text(digest)
        except (StoreCorrupt, UnicodeDecodeError):
            return None

    recorded = {name: each["sha256"] for name, each in recorded_prompts(store, state.run_id).items()}
    return PromptSet.of(recorded, kept, marks=state.marks)


def lost_prompts(store: Store, state: RunState, prompts: PromptSet) -> Rebuy | None:
    """Return the replies in unfinished dialogues of a run some of whose prompts are kept no more; None if all are.

    Which of them were rendered from a lost file cannot be told without it, so it is all of them, and what is open begins again.
    """
    if state.finished or not (missing := prompts.missing):
        return None
    inner = [node for node in state.tree.inner() if state.planned and state.tree[node].belief is None]
    syntheses = [(node, 0, 1 + len(state.failures.get(node, ()))) for node in inner]
    return Rebuy.at(
        store,
        state,
        [*unfinished(store, state), *syntheses],
        lambda where, _, reply: (
            is_paid(reply) and bool(where.trial or not state.planned or where.stage not in _ANALYSIS)
        ),
        f"was begun with prompts that are kept no more ({first_named(missing, _LISTED)})",
    )


def adopt_prompts(recorder: "Recorder", *, allowed: bool) -> PromptSet:
    """Return what a run goes on with, its manifest naming it; called before anything is asked.

    Raises ``RebuyNeeded`` where prompts are lost that replies on record rest on, and nobody has allowed to buy them again.
    """
    store, run_id = recorder.store, recorder.state.run_id
    prompts = run_prompts(store, recorder.state)
    due = lost_prompts(store, recorder.state, prompts)
    if due is not None:
        due.require(allowed)
    path = store.folder(run_id) / "manifest.json"
    # A kill may come before the first seal or stop, which write it too.
    if due is not None or not path.is_file():
        manifest: dict[str, Any] = run_manifest(store, recorder.state)
        with store.transaction():
            for name in prompts.fingerprints():
                store.put_body(prompts.template(name).content)
        try:
            write_atomically(path, {**manifest, "prompts": prompts.fingerprints()})
        except OSError as error:
            if not is_resource_error(error):
                raise
            raise ResourceStop(resource_line(error)) from error
    if due is not None:
        due.begin_again(recorder, "prompts that it began with are kept no more")
    return prompts


def rebuys(store: Store, runs: Sequence[str]) -> list[Rebuy]:
    """Return what these runs cannot go on without buying again; for whoever goes on with one, for studies and nights."""
    states = (load_state(store, run_id) for run_id in runs)
    dues = (
        due
        for state in states
        for due in (later_texts(store, state), lost_prompts(store, state, run_prompts(store, state)))
    )
    return [due for due in dues if due is not None and due.calls]
