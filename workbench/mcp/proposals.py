"""What a client proposes: edits, kept as scenarios of the run and never in its base, and claims, which wait for a person."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from proxies.asof.clock import Cutoff
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import with_preset
from workbench.errors import UsageError
from workbench.models.model_options import OFFLINE
from workbench.propositions import ROOT
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis.whatif.edits import Edit
from workbench.whatif.saved_scenarios import check_name, save_scenario

#: Whose the records are. A person who reads the scenarios sees that it was no person.
AUTHOR = "mcp"
#: Claims that one server takes for a person to look at.
MOST_PROPOSED = 20


@dataclass(slots=True)
class _Proposal:
    """Edits under one name; ``stored_as`` and ``seq`` are the scenario in the log and its record that they were added on."""

    edits: tuple[Edit, ...]
    stored_as: str
    seq: int


@dataclass(slots=True)
class Proposals:
    """The proposals of one server, as its client made them.

    Under a cutoff a client must not see what people did later, not even that a scenario of a name is taken. So each server
    stores under names of its own, and answers from what it was told, not from what became of it in the log.
    """

    _mark: str = field(default_factory=lambda: secrets.token_hex(3))
    _by_name: dict[tuple[str, str], _Proposal] = field(default_factory=dict)
    _claims: int = 0

    def of(self, run_id: str) -> dict[str, tuple[Edit, ...]]:
        """Return a run's proposals by name, in the order they were made."""
        return {name: proposal.edits for (run, name), proposal in self._by_name.items() if run == run_id}

    def claim(self, store: Store, statement: str, why: str, cutoff: Cutoff) -> str:
        """Open a run for a claim that nobody begins before a person said yes, and return its id.

        No model and no source is asked. The key-free analyst is to treat it; whoever approves may name another model when it begins.

        Raises ``UsageError`` for an empty or overlong claim, or where enough wait for a person.
        """
        # Of this server's own, so that what people decide meanwhile changes no answer.
        if self._claims >= MOST_PROPOSED:
            raise UsageError(
                f"{MOST_PROPOSED} claims wait for a person to look at them: propose more after that"
            )
        with store.transaction():
            run_id = new_run(store, statement, cutoff, with_preset("product", model=OFFLINE))
            state = load_state(store, run_id)
            because = f"\nbecause: {why.strip()}" if why.strip() else ""
            subject = store.put_body(f"{state.statement}\nas of {state.cutoff}{because}")
            store.append(run_id, ev.ApprovalAsked(node=ROOT, trial=1, attempt=1, what="run", subject=subject))
        self._claims += 1
        return run_id

    def keep(
        self, store: Store, seen: RunState, name: str, edits: Sequence[Edit], *, rationale: str = ""
    ) -> None:
        """Add edits to a proposal and to its scenario in the log of a run, which the client sees as ``seen``.

        Where a person changed or closed the stored scenario meanwhile, all its edits go into a new one.
        Raises ``UsageError`` for a name that says nothing, or edits that do not fit the tree.
        """
        check_name(name)
        run_id = seen.run_id

        def save(stored_as: str, edits: Sequence[Edit], base_seq: int | None) -> int:
            return save_scenario(
                store,
                run_id,
                stored_as,
                edits,
                author=AUTHOR,
                rationale=rationale,
                base_seq=base_seq,
                seen=seen,
            )

        known = self._by_name.get((run_id, name))
        whole = (*(known.edits if known else ()), *edits)
        if known is not None:
            try:
                known.seq = save(known.stored_as, edits, known.seq)
                known.edits = whole
                return
            except UsageError:
                pass  # changed by a person: what follows raises what is wrong with the edits themselves, if anything is
        stored_as = f"{name.strip()} ({AUTHOR} {self._mark}-{len(self._by_name) + 1})"
        if known is not None:
            stored_as = f"{known.stored_as}, again {secrets.token_hex(3)}"
        seq = save(stored_as, whole, None)
        self._by_name[run_id, name] = _Proposal(whole, stored_as, seq)
