"""The audit page of a run: checks that anybody can repeat from the database alone, each with what it found.

A check is ``ok``, ``warn`` (a person should look) or ``bad`` (the run does not hold what it claims).
"""

import re
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any, Literal

from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from proxies.ledger import LedgerRow
from workbench.engine.run.files import run_manifest
from workbench.engine.run.state import RunState, load_state
from workbench.store import ApiLedger, ModelLedger, Store, StoreCorrupt
from workbench.synthesis import evaluate
from workbench.synthesis.coherence.findings import check_tree

Verdict = Literal["ok", "warn", "bad"]
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
#: How far a stored p may be from the one its rule gives: the last bits of a sum.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question and its answer."""

    name: str
    verdict: Verdict
    found: str


def audit_run(store: Store, run_id: str) -> dict[str, Any]:
    """Return the audit: the checks, whether all hold, and the manifest."""
    state = load_state(store, run_id)
    bodies = _bodies(store, run_id)
    if bodies.verdict == "bad":  # what the other checks would read is not what was written
        return _page(state, [bodies], None)
    rows = ApiLedger(store).rows(run_id)
    checks = [
        bodies,
        _cutoffs(state, rows),
        _dates(state, rows),
        _residual(rows),
        _recomputed(state),
        *_coherence(state),
        _isolation(state),
        *_origin(state),
        _proofs(store, state),
        _cost(store, state),
    ]
    return _page(state, checks, run_manifest(store, state))


def _page(state: RunState, checks: list[Check], manifest: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "run_id": state.run_id,
        "statement": state.statement,
        "cutoff": state.cutoff,
        "passed": all(check.verdict != "bad" for check in checks),
        "checks": [asdict(check) for check in checks],
        "manifest": manifest,
    }


def _bodies(store: Store, run_id: str) -> Check:
    digests = {use.digest for use in store.run_bodies(run_id)}
    for digest in sorted(digests):
        try:
            store.body(digest)
        except StoreCorrupt as error:
            return Check(name="stored bodies", verdict="bad", found=str(error))
    return Check(
        name="stored bodies",
        verdict="ok",
        found=f"{len(digests)} requests, replies and answers have the hash they are filed under",
    )


def _cutoffs(state: RunState, rows: list[LedgerRow]) -> Check:
    pinned = datetime.fromisoformat(state.cutoff_instant.replace("Z", "+00:00"))
    # A cutoff that cannot be read counts as late: the check must not pass on what it does not understand.
    late = [row for row in rows if _instant(row.cutoff) is None or (_instant(row.cutoff) or pinned) > pinned]
    if late:
        return Check(
            name="one cutoff",
            verdict="bad",
            found=f"{len(late)} data calls were made at a later cutoff than {state.cutoff}",
        )
    return Check(
        name="one cutoff",
        verdict="ok",
        found=f"all {len(rows)} data calls were clamped at {state.cutoff_instant} or earlier",
    )


def _dates(state: RunState, rows: list[LedgerRow]) -> Check:
    cutoff = Cutoff.parse(state.cutoff)
    if cutoff.live:
        return Check(
            name="dates in answers", verdict="ok", found="the run is live: nothing is later than now"
        )
    last = cutoff.last_moment_day
    late: Counter[str] = Counter()
    seen = 0
    for row in rows:
        # Only a warning below: what was announced before the cutoff may well be dated after it.
        for day in _days(row.answer.data if row.answer else None):
            seen += 1
            if day > last:
                late[row.path] += 1
    if late:
        named = ", ".join(f"{path} ({count})" for path, count in late.most_common(5))
        return Check(
            name="dates in answers",
            verdict="warn",
            found=f"rows dated after the cutoff, look whether they were announced before it: {named}",
        )
    return Check(name="dates in answers", verdict="ok", found=f"{seen} dated rows, none after {last}")


def _days(value: Any) -> list[date]:
    """The days in the ``date`` fields of an answer's rows."""
    days, pending = [], [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            text = item.get("date")
            if isinstance(text, str) and _DAY.match(text):
                try:
                    days.append(date.fromisoformat(text[:10]))
                except ValueError:
                    continue  # 2018-02-30 in a vendor's row is no day
            pending.extend(child for child in item.values() if isinstance(child, dict | list))
        elif isinstance(item, list):
            pending.extend(item)
    return days


def _residual(rows: list[LedgerRow]) -> Check:
    levels = Counter(str(row.answer.meta.get("residual", "none")) for row in rows if row.answer)
    refused = sum(1 for row in rows if row.refused)
    dropped = sum(row.rows_dropped for row in rows)
    text = ", ".join(f"{count} {level}" for level, count in sorted(levels.items())) or "no data was read"
    verdict: Verdict = "warn" if levels.get("high") else "ok"
    return Check(
        name="residual risk of the data",
        verdict=verdict,
        found=f"{text}; {dropped} rows dropped, {refused} calls refused",
    )


def _recomputed(state: RunState) -> Check:
    tree = state.tree
    if tree.root.p is None:
        return Check(name="root recomputed", verdict="warn", found="the root has no probability yet")
    result = evaluate(tree)
    off = [
        node
        for node in tree.inner()
        if (computed := result.values.get(node)) is not None
        and abs(computed - (tree[node].p or 0.0)) > TOLERANCE
    ]
    if off:
        return Check(
            name="root recomputed",
            verdict="bad",
            found=f"the stored p of {', '.join(off)} is not what the rule gives",
        )
    return Check(
        name="root recomputed",
        verdict="ok",
        found=f"all {len(tree.inner())} inner nodes follow from their children by their stored rules",
    )


def _coherence(state: RunState) -> list[Check]:
    findings = check_tree(state.tree)
    if not findings:
        return [
            Check(
                name="coherence",
                verdict="ok",
                found="no contradiction among the propositions, polarity agrees with every sign",
            )
        ]
    return [
        Check(name="coherence", verdict="warn", found=f"{item.kind}: {item.message}") for item in findings
    ]


def _isolation(state: RunState) -> Check:
    if state.isolation is None:
        return Check(name="isolation", verdict="warn", found="no kernel was started")
    verdict: Verdict = "warn" if state.isolation == "none" else "ok"
    level = (
        "kernels ran UNSEALED" if state.isolation == "none" else f"kernels were sealed by {state.isolation}"
    )
    return Check(name="isolation", verdict=verdict, found=level)


def _origin(state: RunState) -> list[Check]:
    """Nothing for a run of this home; a warning for one that came out of a package."""
    if state.imported is None:
        return []
    differing = "".join(f"; {line}" for line in state.imported.differing)
    return [Check(name="origin", verdict="warn", found=state.imported.line() + differing)]


def _proofs(store: Store, state: RunState) -> Check:
    folder = store.folder(state.run_id) / "proofs"
    grounded = [leaf for leaf in state.tree.leaves() if state.node_status(leaf) == "grounded"]
    missing = [leaf for leaf in grounded if not (folder / f"{leaf}.ipynb").is_file()]
    # A tree that was imported as JSON or CSV has values without trials: nothing was proved, so nothing is missing.
    if missing and any(key[0] in missing for key in state.trials):
        return Check(name="proof notebooks", verdict="bad", found=f"missing: {', '.join(missing)}")
    return Check(
        name="proof notebooks",
        verdict="ok",
        found=f"{len(grounded) - len(missing)} of {len(grounded)} grounded leaves have one",
    )


def _cost(store: Store, state: RunState) -> Check:
    models = ModelLedger(store)
    cost = models.cost(state.run_id)
    text = "price unknown" if cost is None else f"${cost:.4f}"
    return Check(
        name="cost",
        verdict="ok",
        found=f"{models.count(state.run_id)} replies of {state.settings.model}, {text}",
    )


def _instant(text: str) -> datetime | None:
    """The instant of a ledger row's cutoff; None where it is none."""
    try:
        return Cutoff.parse(text).instant
    except ProxyError:
        return None
