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
from workbench.engine.evidence.asked_text_audit import cut_line, late_prompts
from workbench.engine.evidence.combined import combined_faults, rule_faults
from workbench.engine.evidence.looked_up import look_up_faults, look_up_nodes, node_look_up
from workbench.engine.evidence.time_and_money import time_and_money
from workbench.engine.evidence.web_audit import web_verdicts
from workbench.engine.hindsight import hindsight
from workbench.engine.run.files import run_manifest
from workbench.engine.run.proof_names import journal_name
from workbench.engine.run.state import RunState, load_state
from workbench.engine.wording import sent_tokens
from workbench.propositions import natural_order
from workbench.search.engines import ENGINES
from workbench.store import ApiLedger, ModelLedger, Store, StoreCorrupt
from workbench.synthesis.coherence.findings import check_tree

Verdict = Literal["ok", "warn", "bad"]
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ENGINE_PATHS = frozenset(engine.path for engine in ENGINES.values())
_SPENDERS = 12  # propositions that the line on cost names; the document has all


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question and its answer."""

    name: str
    verdict: Verdict
    found: str


def audit_run(store: Store, run_id: str, state: RunState | None = None) -> dict[str, Any]:
    """Return the audit: the checks, whether all hold, where time and money went, and the manifest.

    ``state`` where the caller has folded the run's log as it stands now.
    """
    state = state or load_state(store, run_id)
    bodies = _bodies(store, run_id)
    if bodies.verdict == "bad":
        return _page(state, [bodies], [], None)
    web = web_verdicts(store, run_id)
    return _page(
        state,
        _checks(store, state, bodies, web),
        _spending(store, state),
        run_manifest(store, state),
        time_and_money(store, state),
        web,
    )


def audit_checks(store: Store, state: RunState) -> list[Check]:
    """Return the checks, that of the stored bodies first, and alone where it fails: the others read what it is about."""
    bodies = _bodies(store, state.run_id)
    if bodies.verdict == "bad":
        return [bodies]
    return _checks(store, state, bodies, web_verdicts(store, state.run_id))


def _checks(store: Store, state: RunState, bodies: Check, web: list[dict[str, Any]]) -> list[Check]:
    rows = ApiLedger(store).rows(state.run_id)
    return [
        bodies,
        _cutoffs(state, rows),
        _dates(state, rows),
        _residual(rows),
        _recomputed(state),
        *_pooled(store, state),
        *_looked_up(store, state),
        *_coherence(state),
        *_web(web, rows),
        _isolation(state),
        *_own_words(store, state),
        *_hindsight(state),
        *_second_reading(store, state),
        *_origin(state),
        _proofs(store, state),
        _verified(state),
        *_anchors(store, state),
        _cost(store, state),
    ]


def _page(
    state: RunState,
    checks: list[Check],
    spending: list[dict[str, Any]],
    manifest: dict[str, Any] | None,
    spent: dict[str, Any] | None = None,
    web: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    return {
        "run_id": state.run_id,
        "statement": state.statement,
        "cutoff": state.cutoff,
        "passed": all(check.verdict != "bad" for check in checks),
        "checks": [asdict(check) for check in checks],
        "spending": spending,
        "time_and_money": spent,
        "web": web or [],
        "manifest": manifest,
    }


def _web(verdicts: list[dict[str, Any]], rows: list[LedgerRow]) -> list[Check]:
    """What layers 1 and 2 took out of searches; nothing where nobody searched. The document lists every verdict under ``web``."""
    searches = [row for row in rows if row.path in _ENGINE_PATHS]
    if not searches and not verdicts:
        return []
    dropped = sum(not verdict["keep"] for verdict in verdicts)
    late = sum(row.rows_dropped for row in searches)
    return [
        Check(
            name="web results",
            verdict="ok",
            found=f"{len(searches)} calls of search engines, {late} rows left out by date or words; the filter read "
            f"{len(verdicts)} results and removed {dropped}",
        )
    ]


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
    off = rule_faults(state)
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


def _pooled(store: Store, state: RunState) -> list[Check]:
    """What leaves count as, against their trials; nothing where no leaf was grounded."""
    if not state.trials:
        return []
    off = [item for item in combined_faults(store, state) if item.check in ("pooled", "root")]
    if off:
        line = "; ".join(f"{item.node}: {item.what}" for item in off[:5])
        return [Check(name="trials pooled", verdict="bad", found=line)]
    return [
        Check(
            name="trials pooled",
            verdict="ok",
            found=f"all {len(state.pooled)} leaves count as their trials say",
        )
    ]


def _looked_up(store: Store, state: RunState) -> list[Check]:
    """What synthesizers looked up for inner nodes, against the records; nothing where none did."""
    nodes = look_up_nodes(store, state)
    if not nodes:
        return []
    faults = look_up_faults(store, state)
    if faults:
        line = "; ".join(f"{node}: {what}" for node, what in faults[:5])
        return [Check(name="looked up by the synthesizer", verdict="bad", found=line)]
    listed = []
    for node, record in nodes.items():
        stored = node_look_up(store, state, node, record)
        assert stored is not None, "the log names it"
        searched = sum(len(step.calls) for step in stored.look_up.trace.steps)
        listed.append(
            f"{node}: {searched} tool calls, {len(stored.look_up.notes)} notes from {len(stored.look_up.trace.sources)} sources"
        )
    return [Check(name="looked up by the synthesizer", verdict="ok", found="; ".join(listed))]


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


def _own_words(store: Store, state: RunState) -> list[Check]:
    """What people wrote of the claim after its cutoff: what was cut, and what stands in recorded prompts; nothing for a live run."""
    if state.parsed_cutoff().live:
        return []
    late = list(late_prompts(store, state))
    first = "; ".join(f"{node} {stage}: {words[:120]!r}" for node, stage, words in late[:3])
    found = f"{len(late)} recorded prompts speak of later than the cutoff ({first})" if late else ""
    cut = cut_line(state)
    return [
        *([Check(name="cut texts", verdict="ok", found=cut)] if cut else []),
        Check(
            name="prompts",
            verdict="warn" if late else "ok",
            found=found or "no recorded prompt speaks of later than the cutoff",
        ),
    ]


def _hindsight(state: RunState) -> list[Check]:
    """A warning per model that may know the outcome; one line where none does."""
    lines = hindsight(state.settings, state.parsed_cutoff())
    if not lines:
        return [
            Check(name="hindsight", verdict="ok", found="no model of the run was trained after the cutoff")
        ]
    return [Check(name="hindsight", verdict="warn", found=line) for line in lines]


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


def _anchors(store: Store, state: RunState) -> list[Check]:
    """A warning that names the leaves whose journals the log holds no head of; nothing where no leaf has a journal."""
    sessions = store.folder(state.run_id) / "sessions"
    heads = {
        (node, trial): held.journal_head
        for (node, trial), held in state.trials.items()
        if held.belief is not None and (sessions / journal_name(node, trial, held.concluded)).is_file()
    }
    loose = natural_order({node for (node, _), head in heads.items() if head is None})
    if loose:
        return [
            Check(
                name="anchored journals",
                verdict="warn",
                found=f"not anchored, one written anew whole would pass: {', '.join(loose)}",
            )
        ]
    found = f"the log holds the head of all {len(heads)} journals"
    return [Check(name="anchored journals", verdict="ok", found=found)] if heads else []


def _verified(state: RunState) -> Check:
    """Whether the check of every concluded proof is on record, and none says that the proof differs."""
    concluded = {key: trial for key, trial in state.trials.items() if trial.belief}
    differing = [f"{node} (trial {trial})" for node, trial in state.unverified()]
    unchecked = [f"{node} (trial {n})" for (node, n), trial in concluded.items() if trial.verified is None]
    if differing:
        verdict: Verdict = "bad"
        line = f"NOT VERIFIED: {', '.join(differing)} differ from their records"
    elif unchecked:
        verdict = "warn"
        line = f"not checked yet: {', '.join(unchecked)}; `workbench verify` does it"
    else:
        verdict, line = "ok", f"{len(concluded)} proofs were checked when they were concluded"
    return Check(name="proofs verified", verdict=verdict, found=line)


def _second_reading(store: Store, state: RunState) -> list[Check]:
    """What a model of another family found in the kept texts; nothing where none was asked (``workbench leaks``)."""
    from workbench.engine.evidence.second_reading import both_late, leak_table, stored_findings

    stored = stored_findings(store, state)
    if stored is None:
        return []
    model, findings = stored
    table = leak_table(findings)
    counted = ", ".join(f"{sum(table[verdict].values())} {verdict}" for verdict in table)
    line = f"{model} read {len(findings)} kept texts: {counted}"
    late = both_late(findings)
    if late:
        places = ", ".join(dict.fromkeys(f"{row['where']} ({row['node']})" for row in late[:5]))
        return [
            Check(
                name="second reading",
                verdict="bad",
                found=f"{line}; {len(late)} late by the date rules too: {places}",
            )
        ]
    doubtful = len(findings) - sum(table["no leak"].values())
    return [Check(name="second reading", verdict="warn" if doubtful else "ok", found=line)]


def _cost(store: Store, state: RunState) -> Check:
    models = ModelLedger(store)
    cost = models.cost(state.run_id)
    text = "price unknown" if cost is None else f"${cost:.4f}"
    return Check(
        name="cost",
        verdict="ok",
        found=f"{models.count(state.run_id)} replies of {state.settings.model}, {text}{_tokens(_spending(store, state))}",
    )


def _spending(store: Store, state: RunState) -> list[dict[str, Any]]:
    """What each proposition's calls took, in the tree's order; calls for nodes that are gone come last."""
    place = {node: number for number, node in enumerate(state.tree.ids())}
    rows = ModelLedger(store).spending(state.run_id)
    return sorted(rows, key=lambda row: place.get(row["node"], len(place)))


def _tokens(spending: list[dict[str, Any]]) -> str:
    """Input tokens with the share that came from a cache, in all and per node, as far as the provider counted them."""
    counted = [row for row in spending if row["input_tokens"]]
    if not counted:
        return ""
    each = ", ".join(f"{row['node']} {sent_tokens([row])}" for row in counted[:_SPENDERS])
    more = f" and {len(counted) - _SPENDERS} more" if len(counted) > _SPENDERS else ""
    return f"; input tokens {sent_tokens(counted)}: {each}{more}"


def _instant(text: str) -> datetime | None:
    """The instant of a ledger row's cutoff; None where it is none."""
    try:
        return Cutoff.parse(text).instant
    except ProxyError:
        return None
