"""Check whether a data folder is whole: ``workbench doctor --check`` looks at all of it, runs nothing, and names each fault."""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from proxies.hashing import sha256_of
from workbench.engine.manifest import code_hash, installed
from workbench.engine.proof_check import combined_faults, compare_trial
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import WorkbenchError
from workbench.store import Store
from workbench.store.home_folder import can_only_be_read
from workbench.store.integrity import body_states, database_faults, logged_streams, looked_at
from workbench.store.removal import settle


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFault:
    """One thing that the workbench did not leave so; ``run`` is None where it is no one run's."""

    run: str | None
    check: str
    what: str


def check_home(store: Store) -> list[HomeFault]:
    """Return the faults of a data folder: database, bodies, logs, folders, journals and notebooks.

    A removal or an import that was cut off is finished first, as every `rm`, `gc` and `import` does. A proof whose package
    was taken in although it differed is not a fault of the home; `verify` lists what differs.
    """
    if not can_only_be_read(store.home):
        settle(store)
    bodies = body_states(store)
    intact = {digest for digest, whole in bodies.items() if whole}
    database = [
        HomeFault(run=run, check="database", what=what) for run, what in database_faults(store, bodies)
    ]
    return [*database, *_folders(store), *_logs(store, intact)]


def home_document(store: Store) -> dict[str, Any]:
    """Return ``doctor --check --json``: whether the home is whole, and every fault."""
    faults = check_home(store)
    return {
        "home": str(store.home),
        "runs": len(store.run_ids()),
        "whole": not faults,
        "findings": [asdict(fault) for fault in faults],
    }


def _folders(store: Store) -> Iterator[HomeFault]:
    runs = store.home / "runs"
    run_ids = set(store.run_ids())
    for path in sorted(runs.iterdir()) if runs.is_dir() else ():
        if path.name not in run_ids and path.is_dir():
            yield HomeFault(run=None, check="folders", what=f"no record names the folder {path.name[:60]}")


def _logs(store: Store, intact: Collection[str]) -> Iterator[HomeFault]:
    """Check every log, and the proofs of every run that changed since it was last found whole."""
    earlier, now = store.whole(), {}
    checked_by = f"{code_hash()} {installed()}"
    for name in logged_streams(store):
        try:
            if ":" in name:
                store.events(name)
                continue
            now[name] = sha256_of(f"{checked_by} {looked_at(store, name, intact)}".encode())
            if earlier.get(name) == now[name]:
                continue
            for fault in _proofs(store, load_state(store, name)):
                now.pop(name, None)
                yield fault
        except WorkbenchError as error:
            now.pop(name, None)
            yield HomeFault(run=name, check="log", what=" ".join(str(error).split())[:300])
    store.keep_whole({name: digest for name, digest in now.items() if earlier.get(name) != digest})


def _proofs(store: Store, state: RunState) -> Iterator[HomeFault]:
    if (state.imported is not None and state.imported.anyway) or state.missing:
        return
    for (node, trial), record in sorted(state.trials.items()):
        # a kill between conclusion and check leaves no notebook: the resume writes it and checks it
        if record.belief is None or (record.verified is None and not state.finished):
            continue
        for item in compare_trial(store, state, node, trial).differing:
            place = f"{node} trial {trial}"
            yield HomeFault(run=state.run_id, check=item.check, what=f"{place}: {item.what}")
    for fault in combined_faults(store, state):
        yield HomeFault(run=state.run_id, check=fault.check, what=f"{fault.node}: {fault.what}")
