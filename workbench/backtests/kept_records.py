"""Store records of claims in this home: ``records/KEY.json``, for every screen that shows an answer.

They can be measured anew, no package carries them, and they count for the very claim, cutoff and code that they were made with.
Screens take such a record as it stands, so a damaged or forged one is as good as none: its own hash tells.
"""

import hashlib
from pathlib import Path
from typing import Any

import orjson

from proxies.asof.clock import Cutoff
from proxies.atomic import replace_file
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.source_hash import source_hash

_FOLDER = "records"
_HASH = "hash"
#: The packages behind a forecast.
_CODE = ("workbench.backtests", "workbench.forecasts", "workbench.offline", "workbench.questions")


def code_hash() -> str:
    """Hash the source behind a forecast."""
    return source_hash(*_CODE)


def kept_record(home: Path, statement: str, cutoff: str) -> dict[str, Any] | None:
    """Return the stored record of a claim at a cutoff (`claim_record`), or None; nothing is measured."""
    if not (home / _FOLDER).is_dir():
        return None
    try:
        document = orjson.loads(_record_path(home, statement, cutoff).read_bytes())
    except (OSError, ValueError, ClaimRefused):  # none yet, half of one, or a claim that has none
        return None
    if not isinstance(document, dict):
        return None
    stored_hash = document.pop(_HASH, None)
    return document if stored_hash == _hash_of(document) else None


def measured_record(
    home: Path,
    statement: str,
    cutoff: str,
    *,
    processes: int = 1,
) -> dict[str, Any]:
    """Return the record of a claim at a cutoff, measured and stored where it was not yet.

    Raises `ClaimRefused`: The claim is none of the grammar, or cannot be asked at the cutoff.
    """
    document = kept_record(home, statement, cutoff)
    if document is None:
        # `show` and the pages read records without loading what measures them
        from workbench.backtests.claim_record import claim_record

        document = claim_record(statement, Cutoff.parse(cutoff), processes=processes)
        keep_record(home, statement, cutoff, document)
    return document


def keep_record(home: Path, statement: str, cutoff: str, document: dict[str, Any]) -> None:
    """Store a record for the screens; raises ``ClaimRefused`` for a claim that is none of the grammar."""
    stored = {**document, _HASH: _hash_of(document)}
    replace_file(_record_path(home, statement, cutoff), orjson.dumps(stored), private=True)


def _hash_of(document: dict[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _record_path(home: Path, statement: str, cutoff: str) -> Path:
    key = f"{read_claim(statement).statement}\n{cutoff}\n{code_hash()}"
    return home / _FOLDER / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
