"""Store the findings of the last audit in this home: ``checks.json`` beside the run, for the page.

No record: it can be made anew, no package carries it (`archive.is_member`), and it counts only for the records that it was made
of. At a look those are compared but for the bytes of stored bodies: whoever reads a body hashes it, and an audit all.
"""

from dataclasses import asdict, dataclass
from hashlib import sha256

import orjson

from workbench.audit.check import Check
from workbench.engine.hindsight import hindsight
from workbench.engine.record.run_files import write_atomically
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.propositions.strict_json import STRICT, read_strict
from workbench.source_hash import source_hash
from workbench.store import Store

_FILE = "checks.json"
#: Events that no check reads: people's remarks on a run, and their scenarios.
_UNREAD = frozenset(
    {
        "scenario.recorded",
        "comment.added",
        "note.added",
        "outcome.recorded",
        "review.signed",
        "review.returned",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptChecks:
    """The checks, when they were made, and of which records (`checks_key`)."""

    __pydantic_config__ = STRICT

    key: str
    checked_utc: str
    checks: list[Check]


def checks_key(store: Store, state: RunState) -> str:
    """Hash all that the checks of a run look at, but for the bytes of bodies, and the checks themselves."""
    folder = store.folder(state.run_id)
    looked_at = [
        source_hash(__package__),
        store.log_head(state.run_id, before=state.seq + 1, without=_UNREAD),
        store.ledger_head(state.run_id),
        # Of files the checks ask only whether they are there; what is in them is for `verify`.
        sorted(
            f"{kind}/{path.name}" for kind in ("proofs", "sessions") for path in (folder / kind).glob("*")
        ),
        # What else they say stands in tables and settings of this machine: packages, trusted keys, ends of training.
        state.missing,
        state.imported.line() if state.imported is not None else None,
        hindsight(state.settings, state.parsed_cutoff()),
    ]
    return sha256(repr(looked_at).encode()).hexdigest()


def kept_checks(store: Store, run_id: str, key: str) -> KeptChecks | None:
    """Return the checks stored under this very key, or None."""
    try:
        document = orjson.loads((store.folder(run_id) / _FILE).read_bytes())
        kept = read_strict(KeptChecks, document, what="the stored checks")
    except (OSError, ValueError, UsageError):  # none yet, or half of one: the checks are made
        return None
    return kept if kept.key == key else None


def keep_checks(store: Store, run_id: str, kept: KeptChecks) -> None:
    """Write the checks beside the run; the newest counts, whoever else writes."""
    if not store.folder(run_id).is_dir():
        return  # the run was removed meanwhile, or has no file: no folder is made for this
    try:
        write_atomically(store.folder(run_id) / _FILE, asdict(kept))
    except OSError:
        return  # a disk that is full or only read: every page makes the checks for itself, as without this file
