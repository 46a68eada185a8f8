"""The proof notebook of an agent's trace: claim, plan, steps with their evidence, belief over the steps, sources, conclusion.

Text that came from outside stands in fenced blocks and can be nothing else there. All cells follow from the trace and from
the journal of its cells, so the same trace is the same file, and `verify` can make it again to compare.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sandbox.record.journal import read_journal
from sandbox.record.session_notebook import render_notebook
from workbench.agents.evidence.drawings import Drawing, svg_of

if TYPE_CHECKING:
    from workbench.agents.evidence.base import ProofContext
    from workbench.agents.evidence.trace_steps import Trace, TraceCall, TraceStep

_FENCE = re.compile(r"`{3,}")
_HEADING = re.compile(r"^(\s*#)", re.MULTILINE)
_HASH = 19  # characters of a content hash that a reader needs to find it
_WIDTH, _HEIGHT, _MARGIN = 640, 220, 40


def _opening(trace: Trace, proof: ProofContext, more: str = "") -> list[Any]:
    claim = f"# {proof.node.id}: {_inert_markdown(proof.node.statement)}\n\nKnowledge cutoff: {proof.cutoff}{more}"
    return [
        _markdown("trace-claim", claim),
        _markdown("trace-plan", f"## Plan\n\n{_inert_markdown(trace.plan)}"),
    ]


def agent_cells(trace: Trace, proof: ProofContext) -> list[Any]:
    """Return the cells of the notebook, with ids that follow from their place."""
    cells = [
        *_opening(trace, proof),
    ]
    cells += _step_cells(trace, _journal_cells(trace, proof))
    cells.append(_figure(trace))
    cells.append(_markdown("trace-sources", _sources(trace)))
    cells.append(_markdown("trace-conclusion", _conclusion(trace, proof)))
    return cells


def look_up_cells(trace: Trace, proof: ProofContext, notes: Sequence[str], fault: str) -> list[Any]:
    """Return the cells of the notebook of a synthesizer's look-up: it ends with notes and has no belief of its own."""
    noted = "\n".join(map(_inert_markdown, notes)) or f"Nothing was noted. {_inert_markdown(fault)}".rstrip()
    findings = "\n".join(f"- {_inert_markdown(finding)}" for finding in trace.findings)
    return [
        *_opening(trace, proof, "\n\nLooked up before the propositions below it were weighed."),
        *_step_cells(trace, {}),
        _markdown("trace-sources", _sources(trace)),
        _markdown("trace-notes", f"## Notes\n\n{noted}" + (f"\n\n{findings}" if findings else "")),
    ]


def computed_cells(trace: Trace, proof: ProofContext, drawing: Drawing) -> list[Any]:
    """Return the cells of a proof that no model wrote: the same parts, and a figure of what the belief was computed from."""
    conclusion = f"## Conclusion\n\np = {proof.belief.p:.4f}. {_inert_markdown(proof.belief.key_factor)}"
    return [
        *_opening(trace, proof),
        *_step_cells(trace, {}),
        _drawn(
            "trace-figure",
            "# Drawn from the records above; nothing is run here.",
            svg_of(drawing),
            drawing.words,
        ),
        _figure(trace),
        _markdown("trace-sources", _sources(trace)),
        _markdown("trace-conclusion", conclusion),
    ]


def _step_cells(trace: Trace, ran: Mapping[str, Any]) -> list[Any]:
    """A cell for each step and each of its calls; ``ran`` are notebook cells by their ids."""
    cells = []
    for number, step in enumerate(trace.steps, 1):
        cells.append(_markdown(f"trace-{number:03d}", _step(number, step)))
        for call in step.calls:
            if call.cell is not None and call.cell in ran:
                cells.append(ran[call.cell])
            else:
                cells.append(_markdown(f"trace-{number:03d}-{call.number:02d}", _call_code(call)))
    return cells


def path_of_belief(trace: Trace) -> list[tuple[int, float]]:
    """Return the belief after each step that states one, as (step, p); the last is what was submitted."""
    return [(number, step.p) for number, step in enumerate(trace.steps, 1) if step.p is not None]


def belief_figure(path: list[tuple[int, float]]) -> str:
    """Return an SVG of p over the steps; p from 0 at the bottom to 1 at the top."""
    last = max((number for number, _ in path), default=1)
    inner_width, inner_height = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN

    def across(number: int) -> float:
        return _MARGIN + inner_width * (number - 1) / max(last - 1, 1)

    def up(p: float) -> float:
        return _MARGIN + inner_height * (1 - p)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'aria-label="Belief over the steps" font-family="sans-serif" font-size="11">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_MARGIN}" y="20">Probability that the proposition is true, after each step</text>',
    ]
    for level in (0.0, 0.25, 0.5, 0.75, 1.0):
        lines.append(
            f'<line x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{up(level):.1f}" y2="{up(level):.1f}" stroke="#ddd"/>'
            f'<text x="8" y="{up(level) + 4:.1f}">{level:g}</text>'
        )
    points = " ".join(f"{across(number):.1f},{up(p):.1f}" for number, p in path)
    lines.append(f'<polyline points="{points}" fill="none" stroke="#1f4e79" stroke-width="2"/>')
    lines += [
        f'<circle cx="{across(number):.1f}" cy="{up(p):.1f}" r="4" fill="#1f4e79"><title>step {number}: {p:.4f}</title></circle>'
        f'<text x="{across(number) - 3:.1f}" y="{_HEIGHT - 18}">{number}</text>'
        for number, p in path
    ]
    lines.append(f'<text x="{_WIDTH / 2 - 12:.1f}" y="{_HEIGHT - 4}">step</text></svg>')
    return "\n".join(lines)


def _figure(trace: Trace) -> Any:
    path = path_of_belief(trace)
    words = "\n".join(f"step {number:>2}  {p:6.4f}  {'#' * round(40 * p)}" for number, p in path)
    source = "# Belief over the steps, drawn from the records above; nothing is run here."
    return _drawn("trace-belief", source, belief_figure(path), words)


def _drawn(name: str, source: str, svg: str, words: str) -> Any:
    """A code cell that was never run, with a figure and its words as its output."""
    shown = _node(output_type="display_data", metadata={}, data={"image/svg+xml": svg, "text/plain": words})
    return _node(id=name, cell_type="code", metadata={}, execution_count=None, source=source, outputs=[shown])


def _step(number: int, step: TraceStep) -> str:
    parts = [f"## {number}. {_inert_markdown(step.title)}"]
    if step.text:
        parts.append(_inert_markdown(step.text))
    if step.belief is not None:
        belief = step.belief
        parts.append(
            f"Belief: p = {belief.p:.4f}, confidence {belief.confidence}. {_inert_markdown(belief.update_reasoning)}"
        )
        if step.stated is not None:
            parts.append(f"Overwritten by an experiment: the model stated {step.stated:.4f}.")
        for name, pieces in (("For", belief.evidence_for), ("Against", belief.evidence_against)):
            if pieces:
                lines = [
                    f"- {_inert_markdown(piece.text)} [{', '.join(piece.sources) or 'no source'}]"
                    for piece in pieces
                ]
                parts.append(f"{name}:\n\n" + "\n".join(lines))
        if belief.open_questions:
            parts.append(
                "Open:\n\n" + "\n".join(f"- {_inert_markdown(item)}" for item in belief.open_questions)
            )
    elif step.p is not None:
        parts.append(f"p = {step.p:.4f}")
    parts += [_inert_markdown(note) for note in step.notes]
    return "\n\n".join(parts)


def _call_code(call: TraceCall) -> str:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False, sort_keys=True)
    lines = [
        f"`{call.tool}`" + (" (brought nothing)" if call.failed else ""),
        _fenced(arguments),
        _fenced(call.text),
    ]
    if call.answers:
        lines.append("Data: " + ", ".join(f"`{answer}`" for answer in call.answers))
    if call.marks:
        lines.append(f"**Text of this answer is addressed to the reader:** it {'; it '.join(call.marks)}.")
    return "\n\n".join(lines)


def _sources(trace: Trace) -> str:
    belief = next((step.belief for step in reversed(trace.steps) if step.belief is not None), None)
    cited: dict[str, list[str]] = {}
    for side, pieces in (
        (("for", belief.evidence_for), ("against", belief.evidence_against)) if belief else ()
    ):
        for piece in pieces:
            for identity in piece.sources:
                cited.setdefault(identity, []).append(side)
    rows = [
        f"| {source.id} | {source.published or 'undated'} | {_table_cell(source.title)} | {_table_cell(_short(source.origin))} |"
        f" {', '.join(dict.fromkeys(cited.get(source.id, ())))} |"
        for source in trace.sources
    ]
    if not rows:
        return "## Evidence\n\nNothing was looked up."
    heading = "| id | known since | what | where | in the last belief |\n| --- | --- | --- | --- | --- |"
    return "## Evidence\n\n" + "\n".join([heading, *rows])


def _short(origin: str) -> str:
    return f"{origin[:_HASH]}…" if origin.startswith("sha256:") else origin


def _conclusion(trace: Trace, proof: ProofContext) -> str:
    submission = trace.submission
    assert submission is not None, "an agent's trace has a submission"
    stated = ", ".join(f"{p:g}" for p in submission.raw)
    lines = [f"## Conclusion\n\np = {proof.belief.p:.4f}. {_inert_markdown(proof.belief.key_factor)}"]
    if trace.dates:
        pairs = zip(trace.dates, submission.raw, strict=True)
        lines.append("\n".join(f"- {_inert_markdown(day)}: {p:g}" for day, p in pairs))
    if submission.p != submission.raw[-1]:
        lines.append(f"Stated {stated}; clamped to [{trace.clamp[0]:g}, {trace.clamp[1]:g}].")
    if submission.forced:
        lines.append(f"Not submitted by the model: {_inert_markdown(submission.forced)}.")
    lines += [f"- {_inert_markdown(finding)}" for finding in trace.findings]
    if submission.reasoning:
        lines.append(_inert_markdown(submission.reasoning))
    if trace.statistics:
        lines.append("; ".join(f"{name} {value:g}" for name, value in sorted(trace.statistics.items())))
    return "\n\n".join(lines)


def _journal_cells(trace: Trace, proof: ProofContext) -> dict[str, Any]:
    if not any(call.cell is not None for step in trace.steps for call in step.calls):
        return {}

    return {cell["id"]: cell for cell in render_notebook(read_journal(proof.journal)).cells}


def _fenced(text: str) -> str:
    longest = max((len(run) for run in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _inert_markdown(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return _HEADING.sub(r"\\\1", text.replace("](", "]\\(").replace("]:", "]\\:").replace("][", "]\\["))


def _table_cell(text: str) -> str:
    """Foreign text in a table: code, and nothing else."""
    return "`" + " ".join(text.replace("`", "'").replace("|", "¦").split()) + "`"


def _markdown(name: str, source: str) -> Any:
    return _node(id=name, cell_type="markdown", metadata={}, source=source)


def _node(**parts: Any) -> Any:
    import nbformat

    return nbformat.from_dict(parts)  # type: ignore[no-untyped-call]
