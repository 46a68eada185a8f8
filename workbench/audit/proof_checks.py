"""Check a run's results: values that follow, proofs that hold, seals, hindsight, the run's origin."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.annotations.second_opinions import both_late, leak_table, stored_findings
from workbench.audit.check import Answer, Records
from workbench.engine.access.look_up_records import look_up_faults, look_up_nodes, node_look_up
from workbench.engine.hindsight import hindsight
from workbench.engine.proof_check import combined_faults, rule_faults
from workbench.engine.record.run_files import journal_name
from workbench.errors import command, sentence
from workbench.formatting import counted, sandbox_words, sent_tokens
from workbench.propositions import natural_order
from workbench.store import ModelLedger
from workbench.synthesis.coherence.findings import check_tree_in_steps

_SPENDERS = 12  # propositions that the line on cost names; the document has all


def root_recomputed(records: Records) -> list[Answer]:
    """Check whether every inner node follows from its children by its stored rule."""
    tree = records.state.tree
    if tree.root.p is None:
        return [("warn", "the claim has no probability yet")]
    if off := rule_faults(records.state):
        return [("bad", f"the stored p of {', '.join(off)} is not what the rule gives")]
    return [
        ("ok", f"all {len(tree.inner())} inner drivers follow from those below them by their stored rules")
    ]


def root_alone(records: Records) -> list[Answer]:
    """Answer for a claim without propositions below it: nothing is combined."""
    if records.state.tree.root.p is None:
        return [("warn", "the claim has no probability yet")]
    return [("ok", "the claim was not broken down, so no value is combined from others")]


def trials_pooled(records: Records) -> list[Answer]:
    """Compare leaves' values with their trials; no answer where no leaf was grounded."""
    state = records.state
    if not state.trials:
        return []
    off = [item for item in combined_faults(records.store, state) if item.check in ("pooled", "root")]
    if off:
        return [("bad", "; ".join(f"{item.node}: {item.what}" for item in off[:5]))]
    return [("ok", f"all {len(state.pooled)} drivers have the value that their own forecasts give")]


def look_ups(records: Records) -> list[Answer]:
    """Compare synthesizers' look-ups for inner nodes with the records; no answer where there were none."""
    store, state = records.store, records.state
    nodes = look_up_nodes(store, state)
    if not nodes:
        return []
    if faults := look_up_faults(store, state):
        return [("bad", "; ".join(f"{node}: {what}" for node, what in faults[:5]))]
    listed = []
    for node, record in nodes.items():
        stored = node_look_up(store, state, node, record)
        assert stored is not None, "the log names it"
        searched = sum(len(step.calls) for step in stored.look_up.trace.steps)
        listed.append(
            f"{node}: {counted(searched, 'tool call')}, {counted(len(stored.look_up.notes), 'note')} from {counted(len(stored.look_up.trace.sources), 'source')}"
        )
    return [("ok", "; ".join(listed))]


def coherence(records: Records) -> Iterator[Answer | None]:
    """Warn of each contradiction among the propositions."""
    contradictions = yield from check_tree_in_steps(records.state.tree)
    for item in contradictions:
        yield "warn", f"{item.kind}: {item.message}"
    if not contradictions:
        yield "ok", "no contradiction among the drivers, polarity agrees with every sign"


def isolation(records: Records) -> list[Answer]:
    """Name the seal of the code behind the evidence."""
    level = records.state.isolation
    if level == "none":
        return [("warn", "the code ran unsealed")]
    word = ", by its sender's word" if records.kind.imported else ""
    return [("ok", f"the code ran {sandbox_words(level)}{word}")]


def without_kernel(records: Records) -> list[Answer]:
    """Answer for a run whose log names no seal: no proof may be of cells then."""
    trials = records.state.trials.items()
    cells = natural_order(
        {node for (node, _), trial in trials if trial.evidence and trial.evidence.kind == "notebook"}
    )
    if cells:
        return [
            ("warn", f"the log names no seal, and there are cells that ran somewhere: {', '.join(cells)}")
        ]
    return [("ok", "no kernel was started, so no cell ran")]


def known_outcome(records: Records) -> list[Answer]:
    """Warn of each model that may know the outcome; one line where none does."""
    lines = hindsight(records.state.settings, records.state.parsed_cutoff())
    return [("warn", line) for line in lines] or [("ok", "no model of the run was trained after the cutoff")]


def second_opinions(records: Records) -> list[Answer]:
    """Sum up what a model of another family found in the stored texts; no answer where none was asked (``workbench leaks``)."""
    stored = stored_findings(records.store, records.state)
    if stored is None:
        return []
    model, findings = stored
    table = leak_table(findings)
    counted = ", ".join(f"{sum(table[verdict].values())} {verdict}" for verdict in table)
    line = f"{model} read {len(findings)} kept texts: {counted}"
    if late := both_late(findings):
        places = ", ".join(dict.fromkeys(f"{row['where']} ({row['node']})" for row in late[:5]))
        return [("bad", f"{line}; {len(late)} late by the date rules too: {places}")]
    doubtful = len(findings) - sum(table["no leak"].values())
    return [("warn" if doubtful else "ok", line)]


def origin(records: Records) -> list[Answer]:
    """Warn of a run that came out of a package."""
    imported = records.state.imported
    assert imported is not None, "asked of imported runs"
    differing = "".join(f"; {line}" for line in imported.differing)
    return [("warn", imported.line() + differing)]


def proof_notebooks(records: Records) -> list[Answer]:
    """Check whether every leaf that was proved has its notebook."""
    state = records.state
    folder = records.store.folder(state.run_id) / "proofs"
    # Listed at once: to ask the disk about each of ten thousand leaves takes 55 ms.
    there = {entry.name for entry in os.scandir(folder) if entry.is_file()} if folder.is_dir() else set()
    grounded = [leaf for leaf in state.tree.leaves() if state.node_status(leaf) == "grounded"]
    missing = [leaf for leaf in grounded if f"{leaf}.ipynb" not in there]
    # A tree that was imported as JSON or CSV has values without trials: nothing was proved, so nothing is missing.
    if missing and any(key[0] in missing for key in state.trials):
        return [("bad", f"missing: {', '.join(missing)}")]
    return [("ok", f"{len(grounded) - len(missing)} of {len(grounded)} drivers with evidence have one")]


def proofs_verified(records: Records) -> list[Answer]:
    """Check whether every concluded proof has a check on record, and none differs."""
    state = records.state
    concluded = {key: trial for key, trial in state.trials.items() if trial.belief}
    if differing := [f"{node} (trial {trial})" for node, trial in state.unverified()]:
        return [("bad", f"not verified: {', '.join(differing)} differ from their records")]
    unchecked = [f"{node} (trial {n})" for (node, n), trial in concluded.items() if trial.verified is None]
    if unchecked:
        line = sentence(f"not checked yet: {', '.join(unchecked)}; ", command("verify"), " does it")
        return [("warn", line)]
    return [("ok", f"{len(concluded)} proofs were checked when they were concluded")]


def anchored_journals(records: Records) -> list[Answer]:
    """Name the leaves whose journals the log holds no head of, as a fault; no answer where no leaf has a journal."""
    sessions = records.store.folder(records.state.run_id) / "sessions"
    heads = {
        (node, trial): record.journal_head
        for (node, trial), record in records.state.trials.items()
        if record.belief is not None and (sessions / journal_name(node, trial, record.concluded)).is_file()
    }
    loose = natural_order({node for (node, _), head in heads.items() if head is None})
    if loose:
        return [("bad", f"the log does not name their last step: {', '.join(loose)}")]
    if not heads:
        return []
    return [("ok", f"the last step of all {len(heads)} is in the log, so no rewriting goes unseen")]


def cost(records: Records) -> list[Answer]:
    """Add up the cost of the run's replies."""
    models, state = ModelLedger(records.store), records.state
    dollars = models.cost(state.run_id)
    text = "price unknown" if dollars is None else f"${dollars:.4f}"
    names = " and ".join(dict.fromkeys((state.settings.model, *state.settings.direct_models)))
    replies = f"{models.count(state.run_id)} replies of {names}, {text}"
    return [("ok", replies + tokens(records.spending))]


def tokens(spending: Sequence[Mapping[str, Any]]) -> str:
    """Return input tokens with the share that came from a cache, in all and per node, as far as the provider counted them."""
    counted = [row for row in spending if row["input_tokens"]]
    if not counted:
        return ""
    by_node = ", ".join(f"{row['node']} {sent_tokens([row])}" for row in counted[:_SPENDERS])
    more = f" and {len(counted) - _SPENDERS} more" if len(counted) > _SPENDERS else ""
    return f"; input tokens {sent_tokens(counted)}: {by_node}{more}"
