"""Follow a number to its evidence: a report's numbers to the cells that printed them, cells to their data calls, calls to rows.

Every screen that shows a leaf's evidence is made of this: the page, the exported note, ``workbench evidence``.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from proxies.ledger import Address, LedgerRow
from workbench.agents.errors import MalformedReply
from workbench.agents.findings.figures import figure_sources, printed_by, quoted_spans
from workbench.audit.vintages import Vintage, vintages_of
from workbench.engine.record.run_files import manifest_id, notebook_name
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.formatting import notebook_text
from workbench.propositions import NodeId
from workbench.store import ApiLedger, ModelLedger, Store, StoreCorrupt
from workbench.whatif.stored_reports import without_records

_LARGEST_FILE = 60_000_000  # bytes of a notebook
_LONGEST_OUTPUT = 20_000  # characters of one output that are searched for numbers
_FIRST_LINE = 120  # characters
_LONGEST_FINDING = 400
BEGINNING = 2_000  # bytes of an answer
_TAG_OR_ENTITY = re.compile(r"(<[^>]*>|&[#\w]+;)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One data call of a proof: its question, the request sent, the cutoff's effect, and the hash of its answer.

    ``number`` counts the calls of the trial from 1. ``params`` are as the cell wrote them, ``sent`` what went to the vendor,
    ``clamped`` what was pulled back to the cutoff. ``policy`` says how the endpoint dates its rows (publication date, vintage,
    ...), ``newest`` is the last row that came back, ``beginning`` the first characters of the answer as the cell read it.
    ``withheld`` counts rows that were known later: for people only. ``vintages`` are there where a period came in several.
    """

    number: int
    cell: str | None
    path: str
    params: Mapping[str, Any]
    sent: Sequence[Any]
    at_utc: str
    cutoff: str
    as_of: str
    policy: str
    clamped: Sequence[Any]
    undated: int
    withheld: int
    residual: str
    rows: int | None
    newest: Any
    content_hash: str
    refused: str | None
    beginning: str = ""
    vintages: tuple[Vintage, ...] = ()

    @property
    def question(self) -> str:
        """Path and parameters as one line."""
        named = ", ".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.path}({named})"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, without the answer's text: ``--call`` prints that."""
        bulky = ("beginning", "vintages")
        return {name: value for name, value in asdict(self).items() if name not in bulky}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailCell:
    """A code cell of the proof: its id in the notebook, the heading it stands under, what it printed, its data calls' numbers.

    ``findings`` are sentences on what a reader should know of it (`sandbox.types.JournalCell.findings`).
    """

    id: str
    title: str
    first_line: str
    printed: str
    calls: tuple[int, ...] = ()
    findings: tuple[str, ...] = ()

    def lines_with(self, spelling: str) -> list[str]:
        """Return the printed lines in which a quoted number stands."""
        return [line for line in self.printed.splitlines() if printed_by(spelling, [line]) is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """The evidence of one trial of a leaf, from its report down to the rows it read."""

    node: NodeId
    trial: int
    attempt: int
    statement: str
    report: str
    cells: tuple[TrailCell, ...]
    calls: tuple[Call, ...]
    #: What the conclusion of a notebook accounts with (base rate, n, ...), by name.
    figures: Mapping[str, float] = field(default_factory=dict)
    #: Id of the run's manifest, which stands at every figure of the proof.
    manifest_id: str | None = None

    def source(self, spelling: str) -> str | None:
        """Return the id of the first cell that printed a number, or one that rounds to it; None for one of the statement's."""
        if spelling in _spellings(self.statement):
            return None
        place = printed_by(spelling, [cell.printed for cell in self.cells])
        return None if place is None else self.cells[place].id

    def numbers(self) -> dict[str, str]:
        """Return the numbers of the report that a cell printed, each with that cell's id."""
        spellings = dict.fromkeys(_spellings(self.report))
        return {spelling: cell for spelling in spellings if (cell := self.source(spelling)) is not None}

    def accounting(self) -> dict[str, str | None]:
        """Return the cell behind each figure of the accounting; None for one that no cell has printed."""
        return figure_sources(self.figures, {cell.id: cell.printed for cell in self.cells})

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "node": self.node,
            "trial": self.trial,
            "attempt": self.attempt,
            "report": self.report,
            "numbers": [{"text": text, "cell": cell} for text, cell in self.numbers().items()],
            "accounting": [
                {"name": name, "value": self.figures[name], "cell": cell}
                for name, cell in self.accounting().items()
            ],
            "cells": [
                {
                    "id": cell.id,
                    "title": cell.title,
                    "first_line": cell.first_line,
                    "calls": list(cell.calls),
                    "findings": list(cell.findings),
                }
                for cell in self.cells
            ],
            "calls": [call.to_json() for call in self.calls],
        }


def evidence_trail(store: Store, state: RunState, node: NodeId, trial: int = 1) -> Trail:
    """Return the evidence of a leaf's concluded trial; raises ``UsageError`` where none is concluded."""
    if state.tree[node].children:
        raise UsageError(
            f"{node} is combined from {', '.join(state.tree[node].children)}: ask for one of those"
        )
    proof = state.trial(node, trial)
    if proof.belief is None:
        raise UsageError(f"trial {trial} of {node} has no conclusion yet")
    rows = [
        row
        for row in ApiLedger(store).rows(state.run_id, node)
        if (row.address.trial, row.address.attempt) == (trial, proof.concluded)
    ]
    written = _code_cells(store.folder(state.run_id) / "proofs" / notebook_name(node, trial))
    ids = [cell.id for cell in written]
    calls = tuple(_call_of_row(number, row, ids) for number, row in enumerate(rows, 1))
    cells = tuple(
        replace(cell, calls=tuple(call.number for call in calls if call.cell == cell.id)) for cell in written
    )
    return Trail(
        node=node,
        trial=trial,
        attempt=proof.concluded,
        statement=state.tree[node].statement,
        report=without_records(proof.belief.report),
        cells=cells,
        calls=calls,
        figures=_figures(store, state, node, trial),
        manifest_id=manifest_id(store, state.run_id),
    )


def raw_answer(store: Store, state: RunState, node: NodeId, number: int, trial: int = 1) -> bytes:
    """Return the answer of a data call as the ledger holds it, JSON as the cell read it.

    Raises ``UsageError`` for a call that there is not, or that was refused.
    """
    rows = [
        row
        for row in ApiLedger(store).rows(state.run_id, node)
        if (row.address.trial, row.address.attempt) == (trial, state.trial(node, trial).concluded)
    ]
    if not 1 <= number <= len(rows):
        raise UsageError(f"{node} made {len(rows)} data calls: name one of 1 to {len(rows)}")
    answer = rows[number - 1].answer
    if answer is None:
        raise UsageError(f"call {number} of {node} was refused: {rows[number - 1].refused}")
    return answer.body


def revised_series(store: Store, state: RunState, node: NodeId) -> dict[str, list[Any]]:
    """Return the rows of each data call of a leaf's first trial that holds a period in several vintages, by what was asked."""
    concluded = state.trial(node, 1).concluded
    series: dict[str, list[Any]] = {}
    for number, row in enumerate(ApiLedger(store).rows(state.run_id, node), 1):
        if (row.address.trial, row.address.attempt) == (1, concluded) and row.answer is not None:
            rows = _listed(row.answer.data)
            if rows and vintages_of(rows):
                series[_call_of_row(number, row, ()).question] = rows
    return series


def linked_numbers(rendered: str, trail: Trail, prefix: str) -> str:
    """Return sanitised HTML with each number that a cell printed made a link to ``prefix`` and the cell's id.

    ``prefix`` is ours; the ids are of a proof's own cells and hold letters, digits and dashes only.
    """
    parts = _TAG_OR_ENTITY.split(rendered)
    inside = 0  # of a link that the report brought along
    for place, part in enumerate(parts):
        if part.startswith("<"):
            inside += {"<a": 1, "</": -1 if part.startswith("</a") else 0}.get(part[:2].lower(), 0)
        elif not part.startswith("&") and not inside:
            parts[place] = _linked(part, trail, prefix)
    return "".join(parts)


def _linked(text: str, trail: Trail, prefix: str) -> str:
    pieces, end = [], 0
    for start, stop, spelling in quoted_spans(text):
        cell = trail.source(spelling)
        if cell is None:
            continue
        address = html.escape(f"{prefix}{cell}", quote=True)
        words = text[start:stop]
        pieces += [
            text[end:start],
            f'<a class="number" target="_self" href="{address}" title="printed by {html.escape(cell)}">{words}</a>',
        ]
        end = stop
    return "".join([*pieces, text[end:]])


def markdown_numbers(trail: Trail) -> str:
    """Return the numbers of a report as Markdown links to the places that ``markdown_places`` makes; empty without any."""
    links = [f"[{text}](#{trail.node}-{cell})" for text, cell in trail.numbers().items()]
    return f"Numbers of the report, by the cell that printed them: {', '.join(links)}" if links else ""


def markdown_places(trail: Trail) -> dict[str, str]:
    """Return, by cell, the Markdown above it: a place for links, and its data calls with their answers."""
    quoted = set(trail.numbers().values())
    by_number = {call.number: call for call in trail.calls}
    places = {}
    for cell in trail.cells:
        if cell.id in quoted or cell.calls:
            lines = [f'<a id="{trail.node}-{cell.id}"></a>*{cell.id}*']
            lines += [f"- data call {number}: {_call_words(by_number[number])}" for number in cell.calls]
            places[cell.id] = "\n".join([lines[0], "", *lines[1:]]).strip()
    return places


def _call_words(call: Call) -> str:
    if call.refused:
        return f"{_code(call.question)}, refused: {_code(call.refused)}"
    clamped = _code(", ".join(map(str, call.clamped))) if call.clamped else "nothing"
    return (
        f"{_code(call.question)}, as of {call.as_of}, dated by {call.policy.replace('_', ' ')}; clamped: {clamped};"
        f" answer {_code(call.content_hash)}"
    )


def _code(text: str) -> str:
    return f"`{' '.join(text.replace('`', ' ').split())[:400]}`"


def _spellings(report: str) -> list[str]:
    return [spelling for _, _, spelling in quoted_spans(report)]


def _call_of_row(number: int, row: LedgerRow, cells: Sequence[str]) -> Call:
    meta = row.answer.meta if row.answer is not None else {}
    place = row.address.step
    from_cell = row.address.stage == "cell" and 0 <= place < len(cells)
    listed = _listed(row.answer.data) if row.answer is not None else None
    return Call(
        number=number,
        cell=cells[place] if from_cell else None,
        path=row.path,
        params=row.asked,
        sent=row.sent,
        at_utc=row.at_utc,
        cutoff=row.cutoff,
        as_of=str(meta.get("as_of", "")),
        policy=str(meta.get("policy", "")),
        clamped=list(meta.get("clamped") or ()),
        undated=int(meta.get("undated") or 0),
        withheld=int(row.rows_dropped),
        residual=str(meta.get("residual", "")),
        rows=None if listed is None else len(listed),
        newest=listed[-1] if listed else None,
        content_hash=str(meta.get("content_hash", "")),
        refused=row.refused,
        beginning="" if row.answer is None else row.answer.body[:BEGINNING].decode("utf-8", "replace"),
        vintages=vintages_of(listed),
    )


def _listed(data: Any) -> list[Any] | None:
    """Find the rows of an answer: it is a list, or holds one; of several the longest."""
    if isinstance(data, list):
        return data
    lists = [value for value in data.values() if isinstance(value, list)] if isinstance(data, dict) else []
    return max(lists, key=len) if lists else None


def notebook_cells(path: Path) -> list[dict[str, Any]]:
    """Read the cells of a proof notebook as far as they are any; raises ``UsageError`` for what is none."""
    # Not nbformat, whose import takes a second; the audit and the import validate notebooks.
    try:
        if (size := path.stat().st_size) > _LARGEST_FILE:
            raise UsageError(f"{path.name} has {size // 1_000_000} MB, too much for this page")
        notebook = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(f"no notebook at {path}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path.name} cannot be read as a notebook: {type(error).__name__}") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise UsageError(f"{path.name} is not a notebook of format 4")
    return [cell for cell in cells if isinstance(cell, dict)]


def _code_cells(path: Path) -> list[TrailCell]:
    """Read the code cells of a proof notebook; a damaged file has none: the audit says so."""
    try:
        cells = notebook_cells(path)
    except UsageError:
        return []
    code_cells, title = [], ""
    for cell in cells:
        source = notebook_text(cell.get("source"))
        if cell.get("cell_type") == "markdown":
            headings = [line.lstrip("#").strip() for line in source.splitlines() if line.startswith("#")]
            title = headings[0][:_FIRST_LINE] if headings else title
        if cell.get("cell_type") != "code":
            continue
        first = next((line.strip() for line in source.splitlines() if line.strip()), "")
        code_cells.append(
            TrailCell(
                id=cell_anchor(cell.get("id")),
                title=title,
                first_line=first[:_FIRST_LINE],
                printed=_printed(cell.get("outputs")),
                findings=_findings(cell.get("metadata")),
            )
        )
    return code_cells


def cell_anchor(value: object) -> str:
    """Return a cell's id as a name that a link can have; what is no letter, digit or dash of ASCII is left out.

    >>> cell_anchor("cell-002"), cell_anchor('"><script>')
    ('cell-002', 'script')
    """
    return re.sub(r"[^A-Za-z0-9-]", "", str(value))[:64]


def _findings(metadata: object) -> tuple[str, ...]:
    facts = metadata.get("analyst") if isinstance(metadata, dict) else None
    findings = facts.get("findings") if isinstance(facts, dict) else None
    return (
        tuple(text[:_LONGEST_FINDING] for text in findings if isinstance(text, str))
        if isinstance(findings, list)
        else ()
    )


def _figures(store: Store, state: RunState, node: NodeId, trial: int) -> dict[str, float]:
    """Read the figures of a conclusion from its recorded reply; other evidence than a notebook's rests on no cells."""
    proof = state.trial(node, trial)
    if proof.evidence is None or proof.evidence.kind != "notebook":
        return {}
    # Reading replies takes 30 ms to import, which commands that show no evidence are spared.
    from workbench.agents.replies.stage_replies import parse_conclusion

    place = Address(
        run=state.run_id,
        node=node,
        trial=trial,
        attempt=proof.concluded,
        stage="conclude",
    )
    try:
        reply = ModelLedger(store).last_reply(place)
        return parse_conclusion(reply.text).numbers.figures() if reply is not None else {}
    except (StoreCorrupt, MalformedReply):  # the audit says so
        return {}


def _printed(outputs: object) -> str:
    texts = []
    for output in outputs if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        text = output.get("text") if output.get("output_type") == "stream" else None
        if text is None and isinstance(data, dict):
            text = data.get("text/plain")
        if text is not None:
            texts.append(notebook_text(text)[:_LONGEST_OUTPUT])
    return "\n".join(texts)
