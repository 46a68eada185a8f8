"""Collect all findings of a run: leaves without data or depth, conclusions that contradict their notebook, statements, weights.

Every screen takes them from here: ``show --json`` has them under ``findings`` as ``{node, check, words}``.
"""

from collections.abc import Mapping, Sequence

from workbench.agents.findings.check_table import ReplyFinding, RunKind
from workbench.agents.findings.conclusion_checks import ASKED_NO_DATA
from workbench.agents.findings.statement_checks import findings_by_node
from workbench.audit.data_read import DATA_READ, no_data_lines
from workbench.engine.record.state import RunState
from workbench.formatting import counted, counted_drivers
from workbench.propositions import NodeId
from workbench.steps import Steps, at_once
from workbench.terminal import printable_line

#: The check that names leaves whose further analysis came to nothing.
DEPTH = "depth"
#: Lines that a screen shows; the document has all.
_LINES = 12
_REASON = 160  # characters of a reason on a line

FindingRow = Mapping[str, str]


def run_findings(state: RunState, without_data: Mapping[NodeId, str]) -> list[dict[str, str]]:
    """Return the findings of a run's checks, in the order of the tree: ``{node, check, words}``.

    ``without_data`` are the leaves that read no data (`leaves_without_data`).
    """
    return at_once(run_findings_in_steps(state, without_data))


def run_findings_in_steps(state: RunState, without_data: Mapping[NodeId, str]) -> Steps[list[dict[str, str]]]:
    """Make the rows of `run_findings`, a node at a time: of 11,111 they take 0.3 s."""
    by_node: dict[NodeId, list[ReplyFinding]] = {
        node: [ReplyFinding(check=DATA_READ, words=words)] for node, words in without_data.items()
    }
    for leaf in state.tree.leaves():
        if leaf in state.kept:
            words = f"not broken down further, though deeper analysis was asked for: {printable_line(state.kept[leaf], _REASON)}"
            by_node.setdefault(leaf, []).append(ReplyFinding(check=DEPTH, words=words))
        for number, trial in enumerate(state.trials_of(leaf), 1):
            several = f"trial {number}: " if state.settings.trials > 1 else ""
            for finding in trial.findings if trial.belief is not None else ():
                if finding.check != ASKED_NO_DATA:  # the ledger says so, and better
                    by_node.setdefault(leaf, []).append(
                        ReplyFinding(check=finding.check, words=f"{several}{finding.words}")
                    )
    kind = RunKind(live=state.parsed_cutoff().live, no_tree=not state.tree.root.children)
    for node, findings in findings_by_node(state.tree, state.parsed_cutoff().last_visible_day, kind):
        if findings:
            by_node.setdefault(node, []).extend(findings)
        yield
    return [
        {"node": node, **finding.to_json()} for node in state.tree.ids() for finding in by_node.get(node, ())
    ]


def finding_lines(rows: Sequence[FindingRow]) -> list[str]:
    """Return the lines for the screens: the leaves that read no data first, then one for each sentence with its propositions."""
    by_words: dict[str, list[NodeId]] = {}
    for row in rows:
        if row["check"] != DATA_READ:
            by_words.setdefault(row["words"], []).append(row["node"])
    lines = [f"Check: {counted_drivers(nodes)}: {words.rstrip('.')}" for words, nodes in by_words.items()]
    more = [f"Check: and {counted(len(lines) - _LINES, 'more finding')}"] if len(lines) > _LINES else []
    unread = no_data_lines({row["node"]: row["words"] for row in rows if row["check"] == DATA_READ})
    return [*unread, *lines[:_LINES], *more]
