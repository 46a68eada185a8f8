"""Records of claims as they were last measured in this home: ``records/KEY.json``, for every screen that shows an answer.

They can be measured anew, no package carries them, and they count for the very claim, cutoff and code that they were made with.
"""

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from proxies.asof.clock import Cutoff
from proxies.atomic import replace_file
from proxies.errors import ProxyError
from workbench.backtests.claim_backtest import code_hash
from workbench.backtests.claim_record import claim_record
from workbench.backtests.parallel import processes_here
from workbench.errors import WorkbenchError
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim

#: Environment variable; ``off`` measures no record beside a run.
SWITCH = "WORKBENCH_RECORD"


def _record_path(home: Path, statement: str, cutoff: str) -> Path | None:
    """Where the record of a claim at a cutoff is kept; None for a claim that has none."""
    try:
        claim = read_claim(statement)
    except ClaimRefused:
        return None
    said = f"{claim.statement}\n{cutoff}\n{code_hash()}"
    return home / "records" / f"{hashlib.sha256(said.encode()).hexdigest()[:32]}.json"


def kept_record(home: Path, statement: str, cutoff: str) -> dict[str, Any] | None:
    """Return the record that was measured of a claim at a cutoff (`claim_record`), or None; nothing is measured."""
    path = _record_path(home, statement, cutoff)
    try:
        document = None if path is None else orjson.loads(path.read_bytes())
    except (OSError, ValueError):  # none yet, or half of one
        return None
    return document if isinstance(document, dict) and "record" in document else None


def measured_record(
    home: Path,
    statement: str,
    cutoff: str,
    *,
    processes: int | None = None,
    progress: Callable[[int, int], None] = lambda done, count: None,
) -> dict[str, Any]:
    """Return the record of a claim at a cutoff, measured and kept where it was not yet.

    Raises
    ------
    ClaimRefused
        The claim is none of the grammar, or cannot be asked at the cutoff.
    """
    document = kept_record(home, statement, cutoff)
    if document is None:
        document = claim_record(
            statement, Cutoff.parse(cutoff), processes=processes or processes_here(), progress=progress
        )
        path = _record_path(home, statement, cutoff)
        assert path is not None, "its claim was read"
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, orjson.dumps(document))
    return document


class RecordBeside:
    """Measures the record of a run's claim in processes of its own while the tree is grounded; commands start it and wait at the end.

    Parameters
    ----------
    home : Path
    statement, cutoff : str
        Of the run.
    """

    def __init__(self, home: Path, statement: str, cutoff: str) -> None:
        self._arguments = (home, statement, cutoff)
        self._thread = threading.Thread(target=self._measure, name="record", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until the record is there, no longer than so many seconds."""
        self._thread.join(seconds)

    def _measure(self) -> None:
        try:
            measured_record(*self._arguments)
        except (WorkbenchError, ProxyError, OSError):
            return  # the answer stands without it, and says that it has none
