"""Evidence of the router: which grounders a leaf went to and why, with the evidence of each, verified by its own kind."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from workbench.agents.evidence.base import (
    DataCalls,
    Evidence,
    ProofContext,
    RecordedReply,
    Replay,
    read_evidence,
)
from workbench.agents.evidence.trace import notebook_of
from workbench.agents.routing import Route
from workbench.formatting import percent, points_apart
from workbench.propositions import Belief
from workbench.propositions.errors import TreeFormatError
from workbench.propositions.strict_json import read_strict
from workbench.science.pooling.pool import pool_logit_mean

if TYPE_CHECKING:
    from proxies.ledger import LedgerRow
    from sandbox.record.verify import Difference, Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedPart:
    """One grounder's share: its belief, its evidence, and the first step of its data calls in the ledger."""

    grounder: str
    first_step: int
    belief: Belief
    evidence: Evidence


def pooled_belief(parts: tuple[RoutedPart, ...], route: Route) -> Belief:
    """Return what a leaf counts as: the one grounder's belief as it is, of several the logit mean with their disagreement in words."""
    if len(parts) == 1:
        return parts[0].belief
    values = {part.grounder: part.belief.p for part in parts}
    p = float(pool_logit_mean([list(values.values())])[0])
    listed = ", ".join(f"{name} {percent(value)}" for name, value in values.items())
    lowest, highest = min(values.values()), max(values.values())
    gap = points_apart(lowest, highest)
    reports = "\n\n".join(
        f"## {part.grounder}: {percent(part.belief.p)}\n\n{part.belief.report}" for part in parts
    )
    return Belief(
        p=p,
        key_factor=f"{listed}: {gap} apart, pooled to {percent(p)}.",
        report=f"Grounded by {' and '.join(values)} ({route.by}: {route.reason}). Their logit mean counts: {percent(p)}; they lie "
        f"{gap} apart ({listed}).\n\n{reports}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedEvidence:
    """A route and the evidence of the grounders on it; ``failed`` says of others why they gave no belief."""

    route: Route
    parts: tuple[RoutedPart, ...]
    failed: dict[str, str] = field(default_factory=dict)

    kind: ClassVar[str] = "routed"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the evidence that ``to_json`` wrote; raises ``ValueError`` for anything else, ``MissingEvidence`` for a part of unknown kind."""
        try:
            parts = tuple(
                RoutedPart(
                    grounder=str(part["grounder"]),
                    first_step=int(part["first_step"]),
                    belief=read_strict(Belief, part["belief"], what="a part's belief"),
                    evidence=read_evidence(str(part["kind"]), part["evidence"]),
                )
                for part in data["parts"]
            )
            route = read_strict(Route, data["route"], what="the route")
            failed = {str(name): str(why) for name, why in data["failed"].items()}
        except (KeyError, TypeError, AttributeError, TreeFormatError) as error:
            raise ValueError(f"not the evidence of a route: {error!r:.200}") from error
        if not parts or any(part.evidence.kind == cls.kind for part in parts):
            raise ValueError("not the evidence of a route: it needs parts, and none of them a route itself")
        return cls(route=route, parts=parts, failed=failed)

    def to_json(self) -> dict[str, Any]:
        """Return route and parts as JSON values."""
        return {
            "route": self.route.to_json(),
            "failed": self.failed,
            "parts": [
                {
                    "grounder": part.grounder,
                    "first_step": part.first_step,
                    "belief": asdict(part.belief),
                    "kind": part.evidence.kind,
                    "evidence": part.evidence.to_json(),
                }
                for part in self.parts
            ],
        }

    def render(self, proof: ProofContext) -> Any | None:
        """Return one notebook of all parts, each under its grounder's name; None where a part's session has written it already."""
        books = [part.evidence.render(self._context(part, proof)) for part in self.parts]
        if any(book is None for book in books):
            return None
        import nbformat

        node: Any = nbformat.NotebookNode
        cells = [node(id=_HEAD, cell_type="markdown", metadata=node(), source=self._head(proof))]
        for number, book in enumerate(books):
            assert book is not None, "every part has rendered"
            cells += [node(cell, id=f"{_prefix(number)}{cell['id']}") for cell in book.cells]
        return notebook_of(cells)

    def _head(self, proof: ProofContext) -> str:
        failed = "".join(f"\n- {name} gave no belief: {why}" for name, why in sorted(self.failed.items()))
        listed = "".join(f"\n- {part.grounder}: p = {part.belief.p:.4f}" for part in self.parts)
        return (
            f"# Route of {proof.node.id}\n\nTo {' and '.join(self.route.grounders)}, chosen by {self.route.by}: {self.route.reason}.\n{listed}"
            f"{failed}\n\nThe leaf counts as p = {proof.belief.p:.4f}."
        )

    def _context(self, part: RoutedPart, proof: ProofContext) -> ProofContext:
        replies = cache(lambda: _own_replies(proof.replies(), part.first_step))
        return replace(
            proof,
            belief=part.belief,
            data_calls=_own_calls(proof.data_calls, part.first_step),
            replies=replies,
            last_reply=lambda stage: next(
                (each.reply for each in reversed(replies()) if each.stage == stage), None
            ),
        )

    def compare(self, proof: ProofContext) -> Verification:
        """Compare every part with the records by its own kind, and the pooled belief with the parts'."""
        with tempfile.TemporaryDirectory() as folder:
            outcomes = [
                part.evidence.compare(context) for part, context in self._contexts(proof, Path(folder))
            ]
        return self._joined(proof, outcomes)

    async def verify(self, proof: ProofContext, replay: Replay) -> Verification:
        """Do what ``compare`` does, each part re-run as its own kind is."""
        with tempfile.TemporaryDirectory() as folder:
            outcomes = [
                await part.evidence.verify(context, replay)
                for part, context in self._contexts(proof, Path(folder))
            ]
        return self._joined(proof, outcomes)

    def _contexts(self, proof: ProofContext, folder: Path) -> list[tuple[RoutedPart, ProofContext]]:
        """Each part with the records as it knows them; the cells of a common notebook are handed back to it in a file of its own."""
        import nbformat

        written = []
        contexts = [(part, self._context(part, proof)) for part in self.parts]
        renders = [part.evidence.render(context) for part, context in contexts]
        common = all(book is not None for book in renders) and proof.notebook.is_file()
        try:
            book = nbformat.read(proof.notebook, as_version=4) if common else None  # type: ignore[no-untyped-call]
        except (ValueError, nbformat.ValidationError):
            book = None  # the part says that its notebook is gone
        for number, ((part, context), own) in enumerate(zip(contexts, renders, strict=True)):
            if own is None:  # its session wrote the notebook itself
                written.append((part, context))
                continue
            path = folder / f"{number}.ipynb"
            if all(other is not None for other in renders):
                cells = (
                    []
                    if book is None
                    else [cell for cell in book.cells if cell.get("id", "").startswith(_prefix(number))]
                )
                node: Any = nbformat.NotebookNode
                own.cells = [node(cell, id=cell["id"].removeprefix(_prefix(number))) for cell in cells]
            path.write_text(nbformat.writes(own), encoding="utf-8")  # type: ignore[no-untyped-call]
            written.append((part, replace(context, notebook=path)))
        return written

    def _joined(self, proof: ProofContext, outcomes: list[Verification]) -> Verification:
        from sandbox.record.verify import Verification

        faults = [
            replace(item, what=f"{part.grounder}: {item.what}" if len(self.parts) > 1 else item.what)
            for part, outcome in zip(self.parts, outcomes, strict=True)
            for item in outcome.differing
        ]
        belief = pooled_belief(self.parts, self.route)
        if abs(belief.p - proof.belief.p) > 1e-12 or belief.key_factor != proof.belief.key_factor:
            faults.append(
                _fault("conclusion", None, f"the parts give {belief.p!r}, the log {proof.belief.p!r}")
            )
        faults += self._head_faults(proof)
        return Verification(
            cells=sum(outcome.cells for outcome in outcomes),
            differing=tuple(faults),
            advisory=tuple(item for outcome in outcomes for item in outcome.advisory),
            unrepeatable=tuple(item for outcome in outcomes for item in outcome.unrepeatable),
        )

    def _head_faults(self, proof: ProofContext) -> list[Difference]:
        import nbformat

        if self.render(proof) is None:
            return []
        try:
            book = nbformat.read(proof.notebook, as_version=4)  # type: ignore[no-untyped-call]
        except (OSError, ValueError, nbformat.ValidationError) as error:
            return [_fault("notebook", None, f"the proof notebook cannot be read: {error!s:.100}")]
        heads = [cell.source for cell in book.cells if cell.get("id") == _HEAD]
        strange = [
            str(cell.get("id"))
            for cell in book.cells
            if cell.get("id") != _HEAD
            and not str(cell.get("id")).startswith(tuple(map(_prefix, range(len(self.parts)))))
        ]
        faults = [_fault("notebook", cell, "is in no part of the route") for cell in strange]
        if heads != [self._head(proof)]:
            faults.append(_fault("notebook", _HEAD, "is not what the route says"))
        return faults


_HEAD = "route"
#: Steps of the ledger between two grounders of a leaf (``grounders.router``).
STEPS_EACH = 1000


def _prefix(number: int) -> str:
    return f"part{number + 1}-"


def _fault(check: str, cell: str | None, what: str) -> Difference:
    from sandbox.record.verify import Difference

    return Difference(check=check, cell=cell, what=what)


def _own_replies(replies: Sequence[RecordedReply], first: int) -> tuple[RecordedReply, ...]:
    return tuple(
        replace(each, step=each.step - first) for each in replies if first <= each.step < first + STEPS_EACH
    )


def _own_calls(calls: DataCalls, first: int) -> DataCalls:
    def own(stage: str | None = None) -> list[LedgerRow]:
        return [
            replace(row, address=replace(row.address, step=row.address.step - first))
            if row.address.stage == "tool"
            else row
            for row in calls(stage)
            if row.address.stage != "tool" or first <= row.address.step < first + STEPS_EACH
        ]

    return own
