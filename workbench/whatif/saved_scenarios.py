"""Named scenarios of a run: each action on one is an event, made on the record before it or refused."""

from collections.abc import Iterable, Sequence
from math import fsum
from pathlib import Path
from typing import Any

from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, command
from workbench.propositions import EditConflict, Tree
from workbench.store import Store, utc_now
from workbench.store import events as ev
from workbench.synthesis.whatif.edits import Edit, play
from workbench.synthesis.whatif.scenarios import TOLERANCE, Action, Scenario, ScenarioRecord, ScenarioSet
from workbench.terminal import shown_text
from workbench.whatif.tree_documents import scenario_table

#: The tree without edits, in every comparison; no scenario may be called so.
BASE = "base"


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
    seen: RunState | None = None,
) -> int:
    """Add edits to a scenario, opened if there is none of that name; return the number of its last record.

    All of it is one transaction: no other record comes in between, and if one edit does not fit, none is kept.
    ``base_seq`` is the record the edits were made on, as ``workbench scenarios --json`` prints it; by default the scenario
    as it now stands. ``seen`` is the run as the caller may see it, in place of all its log: of that only the scenarios are read.

    Raises `EditConflict`: The scenario has changed since ``base_seq``. Raises `UsageError`: The name is empty or ``base``, or an edit does
    not fit the tree.
    """
    name = check_name(name)
    with store.transaction():
        if seen is None:
            state = load_state(store, run_id)
        else:
            state = seen.copy()
            state.scenarios = scenario_set(store, run_id)
        state.require_installed()
        saved = state.scenarios.scenarios.get(name)
        # Played for what it raises: an edit that does not fit is refused before the first record is made.
        play(state.tree, [*(saved.edits if saved else ()), *edits])
        if probability is not None:
            _check_share(state.scenarios, name, probability)
        group = _Group(store, run_id, state.scenarios, name, author)
        if saved is None:
            if base_seq is not None:
                # Raises for a scenario that does not exist: a base_seq means that the caller has seen one.
                state.scenarios[name]
            seq = group.keep("open", None, rationale=rationale, probability=probability)
        else:
            seq = saved.seq if base_seq is None else base_seq
            if probability is not None:
                seq = group.keep("weigh", seq, probability=probability)
        return group.keep_edits(seq, edits)


def change_scenario(
    store: Store,
    run_id: str,
    action: Action,
    name: str,
    *,
    author: str = "",
    base_seq: int | None = None,
    rationale: str = "",
) -> None:
    """Undo, redo, annotate or close a scenario, as it now stands or as of ``base_seq``; raises ``EditConflict`` if it changed.

    ``rationale`` is the assumption that it is annotated with, and why; the words before stay in the log.
    """
    with store.transaction():
        book = load_state(store, run_id).scenarios
        seq = book[name].seq if base_seq is None else base_seq
        _Group(store, run_id, book, name, author).keep(action, seq, rationale=rationale)


def copy_scenario(
    store: Store, run_id: str, name: str, new: str, *, author: str = "", closes: bool = False
) -> None:
    """Open a scenario with the edits and the rationale of another, which is closed where ``closes``: it goes on under the new name.

    A copy beside the old one is not weighed, or the mix would count both. All of it is one transaction.

    Raises `UsageError`: The new name is empty, ``base`` or taken.
    """
    new = check_name(new).strip()
    with store.transaction():
        book = load_state(store, run_id).scenarios
        old = book[name]
        if closes:
            closing = _Group(store, run_id, book, name, author)
            closing.keep("close", old.seq)
            book = closing.book
        group = _Group(store, run_id, book, new, author)
        probability = old.probability if closes else None
        seq = group.keep("open", None, rationale=old.rationale, probability=probability)
        group.keep_edits(seq, old.edits)


class _Group:
    """Records of one scenario that are made together: each on the one before it, all at one time."""

    def __init__(self, store: Store, run_id: str, book: ScenarioSet, name: str, author: str) -> None:
        self._store, self._run_id, self.book = store, run_id, book
        self._name, self._author, self._recorded_at = name, author, utc_now()

    def keep(self, action: Action, base_seq: int | None, **more: Any) -> int:
        record = ScenarioRecord(
            action=action,
            scenario=self._name,
            author=self._author,
            at=self._recorded_at,
            base_seq=base_seq,
            **more,
        )
        seq = self._store.append(self._run_id, ev.ScenarioRecorded(record=record.to_json()))
        self.book = self.book.apply(record, seq)
        return seq

    def keep_edits(self, seq: int, edits: Iterable[Edit]) -> int:
        """Keep edits one on the other, from a record on; return the last one's number."""
        for edit in edits:
            seq = self.keep("edit", seq, edit=edit)
        return seq


def _check_share(book: ScenarioSet, name: str, probability: float) -> None:
    others = fsum(scenario.probability or 0.0 for key, scenario in book.scenarios.items() if key != name)
    if others + probability > 1 + TOLERANCE:
        raise UsageError(
            f"the other scenarios together have a probability of {others:g}: give {name} at most {1 - others:g}"
        )


def check_name(name: str) -> str:
    """Return the name; raises ``UsageError`` for one that is empty or means the base."""
    if not name.strip():
        raise UsageError("a scenario needs a name")
    if name.strip() == BASE:
        raise UsageError(f"no scenario may be called {BASE}: that is the tree without edits")
    return shown_text(name)


def scenario_set(store: Store, run_id: str) -> ScenarioSet:
    """Fold a run's scenarios from their own records alone: of a large tree the whole fold takes half a second."""
    return ScenarioSet.fold(
        (row.seq, ScenarioRecord.from_json(row.event.record))
        for row in store.events(run_id, kinds=("scenario.recorded",))
        if isinstance(row.event, ev.ScenarioRecorded)
    )


class SavedScenarios:
    """The scenarios of one run of a home; the dashboard's panel reads and saves through it.

    Each call opens the store for itself, so that it sees what others saved and holds no file open between two clicks.
    """

    def __init__(self, home: Path, run_id: str) -> None:
        self.home = home
        self.run_id = run_id

    def table(self, tree: Tree | None = None) -> dict[str, Any]:
        """Return the document of ``workbench scenarios --json``.

        ``tree`` is the run's, where the caller has just read it: then only the scenarios' own records are read.
        """
        with Store(self.home) as store:
            if tree is not None:
                return scenario_table(tree, scenario_set(store, self.run_id), now=utc_now())
            state = load_state(store, self.run_id)
            return scenario_table(state.tree, state.scenarios, now=utc_now())

    def scenario(self, name: str) -> Scenario | None:
        """Return the open scenario of a name as it now stands, or None."""
        with Store(self.home) as store:
            return scenario_set(store, self.run_id).scenarios.get(name)

    def hold(self, name: str, edits: Sequence[Edit], *, author: str, base_seq: int | None) -> int | None:
        """Make a scenario consist of exactly these edits, and return the number of its last record.

        What it has in common with them from its beginning stays; the rest of it is undone and the rest of them added, so that
        the log shows what was edited and taken back. A scenario of no edits is not opened for nothing: None then.

        Raises `EditConflict`: Somebody else changed the scenario after ``base_seq`` (None: it did not exist).
        """
        with Store(self.home) as store, store.transaction():
            book = scenario_set(store, self.run_id)
            saved = book.scenarios.get(name)
            if (None if saved is None else saved.seq) != base_seq:
                raise EditConflict(f"scenario {name!r} was changed elsewhere meanwhile")
            if saved is None and not edits:
                return None
            group = _Group(store, self.run_id, book, name, author)
            seq = group.keep("open", None) if saved is None else saved.seq
            before = () if saved is None else saved.edits
            pairs = enumerate(zip(before, edits, strict=False))
            common = next((place for place, (old, new) in pairs if old != new), min(len(before), len(edits)))
            for _ in before[common:]:
                seq = group.keep("undo", seq)
            return group.keep_edits(seq, edits[common:])

    def save(self, name: str, edits: Sequence[Edit], *, author: str, rationale: str = "") -> dict[str, Any]:
        """Keep edits as a new scenario and return the table with it, as ``table`` would.

        The log is folded once for the check and the table: of a long run that is what takes the time.

        Raises `UsageError`: The name is in use, or there is nothing to keep.
        """
        name = check_name(name).strip()
        if not edits:
            raise UsageError("there is no edit to save yet: change a probability first")
        with Store(self.home) as store, store.transaction():
            state = load_state(store, self.run_id)
            if name in state.scenarios.scenarios:
                raise UsageError(
                    f"a scenario {name!r} already exists: choose another name, or ",
                    command("scenarios", self.run_id, close=name),
                )
            save_scenario(store, self.run_id, name, edits, author=author, rationale=rationale, seen=state)
            return scenario_table(state.tree, scenario_set(store, self.run_id), now=utc_now())
