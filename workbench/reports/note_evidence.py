"""Collect the evidence of a leaf for a note: report, plots, cells, data calls, and comparisons of no weight."""

import re
from dataclasses import dataclass, field

from workbench.audit.vintages import Vintage
from workbench.engine.record.run_files import notebook_name
from workbench.engine.record.state import RunState
from workbench.formatting import percent
from workbench.propositions import NodeId
from workbench.reports.note_plots import Plot, proof_plots
from workbench.store import Store, StoreCorrupt
from workbench.templates import brief
from workbench.views.trail import Trail, TrailCell, evidence_trail
from workbench.whatif.band import past_windows
from workbench.whatif.stored_reports import without_records

LONGEST_REPORT = 40_000  # characters
_LONGEST_LINE = 240  # of what a cell printed
#: Of a statement or a key factor: our own have at most 600, a stranger's may have millions.
_LONGEST_WORDS = 2_000
#: A sentence on figures of no weight, to its full stop: one before a blank or at the end of the line.
_NO_WEIGHT = re.compile(r"(?:(?<=\. )|^)[^.\n]*\bwith weight 0:[^\n]*?\.(?=\s|$) ?", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteEvidence:
    """The evidence of a leaf."""

    id: NodeId
    statement: str
    p: float | None
    key_factor: str
    report: str
    #: How far it may be off by what is on record: its trials, or the windows it rests on; empty where neither says.
    spread: str
    verified: bool | None
    #: What its value rests on instead where it read no data; empty for others.
    without_data: str = ""
    #: What its report shows for comparison, with no weight in the answer.
    compared: tuple[str, ...] = ()
    plots: list[Plot] = field(default_factory=list)
    trail: Trail | None = None

    @property
    def vintages(self) -> list[tuple[Vintage, ...]]:
        """The revisions of each series that the leaf read in several vintages."""
        return [] if self.trail is None else [call.vintages for call in self.trail.calls if call.vintages]

    def sources(self) -> list[tuple[TrailCell, list[str]]]:
        """Return the cells that printed a number of the report or read data, each with those printed lines."""
        if self.trail is None:
            return []
        quoted: dict[str, list[str]] = {}
        for spelling, place in self.trail.numbers().items():
            quoted.setdefault(place, []).append(spelling)
        return [
            (
                cell,
                list(
                    dict.fromkeys(
                        line.strip()[:_LONGEST_LINE]
                        for spelling in quoted.get(cell.id, ())
                        for line in cell.lines_with(spelling)[:1]
                    )
                ),
            )
            for cell in self.trail.cells
            if cell.id in quoted or cell.calls
        ]


def leaf_evidence(store: Store, state: RunState, leaf: NodeId, without_data: str) -> NoteEvidence:
    """Collect the evidence of a leaf; ``without_data`` names what its value rests on where it read no data."""
    proposition = state.tree[leaf]
    belief = proposition.belief
    values = [trial.belief.p for trial in state.trials_of(leaf) if trial.belief]
    path = store.folder(state.run_id) / "proofs" / notebook_name(leaf, 1)
    report, compared = without_comparisons(_report(belief.report, proposition.statement) if belief else "")
    return NoteEvidence(
        id=leaf,
        statement=shown_words(proposition.statement),
        p=belief.p if belief else None,
        key_factor=shown_words(belief.key_factor) if belief else "",
        report=report,
        compared=compared,
        spread=f"Trials: {', '.join(map(percent, values))}" if len(values) > 1 else _by_chance(state, leaf),
        verified=state.verified(leaf),
        without_data=without_data,
        plots=proof_plots(path, f"{leaf}, {shown_words(proposition.statement)}") if path.is_file() else [],
        trail=_trail(store, state, leaf),
    )


def _by_chance(state: RunState, leaf: NodeId) -> str:
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
