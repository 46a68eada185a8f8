"""What the files of a trial are called: proof notebook, session and journal."""

from workbench.errors import UsageError
from workbench.propositions import NodeId
from workbench.propositions.ids import require_id

#: Largest number of a trial or attempt; both stand in file names.
MAX_NUMBER = 9999


def notebook_name(node: NodeId, trial: int) -> str:
    """Return the proof notebook's file name: ``P2.1.ipynb``, and ``P2.1.t2.ipynb`` for the second trial.

    Raises ``IdMismatch`` for a node that is no id: a path is made of it.
    """
    _check_numbers(trial)
    return f"{require_id(node)}.ipynb" if trial == 1 else f"{require_id(node)}.t{trial}.ipynb"


def session_name(node: NodeId, trial: int, attempt: int) -> str:
    """Return the name of a grounding's session: ``P2.1.1.1``; raises ``IdMismatch`` for a node that is no id."""
    _check_numbers(trial, attempt)
    return f"{require_id(node)}.{trial}.{attempt}"


def journal_name(node: NodeId, trial: int, attempt: int) -> str:
    """Return the file name of a session's journal: ``P2.1.1.1.jsonl``."""
    return f"{session_name(node, trial, attempt)}.jsonl"


def _check_numbers(*numbers: object) -> None:
    for number in numbers:
        # Not isinstance: True is an int to it, and would end up in a file name.
        if type(number) is not int or not 1 <= number <= MAX_NUMBER:
            raise UsageError(f"trials and attempts are numbers from 1 to {MAX_NUMBER}, not {number!r:.40}")
