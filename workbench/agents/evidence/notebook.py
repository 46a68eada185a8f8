"""The proof notebook of evidence: claim, plan, steps with their calls, figure, belief over the steps, sources, conclusion.

Text that came from outside stands in fenced blocks and can be nothing else there. All cells follow from the evidence, the
ledger and the journal of its cells, so the same evidence is the same file, and `verify` can make it again to compare.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from sandbox.record.journal import read_journal
from sandbox.record.session_notebook import KERNELSPEC, render_notebook
from workbench.agents.evidence.base import Drawing, Evidence, ProofContext, TraceCall, TraceStep

_FENCE = re.compile(r"`{3,}")
_HEADING = re.compile(r"^(\s*#)", re.MULTILINE)
_HASH = 19  # characters of a content hash that a reader needs to find it
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 640, 260, 64, 24, 34, 34
_INK, _FAINT, _MARK = "#1f4e79", "#9fb8d0", "#a23b00"


def proof_notebook(evidence: Evidence, proof: ProofContext) -> Any | None:
    """Return the valid proof notebook of evidence, or None where the session has written it."""
    cells = proof_cells(evidence, proof)
    return None if cells is None else notebook_of(cells)


def notebook_of(cells: Sequence[Mapping[str, Any]]) -> Any:
    """Return a valid notebook of these cells."""
    import nbformat

    metadata = {"kernelspec": KERNELSPEC}
    book = nbformat.from_dict(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": list(cells)}
    )  # type: ignore[no-untyped-call]
    nbformat.validate(book)
    return book


def proof_cells(evidence: Evidence, proof: ProofContext) -> list[dict[str, Any]] | None:
    """Return the cells of the proof notebook, with ids that follow from their place; None where the session's own is the proof."""
    if evidence.parts:
        return _routed_cells(evidence, proof)
    if not evidence.steps:
        return None
    cells = [*opening_cells(evidence, proof), *step_cells(evidence, proof)]
    if evidence.drawing is not None:
        cells.append(_figure("trace-figure", "The figure is", evidence.drawing))
    beliefs = [(float(number), step.p) for number, step in enumerate(evidence.steps, 1) if step.p is not None]
    if beliefs and (evidence.submission is not None or len(beliefs) > 1):
        words = ", ".join(f"step {number:g}: {p:.4f}" for number, p in beliefs)
        title = "Probability that the proposition is true, after each step"
        drawing = Drawing(title=title, words=words, points=tuple(beliefs), steps=True, low=0.0, high=1.0)
        cells.append(_figure("trace-belief", "Belief over the steps,", drawing))
    if evidence.submission is not None or evidence.sources:
        cells.append(sources_cell(evidence))
    elif rows := proof.data_calls():
        listed = (
            f"- `{row.path}` {dict(row.asked)}: {row.refused or (row.answer and row.answer.meta.get('content_hash'))}"
            for row in rows
        )
        cells.append(markdown("trace-data", "\n".join(("## Data calls\n", *listed))))
    return [*cells, markdown("trace-conclusion", "\n\n".join(_conclusion(evidence, proof)))]


def opening_cells(evidence: Evidence, proof: ProofContext, more: str = "") -> Iterator[dict[str, Any]]:
    """Yield the cells of the claim and the plan."""
    claim = f"# {proof.node.id}: {inert(proof.node.statement)}\n\nKnowledge cutoff: {proof.cutoff}{more}"
    yield markdown("trace-claim", claim)
    if evidence.plan:
        yield markdown("trace-plan", f"## Plan\n\n{inert(evidence.plan)}")


def step_cells(evidence: Evidence, proof: ProofContext) -> Iterator[dict[str, Any]]:
    """Yield a cell for each step and each of its calls; of a call that ran a notebook cell that one."""
    ran = {}
    if any(call.cell is not None for step in evidence.steps for call in step.calls):
        ran = {cell["id"]: cell for cell in render_notebook(read_journal(proof.journal)).cells}
    for number, step in enumerate(evidence.steps, 1):
        yield markdown(f"trace-{number:03d}", "\n\n".join(_step(number, step)))
        for call in step.calls:
            cell = None if call.cell is None else ran.get(call.cell)
            yield cell or markdown(f"trace-{number:03d}-{call.number:02d}", _call(call))


def _step(number: int, step: TraceStep) -> Iterator[str]:
    yield f"## {number}. {inert(step.title)}"
    if step.text:
        yield inert(step.text)
    belief = step.belief
    if belief is None:
        if step.p is not None:
            yield f"Belief after this step: p = {step.p:.4f}"
    else:
        yield f"Belief: p = {belief.p:.4f}, confidence {belief.confidence}. {inert(belief.update_reasoning)}"
        if step.stated is not None:
            yield f"Overwritten by an experiment: the model stated {step.stated:.4f}."
        for name, pieces in (("For", belief.evidence_for), ("Against", belief.evidence_against)):
            if pieces:
                lines = (
                    f"- {inert(piece.text)} [{', '.join(piece.sources) or 'no source'}]" for piece in pieces
                )
                yield f"{name}:\n\n" + "\n".join(lines)
        if belief.open_questions:
            yield "Open:\n\n" + "\n".join(f"- {inert(item)}" for item in belief.open_questions)
    yield from map(inert, step.notes)


def _call(call: TraceCall) -> str:
    lines = [
        f"`{call.tool}`" + (" (brought nothing)" if call.failed else ""),
        _fenced(json.dumps(dict(call.arguments), ensure_ascii=False, sort_keys=True)),
        _fenced(call.text),
    ]
    if call.answers:
        lines.append("Data: " + ", ".join(f"`{answer}`" for answer in call.answers))
    if call.marks:
        lines.append(f"**Text of this answer is addressed to the reader:** it {'; it '.join(call.marks)}.")
    return "\n\n".join(lines)


def sources_cell(evidence: Evidence) -> dict[str, Any]:
    """Return the cell with the table of what could be cited, and on which side the last belief cites it."""
    belief = next((step.belief for step in reversed(evidence.steps) if step.belief is not None), None)
    sides = {} if belief is None else {"for": belief.evidence_for, "against": belief.evidence_against}
    rows = []
    for source in evidence.sources:
        cited = [side for side, pieces in sides.items() if any(source.id in each.sources for each in pieces)]
        origin = f"{source.origin[:_HASH]}…" if source.origin.startswith("sha256:") else source.origin
        columns = (
            source.id,
            source.published or "undated",
            _code(source.title),
            _code(origin),
            ", ".join(cited),
        )
        rows.append(f"| {' | '.join(columns)} |")
    heading = "| id | known since | what | where | in the last belief |\n| --- | --- | --- | --- | --- |"
    table = "\n".join([heading, *rows]) if rows else "Nothing was looked up."
    return markdown("trace-sources", f"## Evidence\n\n{table}")


def _conclusion(evidence: Evidence, proof: ProofContext) -> Iterator[str]:
    yield f"## Conclusion\n\np = {proof.belief.p:.4f}. {inert(proof.belief.key_factor)}"
    submission = evidence.submission
    if submission is None:
        return
    if evidence.dates:
        pairs = zip(evidence.dates, submission.raw, strict=True)
        yield "\n".join(f"- {inert(day)}: {p:g}" for day, p in pairs)
    if submission.p != submission.raw[-1]:
        stated = ", ".join(f"{p:g}" for p in submission.raw)
        yield f"Stated {stated}; clamped to [{evidence.clamp[0]:g}, {evidence.clamp[1]:g}]."
    if submission.forced:
        yield f"Not submitted by the model: {inert(submission.forced)}."
    yield from (f"- {inert(finding)}" for finding in evidence.findings)
    if submission.reasoning:
        yield inert(submission.reasoning)
    if evidence.statistics:
        yield "; ".join(f"{name} {value:g}" for name, value in sorted(evidence.statistics.items()))


def _routed_cells(evidence: Evidence, proof: ProofContext) -> list[dict[str, Any]] | None:
    """The cells of all parts, each under its grounder's name; None where a part's session has written the notebook."""
    assert evidence.route is not None, "parts come with a route"
    books = [proof_cells(share, context) for share, context in evidence.shares(proof)]
    listed = [f"- {part.grounder}: p = {part.belief.p:.4f}" for part in evidence.parts]
    listed += [f"- {name} gave no belief: {why}" for name, why in sorted(evidence.failed.items())]
    head = (
        f"# Route of {proof.node.id}\n\nTo {' and '.join(evidence.route.grounders)}, chosen by {evidence.route.by}: "
        f"{evidence.route.reason}.\n\n"
        + "\n".join(listed)
        + f"\n\nThe leaf counts as p = {proof.belief.p:.4f}."
    )
    cells = [markdown("route", head)]
    for number, book in enumerate(books, 1):
        if book is None:
            return None
        cells += [{**cell, "id": f"part{number}-{cell['id']}"} for cell in book]
    return cells


def _figure(name: str, what: str, drawing: Drawing) -> dict[str, Any]:
    """A code cell that was never run, with a figure and its words as its output."""
    data = {"image/svg+xml": svg_of(drawing), "text/plain": drawing.words}
    shown = {"output_type": "display_data", "metadata": {}, "data": data}
    source = f"# {what} drawn from the records above; nothing is run here."
    return {"id": name, "cell_type": "code", "metadata": {}, "execution_count": None, "source": source, "outputs": [shown]}  # fmt: skip


def svg_of(drawing: Drawing) -> str:
    """Return the drawing as SVG; the same drawing gives the same text, and its label says what it shows."""
    heights = [*(value for _, value in drawing.points), *(value for value, _ in drawing.marks), *drawing.fan]
    low = min(heights, default=0.0) if drawing.low is None else drawing.low
    high = max(heights, default=1.0) if drawing.high is None else drawing.high
    places = [place for place, _ in drawing.points] or [1.0]
    first, last = places[0], max(places[-1], drawing.end or places[-1])
    span, height = max(last - first, 1e-9), max(high - low, 1e-9)

    def across(place: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (place - first) / span

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - low) / height

    def level(value: float, stroke: str) -> str:
        return f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{up(value):.1f}" y2="{up(value):.1f}" stroke={stroke}/>'

    label = html.escape(drawing.words, quote=True)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}" '
        'font-family="sans-serif" font-size="11">',
        f"<title>{label}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18">{html.escape(drawing.title)}</text>',
    ]
    for value in (low, (low + high) / 2, high):
        lines += [
            level(value, '"#ddd"'),
            f'<text x="{_LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>',
        ]
    if drawing.fan and drawing.end is not None:
        start, edge = (
            f"{across(places[-1]):.1f},{up(drawing.points[-1][1]):.1f}",
            f"{across(drawing.end):.1f}",
        )
        lines += [
            f'<polygon points="{start} {edge},{up(drawing.fan[above]):.1f} {edge},{up(drawing.fan[below]):.1f}" '
            f'fill="{_FAINT}" fill-opacity="0.5"/>'
            for below, above in ((0, 4), (1, 3))
        ]
        lines.append(
            f'<polyline points="{start} {edge},{up(drawing.fan[2]):.1f}" fill="none" stroke="{_INK}" stroke-dasharray="4 3"/>'
        )
    path = " ".join(f"{across(place):.1f},{up(value):.1f}" for place, value in drawing.points)
    lines.append(f'<polyline points="{path}" fill="none" stroke="{_INK}" stroke-width="1.5"/>')
    if drawing.steps:
        lines += [
            f'<circle cx="{across(place):.1f}" cy="{up(value):.1f}" r="4" fill="{_INK}"><title>step {place:g}: {value:.4f}</title></circle>'
            for place, value in drawing.points
        ]
    for value, words in drawing.marks:
        lines += [
            level(value, f'"{_MARK}" stroke-dasharray="2 3"'),
            f'<text x="{_LEFT + 4}" y="{up(value) - 4:.1f}" fill="{_MARK}">{html.escape(words)}</text>',
        ]
    for place, anchor in dict([(first, "start"), (last, "end")]).items():
        below = f"step {place:g}" if drawing.steps else date.fromordinal(int(place)).isoformat()
        lines.append(
            f'<text x="{across(place):.1f}" y="{_HEIGHT - 14}" text-anchor="{anchor}">{below}</text>'
        )
    return "\n".join((*lines, "</svg>"))


def _fenced(text: str) -> str:
    longest = max((len(run) for run in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def inert(text: str) -> str:
    """Return foreign text as Markdown without headings, links and markup."""
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return _HEADING.sub(r"\\\1", text.replace("](", "]\\(").replace("]:", "]\\:").replace("][", "]\\["))


def _code(text: str) -> str:
    """Foreign text in a table: code, and nothing else."""
    return "`" + " ".join(text.replace("`", "'").replace("|", "¦").split()) + "`"


def markdown(name: str, source: str) -> dict[str, Any]:
    """Return a Markdown cell."""
    return {"id": name, "cell_type": "markdown", "metadata": {}, "source": source}
