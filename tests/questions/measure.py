"""How a file of labelled claims is read: ``python -m tests.questions.measure FILE`` counts, and lists what is misread or not read.

A row is JSON with ``text``, ``cutoff`` (or ``today``) and what the claim says: ``readings`` as in ``corpora/blind.jsonl``, or the slots
``series``, ``relation``, ``level``, ``unit``, ``start``, ``end`` on the row itself or under ``truth`` (``null``: it is no claim), or a
``truth`` of the kinds of `corpora/truths.py`.
"""

import json
import lzma
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tests.questions.corpora.truths import truth_verdict
from tests.questions.corpora.verdicts import (
    Verdict,
    described,
    fits,
    judged,
    judged_none,
    own_verdicts,
    said,
    verdict_of,
)
from workbench.questions.readings.read import read
from workbench.questions.readings.slots import ClaimReading

#: What a set counts as: read; rightly offered or refused; misread; not read, or only offered what it does not say.
GROUPS = {
    "read": "read",
    "suggested": "rightly offered",
    "refused rightly": "rightly offered",
    "misread": "misread",
    "refused": "not read",
    "wrong": "not read",
}


def measured(path: Path) -> list[Verdict]:
    """Return the verdict on each row of a ``.jsonl``, ``.jsonl.xz`` or ``.tsv`` file."""
    if path.suffix == ".tsv":
        return list(own_verdicts(path))
    raw = path.read_bytes()
    lines = (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode().splitlines()
    return [_verdict(json.loads(line)) for line in lines if line.strip()]


def counts(verdicts: list[Verdict]) -> dict[str, int]:
    """Return how many rows are in each group."""
    counted = Counter(GROUPS[each.verdict] for each in verdicts)
    return {group: counted[group] for group in dict.fromkeys(GROUPS.values())}


def _verdict(row: Mapping[str, Any]) -> Verdict:
    text, day = row.get("text") or row["claim"], str(row.get("cutoff") or row["today"])
    found = read(text, date.fromisoformat(day))
    if "readings" in row:
        return Verdict(text, day, verdict_of(found, dict(row)), found, row)
    truth = row.get("truth", row)
    if truth and "kind" in truth:
        return Verdict(text, day, truth_verdict(found, row), found, row)
    truths = truth if isinstance(truth, list) else [truth] if truth and truth.get("relation") else []
    right = judged(found, lambda reading: any(_says(reading, one) for one in truths))
    return Verdict(text, day, right if truths else judged_none(found), found, row)


def _says(reading: ClaimReading, truth: Mapping[str, Any]) -> bool:
    """Whether a reading says what the slots of a row do; names of relations are those of the corpora, of readings or of claims."""
    end, start = truth.get("end"), truth.get("start")
    named = truth.get("series")
    label = {
        "series": named, "second": truth.get("second") or truth.get("other"), "relation": truth["relation"],
        "level": truth.get("level"), "unit": truth.get("unit"), "count": truth.get("count"),
        "window": {"kind": truth.get("window") or "on", "start": start, "end": end},
    }  # fmt: skip
    claim = reading.says
    if named is None:
        label["series"] = claim.series
    if start and claim.start and abs((claim.start - date.fromisoformat(start)).days) > 4:
        return False
    alike = [each.relation for each in said(reading) if truth["relation"] in (claim.pattern, each.relation)]
    return any(fits(reading, {**label, "relation": relation}) for relation in (truth["relation"], *alike))


def report(verdicts: list[Verdict]) -> Iterator[str]:
    """Yield the lines that are printed."""
    for group, count in counts(verdicts).items():
        yield f"{count:4} of {len(verdicts)}  {group}"
    yield from (described(each) for each in verdicts if GROUPS[each.verdict] in ("misread", "not read"))


if __name__ == "__main__":
    print(*report(measured(Path(sys.argv[1]))), sep="\n")
