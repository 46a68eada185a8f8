"""Named what-ifs of a run: each thing that happens to one is an event, made on the record before it or refused."""

from collections.abc import Sequence
from math import fsum
from pathlib import Path
from typing import Any

from workbench.engine.state import fold, load_state
from workbench.errors import UsageError
from workbench.propositions import EditConflict
from workbench.propositions.edits import Edit
from workbench.propositions.scenarios import Action, ScenarioRecord
from workbench.store import Store, StoredEvent, utc_now
from workbench.store import events as ev
from workbench.synthesis.commands import scenario_table
from workbench.synthesis.scenarios import TOLERANCE, play

#: The tree without edits, in every comparison; no scenario may be called so.
BASE = "base"


def record_scenario(store: Store, run_id: str, record: ScenarioRecord) -> int:
    """Keep what happened to a scenario and return the event's number.

    Raises ``EditConflict`` where it was made on an older state of the scenario.
    """

    def fits(events: list[StoredEvent]) -> None:
        fold(store, events).scenarios.apply(record, events[-1].seq + 1)

    return store.append(run_id, ev.ScenarioRecorded(record=record.to_json()), guard=fits)


def save_scenario(
    store: Store,
    run_id: str,
    name: str,
    edits: Sequence[Edit],
    *,
    author: str = "",
    rationale: str = "",
    probability: float | None = None,
    base_seq: int | None = None,
) -> int:
    """Put edits into a scenario, opening it where there is none of that name; returns its last record's number.

    ``base_seq`` is the record the edits were made on, as ``workbench scenarios --json`` prints it; the scenario as it now
    stands unless given. Every edit is made on the one before it, so nobody else's can slip in between unseen.

    Raises
    ------
    EditConflict
        The scenario has changed since ``base_seq``.
    UsageError
        The name is empty or ``base``, or an edit does not fit the tree.
    """
    state = load_state(store, run_id)
    known = state.scenarios.scenarios.get(name)
    check_name(name)
    play(
        state.tree, [*(known.edits if known else ()), *edits]
    )  # what does not fit is refused before any is kept
    if probability is not None:
        others = [each.probability or 0.0 for key, each in state.scenarios.scenarios.items() if key != name]
        if fsum([probability, *others]) > 1 + TOLERANCE:
            raise UsageError(
                f"the other scenarios are held {fsum(others):g} likely already: {name} can take {1 - fsum(others):g} at most"
            )

    def keep(action: Action, base: int | None, edit: Edit | None = None, **more: Any) -> int:
        record = ScenarioRecord(
            action=action, scenario=name, author=author, at=utc_now(), base_seq=base, edit=edit, **more
        )
        return record_scenario(store, run_id, record)

    if known is None:
        if base_seq is not None:
            state.scenarios[name]
        seq = keep("open", None, rationale=rationale, probability=probability)
    else:
        seq = known.seq if base_seq is None else base_seq
        if probability is not None:
            seq = keep("weigh", seq, probability=probability)
    for done, edit in enumerate(edits):
        try:
            seq = keep("edit", seq, edit)
        except EditConflict as error:
            raise EditConflict(f"{error} ({done} of {len(edits)} edits are in)") from None
    return seq


def change_scenario(
    store: Store, run_id: str, action: Action, name: str, *, author: str = "", base_seq: int | None = None
) -> None:
    """Undo, redo or close a scenario, as it now stands or as of ``base_seq``."""
    scenario = load_state(store, run_id).scenarios[name]
    record = ScenarioRecord(
        action=action,
        scenario=name,
        author=author,
        at=utc_now(),
        base_seq=scenario.seq if base_seq is None else base_seq,
    )
    record_scenario(store, run_id, record)


def check_name(name: str) -> str:
    """Return the name; raises ``UsageError`` for one that says nothing or means the base."""
    if not name.strip():
        raise UsageError("a scenario needs a name")
    if name.strip() == BASE:
        raise UsageError(f"no scenario may be called {BASE}: that is the tree without edits")
    return name


class Shelf:
    """The scenarios of one run of a home, for a screen: looked up afresh each time, so it sees what others saved.

    Parameters
    ----------
    home : Path
        The data folder.
    run_id : str
    """

    def __init__(self, home: Path, run_id: str) -> None:
        self.home = home
        self.run_id = run_id

    def table(self) -> dict[str, Any]:
        """Return what ``workbench scenarios --json`` prints."""
        store = Store(self.home)
        try:
            state = load_state(store, self.run_id)
            return scenario_table(state.tree, state.scenarios, now=utc_now())
        finally:
            store.close()

    def save(self, name: str, edits: Sequence[Edit], *, author: str, rationale: str = "") -> None:
        """Keep edits as a new scenario; raises ``UsageError`` when the name is taken or there is nothing to keep."""
        name = check_name(name).strip()
        if not edits:
            raise UsageError("nothing is edited yet: change a probability first")
        store = Store(self.home)
        try:
            if name in load_state(store, self.run_id).scenarios.scenarios:
                raise UsageError(
                    f"a scenario {name!r} is there already: choose another name, or"
                    f" `workbench scenarios {self.run_id} --close {name!r}`"
                )
            save_scenario(store, self.run_id, name, edits, author=author, rationale=rationale)
        finally:
            store.close()
