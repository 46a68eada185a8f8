"""The evidence of a leaf as blocks of a note: report, plots, the cells and data calls behind it, revisions of its series."""

import json
import re
from collections.abc import Iterable

from workbench.engine.record.run_files import notebook_name
from workbench.engine.record.state import RunState
from workbench.formatting import percent
from workbench.propositions import NodeId
from workbench.reports.note_plots import proof_plots
from workbench.reports.note_tree import Block, Cell, Heading, Picture, Report, Revisions, Table, Text
from workbench.store import Store, StoreCorrupt
from workbench.templates import brief
from workbench.views.trail import Call, Trail, evidence_trail
from workbench.whatif.band import past_windows
from workbench.whatif.stored_reports import without_records

LONGEST_REPORT = 40_000  # characters
_LONGEST_LINE = 240  # of what a cell printed
#: Of a statement or a key factor: our own have at most 600, a stranger's may have millions.
_LONGEST_WORDS = 2_000
#: A sentence on figures of no weight, to its full stop: one before a blank or at the end of the line.
_NO_WEIGHT = re.compile(r"(?:(?<=\. )|^)[^.\n]*\bwith weight 0:[^\n]*?\.(?=\s|$) ?", re.MULTILINE)


def leaf_evidence(
    store: Store, state: RunState, leaf: NodeId, without_data: str
) -> tuple[list[Block], tuple[str, ...]]:
    """Return the evidence of a leaf, and what its report shows for comparison, with no weight in the answer.

    ``without_data`` names what its value rests on where it read no data.
    """
    belief, statement = state.tree[leaf].belief, shown_words(state.tree[leaf].statement)
    path = store.folder(state.run_id) / "proofs" / notebook_name(leaf, 1)
    report, compared = without_comparisons(
        _report(belief.report, state.tree[leaf].statement) if belief else ""
    )
    key_factor = shown_words(belief.key_factor) if belief else ""
    plots = proof_plots(path, f"{leaf}, {statement}") if path.is_file() else []
    if not (key_factor or report or plots or without_data):
        return [], compared
    trail, spread = _trail(store, state, leaf), _spread(state, leaf)
    blocks: list[Block] = [Heading(f"{statement}: {percent(belief.p if belief else None)}", 2, leaf)]
    verified = state.verified(leaf)
    if verified is not None:
        blocks.append(
            Text("The proof was run a second time and showed the same.", "soft")
            if verified
            else Text("The proof differs from its record.", "alarm")
        )
    blocks += [Text(f"Read no data: {without_data}", "alarm")] if without_data else []
    blocks += [Text(spread, "soft")] if spread else []
    blocks += [Text(key_factor, "strong")] if key_factor else []
    blocks += [Report(report, leaf, trail)] if report else []
    blocks += map(Picture, plots)
    if trail is not None:
        blocks += _sources(state.run_id, trail)
    return blocks, compared


def _sources(run_id: str, trail: Trail) -> Iterable[Block]:
    """List the cells that printed a number of the report or read data, each with those printed lines, and the data calls."""
    quoted: dict[str, list[str]] = {}
    for spelling, place in trail.numbers().items():
        quoted.setdefault(place, []).append(spelling)
    rows = []
    for cell in trail.cells:
        if cell.id in quoted or cell.calls:
            printed = dict.fromkeys(
                line.strip()[:_LONGEST_LINE]
                for spelling in quoted.get(cell.id, ())
                for line in cell.lines_with(spelling)[:1]
            )
            links = [(f"data call {number}", f"{trail.node}-call-{number}") for number in cell.calls]
            rows.append(
                (
                    Cell(text=cell.id, anchor=f"{trail.node}-{cell.id}"),
                    Cell(text=cell.title or cell.first_line, below=list(printed), links=links),
                )
            )
    for call in trail.calls:
        rows.append(
            (
                Cell(text=f"data call {call.number}", anchor=f"{trail.node}-call-{call.number}"),
                Cell(
                    text=brief(call.question), below=[_answered(run_id, trail.node, call)], raw=call.beginning
                ),
            )
        )
    if rows:
        yield Heading("What it rests on", 3)
        yield Table((), rows, (0.18, 0.82), "trail")
    yield from (Revisions(call.vintages) for call in trail.calls if call.vintages)


def _answered(run_id: str, leaf: NodeId, call: Call) -> str:
    if call.refused:
        return f"refused: {brief(call.refused)}"
    clamped = brief(", ".join(map(str, call.clamped))) if call.clamped else "nothing"
    parts = [
        f"as of {call.as_of}, dated by {call.policy.replace('_', ' ')}",
        f"clamped: {clamped}",
        f"{call.withheld} later rows withheld",
    ]
    if call.rows is not None:
        newest = (
            "" if call.newest is None else f", the last {brief(json.dumps(call.newest, ensure_ascii=False))}"
        )
        parts.append(f"{call.rows} rows{newest}")
    parts.append(
        f"answer {call.content_hash}, whole in the package (workbench evidence {run_id} {leaf} --call {call.number})"
    )
    return "; ".join(parts)


def _spread(state: RunState, leaf: NodeId) -> str:
    """Say how far a leaf may be off by what is on record: its trials, or the windows it rests on."""
    values = [trial.belief.p for trial in state.trials_of(leaf) if trial.belief]
    if len(values) > 1:
        return f"Trials: {', '.join(map(percent, values))}"
    windows, p = past_windows(state.tree, [leaf]).get(leaf), state.tree[leaf].p
    return "" if windows is None or p is None else windows.line(p)


def _trail(store: Store, state: RunState, leaf: NodeId) -> Trail | None:
    """Trace the report of a leaf with one trial; several trials have their reports in their notebooks."""
    proof = state.trial(leaf, 1)
    if proof.belief is None or len(state.trials_of(leaf)) > 1:
        return None
    try:
        return evidence_trail(store, state, leaf)
    except StoreCorrupt:  # the audit names it
        return None


def shown_words(text: str) -> str:
    """Cut a statement or a key factor that a stranger made millions long."""
    return brief(text, _LONGEST_WORDS)


def _report(report: str, statement: str) -> str:
    # Many reports begin with the statement in bold, which is the heading above them in every note.
    text = without_records(report).removeprefix(f"**{statement}**").strip()
    return text if len(text) <= LONGEST_REPORT else f"{text[:LONGEST_REPORT]} … (cut: the proof has all)"


def without_comparisons(report: str) -> tuple[str, tuple[str, ...]]:
    """Split a report into its text and its sentences on figures of no weight.

    They answer a question that nobody has on page 3, and raise one in every meeting: the note has them in an appendix.

    >>> without_comparisons("p = 0.6. Shown for comparison, with weight 0: linear 1.000, walk 0.51. What is weak: little.")
    ('p = 0.6. What is weak: little.', ('Shown for comparison, with weight 0: linear 1.000, walk 0.51.',))
    """
    sentences = tuple(match[0].strip() for match in _NO_WEIGHT.finditer(report))
    return (_NO_WEIGHT.sub("", report).strip(), sentences) if sentences else (report, ())
