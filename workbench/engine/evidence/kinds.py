"""What kind of run is audited. A check is a total function of it: for every kind it says what it looks at, or that there is nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.ledger import LedgerRow
from workbench.engine.run.state import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """What is special of a run; a dated run of this home that ran to its end has none of these, and several may hold.

    Attributes
    ----------
    live : bool
        Its cutoff is ``now``: every call is clamped at its own instant.
    clairvoyant : bool
        It may look up the answer, as an upper bound.
    imported : bool
        It came out of a package: its records are its sender's.
    no_kernel : bool
        No kernel was started.
    no_tree : bool
        The claim was not broken down, or not yet.
    stopped : bool
        It has not ended.
    no_data : bool
        No data call is on record.
    """

    live: bool = False
    clairvoyant: bool = False
    imported: bool = False
    no_kernel: bool = False
    no_tree: bool = False
    stopped: bool = False
    no_data: bool = False

    @classmethod
    def of(cls, state: RunState, rows: Sequence[LedgerRow]) -> "RunKind":
        """Return the kind of a run from its log and its data calls."""
        return cls(
            live=Cutoff.parse(state.cutoff).live,
            clairvoyant=_clairvoyant(state.settings.options.get("grounder")),
            imported=state.imported is not None,
            no_kernel=state.isolation is None,
            no_tree=not state.tree.root.children,
            stopped=not state.finished,
            no_data=not rows,
        )

    def names(self) -> tuple[str, ...]:
        """Return what holds, in words."""
        return tuple(item.name.replace("_", " ") for item in fields(self) if getattr(self, item.name))


def _clairvoyant(options: Any) -> bool:
    """Whether a grounder's settings, or those of one that a router opens, make it clairvoyant."""
    if not isinstance(options, Mapping):
        return False
    return options.get("clairvoyant") is True or any(map(_clairvoyant, options.values()))
