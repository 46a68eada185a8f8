"""A proof compared with its records and, where they agree, with a re-run: what ``verify`` does of a notebook."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proxies.ledger import LedgerRow
from sandbox import Sandbox
from sandbox.record.verify import Verification, compare_proof, rerun_proof


async def verify_proof(
    sandbox: Sandbox, *, journal: Path, notebook: Path, rows: Sequence[LedgerRow], **more: Any
) -> Verification:
    recorded = compare_proof(
        journal=journal, notebook=notebook, rows=rows, conclusion=more.pop("conclusion", None)
    )
    return recorded if recorded.differing else await rerun_proof(sandbox, journal=journal, rows=rows, **more)
