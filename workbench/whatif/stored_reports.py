"""Read the records for programs in a report, lines that are one JSON object, and strip them from its text."""

import json
from typing import TYPE_CHECKING, Any

import orjson

from workbench.propositions import Proposition, Tree

if TYPE_CHECKING:
    from workbench.engine.record.state import RunState


def run_base_rate(state: "RunState") -> float | None:
    """Return the base rate of a run's claim: its report's, before there is one what history said when the run was opened, else None."""
    reported = report_base_rate(state.tree.root)
    return state.history.share if reported is None and state.history else reported


def report_base_rate(proposition: Proposition) -> float | None:
    """Return the base rate that a proposition's report carries in a JSON line (key ``base_rate``), else None."""
    record = _own_record(proposition)
    return None if record is None else float(record["base_rate"])


def report_forecast(proposition: Proposition) -> float | None:
    """Return the forecast from a proposition's own series, before any edit, as its report carries it, else None."""
    record = _own_record(proposition) or {}
    value = record.get("forecast", record.get("p"))
    return float(value) if "record" in record and isinstance(value, int | float) else None


def _own_record(proposition: Proposition) -> dict[str, Any] | None:
    """Find the first JSON line of a proposition's report with a base rate in [0, 1].

    The report of an inner one may quote the lines of what stands below it: a line that names another statement is not its own.
    """
    belief = proposition.belief
    for line in (belief.report if belief else "").splitlines():
        text = line.strip()
        if text.startswith("{") and '"base_rate"' in text:
            try:
                record: dict[str, Any] = json.loads(text)
            except json.JSONDecodeError:
                continue  # prose that happens to begin with a brace
            value = record.get("base_rate")
            if record.get("statement", proposition.statement) != proposition.statement:
                continue
            if isinstance(value, int | float) and 0 <= value <= 1:
                return record
    return None


def root_prior(tree: Tree) -> dict[str, Any] | None:
    """Return the answer that the model gave before it saw the drivers (``prior``, ``n``, ``cases``), else None.

    It is the last line of the root's report that is a record of this form (``agents.synthesizers.root_prior``).
    """
    belief = tree.root.belief
    for line in reversed((belief.report if belief else "").splitlines()):
        if line.startswith('{"prior": ') and _is_object(line):
            record = json.loads(line)
            if isinstance(record["prior"], int | float) and 0 <= record["prior"] <= 1:
                return {name: record.get(name) for name in ("prior", "n", "cases")}
    return None


def without_records(report: str) -> str:
    """Return a report without the lines that are one JSON object: records for programs, a page long, which the proof has too.

    A line that announces such a record, and so ends in a colon, goes with it.
    """
    lines: list[str] = []
    for line in report.splitlines():
        if line.startswith("{") and _is_object(line):
            while lines and not lines[-1].strip():
                lines.pop()
            if lines and lines[-1].rstrip().endswith(":"):
                lines.pop()
            continue
        lines.append(line)
    return "\n".join(lines).strip()


def _is_object(line: str) -> bool:
    try:
        return isinstance(orjson.loads(line), dict)
    except ValueError:
        return False
