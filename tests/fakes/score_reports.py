"""Scores the checks of conclusions against a file of honest reports: how many are flagged at the first reply, and by which check.

    python -m tests.fakes.score_reports FILE.jsonl

Each line of the file is an object with "claim", "cutoff", "cells" (objects with "source" and "output") and "reply"; without a file,
the 74 of ``strangers_reports.jsonl`` are scored: honest, in many voices, written before the checks were made to fit them.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.agents.errors import MalformedReply
from workbench.agents.findings.check_table import ReplyFinding, RunKind
from workbench.agents.findings.conclusion_checks import (
    ASKED_NO_DATA,
    NotebookRecord,
    conclusion_findings,
    from_no_cell,
)
from workbench.agents.replies.stage_replies import parse_conclusion

STRANGERS = Path(__file__).with_name("strangers_reports.jsonl")


def reports_in(path: Path) -> Iterator[Any]:
    """Yield the reports of a file, one a line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def findings_of(row: Mapping[str, Any]) -> tuple[tuple[ReplyFinding, ...], tuple[str, ...]]:
    """Return what the checks find in one report, and the figures that are only named as from no cell."""
    cells = {f"cell-{place:03}": cell for place, cell in enumerate(row["cells"], 1)}
    record = NotebookRecord(
        proposition=f"P1: {row['claim']}",
        printed={name: str(cell.get("output") or "") for name, cell in cells.items()},
        data_calls=sum(str(cell.get("source") or "").count("CALL_API") for cell in cells.values()),
        sources={name: str(cell.get("source") or "") for name, cell in cells.items()},
    )
    conclusion = parse_conclusion(str(row["reply"]))
    return conclusion_findings(conclusion, record, RunKind()), tuple(from_no_cell(conclusion, record.printed))


def score(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the count of reports sent back and only named, by check, and each that is sent back with its words."""
    lines: list[str] = []
    back: Counter[str] = Counter()
    named: Counter[str] = Counter()
    total = unread = returned = 0
    for place, row in enumerate(rows, 1):
        total += 1
        try:
            findings, absent = findings_of(row)
        except MalformedReply as error:
            unread += 1
            lines.append(f"{place}: cannot be read: {error}")
            continue
        sent = [item for item in findings if item.check != ASKED_NO_DATA]
        back.update(item.check for item in sent)
        named.update(item.check for item in findings if item.check == ASKED_NO_DATA)
        named.update(f"{name} from no cell" for name in absent)
        returned += bool(sent)
        lines += [f"{place}: {item.check}: {item.words}" for item in sent]
    share = 100 * returned / total if total else 0.0
    heads = [f"{returned} of {total} reports sent back ({share:.1f} %), {unread} cannot be read"]
    heads += [f"  sent back by {check}: {count}" for check, count in back.most_common()]
    heads += [f"  only named, {check}: {count}" for check, count in named.most_common()]
    return "\n".join([*heads, "", *lines])


if __name__ == "__main__":
    print(score(reports_in(Path(sys.argv[1]) if len(sys.argv) > 1 else STRANGERS)))
