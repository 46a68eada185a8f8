"""Evidence of a grounder that has no notebook of its own: its steps with what each rests on, and the data answers it used."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import ConfigDict, TypeAdapter, ValidationError

from workbench.agents.loop.belief_state import BeliefState
from workbench.agents.loop.submission import Submission
from workbench.agents.loop.tools import Source
from workbench.store.errors import StoreCorrupt

if TYPE_CHECKING:
    from sandbox.record.verify import Verification
    from workbench.agents.evidence.base import ProofContext, Replay


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCall:
    """One tool call of a step.

    Parameters
    ----------
    tool, arguments : str, mapping
        As the model made it, the belief aside.
    number : int
        Its place among the calls of its step, from 1.
    call_id : str or None
        Its id in the dialogue; None where it stood in the text of a reply.
    text, sha256 : str
        What the model read, and its hash.
    answers : tuple of str
        Content hashes of the data answers it rests on.
    sources : tuple of str
        Ids that it gave out.
    marks : tuple of str
        What is remarkable about foreign text in it.
    failed : bool
    cell : str or None
        Id of the notebook cell that it ran.
    """

    tool: str
    arguments: Mapping[str, Any]
    number: int
    call_id: str | None
    text: str
    sha256: str
    answers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    failed: bool = False
    cell: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One step towards a belief.

    Parameters
    ----------
    title : str
        What was done, in a few words.
    text : str
        What came of it, as Markdown; of a step of an agent's loop the model's own words.
    p : float, optional
        Belief after the step, in [0, 1].
    answers : tuple of str
        Content hashes of the data answers that the step used (``Answer.meta["content_hash"]``).
    stage, reply : str, int or None
        Where the model's reply of this step stands in the ledger; None where no model was asked.
    calls : tuple of TraceCall
    belief : BeliefState or None
        The whole belief after the step.
    stated : float or None
        Its probability as the model stated it, where it was overwritten.
    notes : tuple of str
    status : str
        What the model was told behind the answers.
    """

    title: str
    text: str
    p: float | None = None
    answers: tuple[str, ...] = ()
    stage: str = ""
    reply: int | None = None
    calls: tuple[TraceCall, ...] = ()
    belief: BeliefState | None = None
    stated: float | None = None
    notes: tuple[str, ...] = ()
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvidence:
    """The steps of a grounding, in order; the last one that states a belief is the conclusion.

    Parameters
    ----------
    steps : tuple of TraceStep
    plan : str
        What was going to be done, as Markdown.
    submission : Submission or None
        What an agent's loop submitted; None for a grounder that has no loop. With it come ``sources`` (what could be cited),
        ``clamp`` and ``dates`` (how the submission was read), ``findings`` (what a reader should know of the result) and
        ``statistics`` (counts: steps, calls, tokens).
    web : tuple of mapping
        What became of every search result and page, with the layer that dropped it and why. For audits: it may name what is
        later than the cutoff, so the proof notebook does not show it.
    outcome, outcomes : str, mapping of str to float
        Probability of every outcome of an event, where one call was asked for all of them, and which of them the leaf is.
    form : int
        How tool answers are written, so that they can be written again from the ledger.
    combined : str or None
        Of a grounder that only thinks: how its answers came to p (``thoughts.combining``); None for every other trace.
    """

    steps: tuple[TraceStep, ...]
    plan: str = ""
    submission: Submission | None = None
    sources: tuple[Source, ...] = ()
    clamp: tuple[float, float] = (0.0, 1.0)
    dates: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    statistics: Mapping[str, float] = field(default_factory=dict)
    web: tuple[Mapping[str, Any], ...] = ()
    outcome: str = ""
    outcomes: Mapping[str, float] = field(default_factory=dict)
    form: int = 1
    combined: str | None = None

    kind: ClassVar[str] = "trace"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the trace that ``to_json`` wrote; raises ``ValueError`` for anything else."""
        try:
            read = _adapter().validate_python([{"steps": data["steps"], **data}])[0]
        except (KeyError, ValidationError) as error:
            raise ValueError(f"not a trace: {error}") from error
        return cls(**{item.name: getattr(read, item.name) for item in fields(cls)})

    def to_json(self) -> dict[str, Any]:
        """Return the trace as JSON values; what says nothing is left out, as it was before there was more than steps."""
        return {**_shortened(self, _no_trace()), "steps": [_step_json(step) for step in self.steps]}

    def render(self, proof: ProofContext) -> Any:
        """Return a notebook with the claim, a cell per step, the data calls, and the conclusion."""
        import nbformat

        from workbench.agents.evidence.trace_notebook import agent_cells

        node: Any = nbformat.NotebookNode
        if self.submission is not None:
            return notebook_of(agent_cells(self, proof))
        return notebook_of(
            [
                node(id=name, cell_type="markdown", metadata=node(), source=text)
                for name, text in self._texts(proof).items()
            ]
        )

    def _texts(self, proof: ProofContext) -> dict[str, str]:
        """The cells' texts by their ids, which are not drawn at random: the same trace is the same file."""
        texts = [f"# {proof.node.id}: {proof.node.statement}\n\nKnowledge cutoff: {proof.cutoff}"]
        for number, step in enumerate(self.steps, 1):
            belief = "" if step.p is None else f"\n\nBelief after this step: p = {step.p:.4f}"
            texts.append(f"## {number}. {step.title}\n\n{step.text}{belief}")
        rows = [
            f"- `{row.path}` {dict(row.asked)}: {row.refused or (row.answer and row.answer.meta.get('content_hash'))}"
            for row in proof.data_calls()
        ]
        if rows:
            texts.append("## Data calls\n\n" + "\n".join(rows))
        texts.append(f"## Conclusion\n\np = {proof.belief.p:.4f}. {proof.belief.key_factor}")
        return {f"trace-{number:03d}": text for number, text in enumerate(texts)}

    async def verify(self, proof: ProofContext, replay: Replay) -> Verification:
        """Compare, and run the cells again where there are any; in a thread, since the notebook is rendered and read again."""
        from workbench.agents.evidence.trace_records import rerun_cells

        compared = await asyncio.to_thread(self.compare, proof)
        if compared.differing or not any(call.cell for step in self.steps for call in step.calls):
            return compared
        return await rerun_cells(proof, replay, compared)

    def compare(self, proof: ProofContext, *, book: Any | None = None) -> Verification:
        """Compare the trace with the log, the ledgers, the journal of its cells, and the notebook that was written from it.

        ``book`` is that notebook made again, where evidence that holds this trace renders more than it.
        """
        from sandbox.record.verify import Difference, Verification
        from workbench.agents.evidence.thought_records import thought_faults
        from workbench.agents.evidence.trace_records import cell_faults, ledger_faults

        faults: list[tuple[str, str | None, str]] = []
        stated = next((step.p for step in reversed(self.steps) if step.p is not None), None)
        if stated != proof.belief.p:
            faults.append(("conclusion", None, f"the trace says {stated!r}, the log {proof.belief.p!r}"))
        try:
            rows = proof.data_calls()
            known = {row.answer.meta.get("content_hash") for row in rows if row.answer}
            if self.submission is not None:
                faults.extend(ledger_faults(self, proof, rows))
            if self.combined is not None:
                faults.extend(thought_faults(self, proof))
        except StoreCorrupt as error:
            faults.append(("ledger", None, str(error)))
        else:
            for number, step in enumerate(self.steps):
                for answer in step.answers:
                    if answer not in known:
                        faults.append(
                            ("ledger", f"trace-{number + 1:03d}", f"no data call gave the answer {answer}")
                        )
            # Only with a sound ledger: rendering the notebook to compare with reads the data calls again.
            faults.extend(cell_faults(self, proof))
            if not any(check == "chain" for check, _, _ in faults):
                faults.extend(notebook_faults(self.render(proof) if book is None else book, proof.notebook))
        return Verification(
            cells=len(self.steps),
            differing=tuple(Difference(check=check, cell=cell, what=what) for check, cell, what in faults),
        )


def notebook_of(cells: list[Any]) -> Any:
    """Return a notebook of these cells."""
    import nbformat

    # Plain nodes: nbformat's own makers validate each cell against the whole schema, and the caller validates the book.
    node: Any = nbformat.NotebookNode
    return node(nbformat=4, nbformat_minor=5, metadata=node(), cells=cells)


def notebook_faults(expected: Any, path: Path) -> list[tuple[str, str | None, str]]:
    """Return the cells in which a proof notebook on disk differs from what its evidence renders."""
    import nbformat

    if not path.is_file():
        return [("notebook", None, "the proof notebook is gone")]
    # Written and read once, so that both sides have their line ends in the same places.
    expected = nbformat.reads(nbformat.writes(expected), as_version=4)  # type: ignore[no-untyped-call]
    try:
        book = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (ValueError, nbformat.ValidationError) as error:
        return [("notebook", None, f"the proof notebook cannot be read: {error}")]
    wanted, present = ({cell.get("id"): _shown(cell) for cell in each.cells} for each in (expected, book))
    return [
        ("notebook", cell, "is not what the trace says")
        for cell in dict.fromkeys((*wanted, *present))
        if wanted.get(cell) != present.get(cell)
    ]


def _shown(cell: Any) -> tuple[str, str, list[Any]]:
    """What a reader sees of a cell."""
    outputs = [
        {key: value for key, value in output.items() if key not in ("metadata", "execution_count")}
        for output in cell.get("outputs", [])
    ]
    return cell.cell_type, cell.source, outputs


def _step_json(step: TraceStep) -> dict[str, Any]:
    least = {"title": step.title, "text": step.text, "p": step.p, "answers": step.answers}
    return {**least, **_shortened(step, _no_step())}


@cache
def _no_step() -> TraceStep:
    return TraceStep(title="", text="")


@cache
def _no_trace() -> TraceEvidence:
    return TraceEvidence(steps=())


def _shortened(record: TraceStep | TraceEvidence, blank: TraceStep | TraceEvidence) -> dict[str, Any]:
    """The fields that say something, steps aside; stored evidence of before had only those that it needed.

    Field by field: a leaf's trace is written twice, and a deep copy of all of it was a tenth of the leaf's processor time.
    """
    values = {item.name: getattr(record, item.name) for item in fields(record) if item.name != "steps"}
    return {name: _plain(value) for name, value in values.items() if value != getattr(blank, name)}


def _plain(value: Any) -> Any:
    """A field as JSON values."""
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


@cache
def _adapter() -> TypeAdapter[list[TraceEvidence]]:
    # Not strict, because stored JSON has lists for tuples; in a list, because only there pydantic takes a dataclass' config.
    return TypeAdapter(list[TraceEvidence], config=ConfigDict(extra="forbid", allow_inf_nan=False))
