"""Build the `CellResult` of a cell from its outputs, its end, and the limit that stopped it."""

import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sandbox.kernels.client import CellRun
from sandbox.types import WATCHED, CellError, CellResult, CellStatus

_TOO_MUCH = {
    "memory": "the kernel and what it started took more memory than the session may have",
    "disk": "the files of the session are more, or take more space, than it may have",
}
#: Limits that a cell runs into by itself, by the number of the error it then sees.
_BY_ERROR = {"[Errno 24]": "open_files", "[Errno 27]": "disk", "[Errno 28]": "disk"}


def exceeded_afterwards(result: CellResult, limit: str, *, died: bool) -> CellResult:
    """Correct the result of a cell whose processes or files exceeded a limit after it had ended well."""
    if not died:
        return replace(result, limit=result.limit or limit)
    text = f"KernelDied: after the cell had ended, {_TOO_MUCH.get(limit, f'its kernel ended at the limit of {limit}')}"
    error = CellError(ename="KernelDied", evalue=text.partition(": ")[2], traceback=(text,))
    output = {"output_type": "error", "ename": error.ename, "evalue": error.evalue, "traceback": [text]}
    return replace(result, status="died", limit=limit, error=error, outputs=(*result.outputs, output))


def cell_result(
    cell_id: str,
    run: CellRun,
    code: int | None,
    limit: str | None,
    duration: float,
    calls: int,
    hashes: Sequence[str],
) -> CellResult:
    """Build the result of a run."""
    # copies: what the journal has hashed must not grow when the cell's threads print later
    outputs = [dict(output) for output in run.outputs]
    if run.dropped:
        place = "are in the journal only"
        if run.lost:
            place += f", and {run.lost} of them nowhere" if run.lost < run.dropped else ""
            place = place if run.lost < run.dropped else "were dropped"
        note = f"[output cut: {run.dropped} more characters {place}]\n"
        outputs.append({"output_type": "stream", "name": "stderr", "text": note})
        limit = limit or "output_bytes"
    error = _error(outputs)
    status: CellStatus = "ok"
    broken = run.broken.is_set()
    ended = run.replied.is_set() and run.idle.is_set()  # the reply alone may come before the last output
    # both may have come before the kill that a watch asked for: the kernel is gone all the same
    if not ended or broken or (limit in WATCHED and code is not None):
        status = "timeout" if limit == "cell_seconds" else "died"
        if status == "timeout":
            why = "TimeoutError", "the cell was stopped by the clock, and its kernel with it"
        else:
            why = "KernelDied", _TOO_MUCH.get(str(limit)) or _death(run, code)
        error = CellError(ename=why[0], evalue=why[1], traceback=(f"{why[0]}: {why[1]}",))
        outputs.append(
            {"output_type": "error", "ename": why[0], "evalue": why[1], "traceback": [f"{why[0]}: {why[1]}"]}
        )
    elif limit == "cell_seconds":
        status = "timeout"
    elif (run.reply or {}).get("status") != "ok":
        status = "error"
        if error is None:
            reply = run.reply or {}
            error = CellError(ename=str(reply.get("ename", "Error")), evalue=str(reply.get("evalue", "")))
    by_itself = None if limit or status != "error" or error is None else error
    if by_itself is not None and by_itself.ename == "MemoryError":
        limit = "memory"
    if limit in _TOO_MUCH and status == "error":
        outputs.append({"output_type": "stream", "name": "stderr", "text": f"[{_TOO_MUCH[limit]}]\n"})
    if by_itself is not None and by_itself.ename == "OSError":
        limit = limit or _BY_ERROR.get(by_itself.evalue[:10])
    return CellResult(
        cell_id=cell_id,
        status=status,
        outputs=tuple(outputs),
        error=error if status != "ok" else None,
        duration_s=round(duration, 4),
        api_calls=calls,
        limit=limit,
        api_hashes=tuple(hashes),
        replaced=(run.reply or {}).get("replaced", ()),
    )


def _error(outputs: Sequence[dict[str, Any]]) -> CellError | None:
    for output in reversed(outputs):
        if output["output_type"] == "error":
            return CellError(
                ename=output["ename"], evalue=output["evalue"], traceback=tuple(output["traceback"])
            )
    return None


def _death(run: CellRun, code: int | None) -> str:
    # -9 is our own kill after a channel ended; any other code is how the kernel ended by itself
    if run.ended and code in (None, -signal.SIGKILL):
        return f"the kernel was ended: {run.ended}"
    if code is None:
        return "the kernel is gone"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        return f"the kernel was ended by {name}"
    return f"the kernel ended with exit code {code}"
