"""Evidence of the statistical grounder: which series it read and what followed; ``verify`` computes the numbers again from the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import TypeAdapter, ValidationError

from workbench.agents.evidence.drawings import Drawing
from workbench.agents.evidence.trace import TraceEvidence, TraceStep, notebook_of
from workbench.agents.evidence.trace_notebook import computed_cells
from workbench.agents.loop.tool_box import ToolSource
from workbench.questions.errors import ClaimRefused
from workbench.questions.series.series_estimate import METHODS, estimate_leaf
from workbench.questions.series.series_figure import SeriesFigure, series_figure
from workbench.questions.series.series_leaf import SeriesLeaf, path_words, read_series_leaf
from workbench.source_hash import source_hash
from workbench.store.errors import StoreCorrupt

if TYPE_CHECKING:
    from sandbox.record.verify import Difference, Verification
    from workbench.agents.evidence.base import ProofContext, Replay

#: Two computations of one number on one machine agree this far; simulated paths go through an optimizer.
_SAME = 1e-6
#: Other processors and library versions move the fitted volatility's last digits: told, not counted.
_NEAR = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesCall:
    """A data call that the numbers rest on: its place in the ledger (stage ``tool``) and the hash of its answer."""

    step: int
    path: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesEvidence:
    """A reading of the leaf, the calls that gave its series, and the numbers.

    Parameters
    ----------
    reading : dict
        ``SeriesLeaf.to_json()``.
    hints : str
        The text beside the statement that the series was read from; "" where the statement names it.
    method : str
        One of ``METHODS``, or one that has been dropped since: its numbers are told and not checked.
    last_visible : str
        The last day visible at the cutoff, as YYYY-MM-DD (a cutoff ``now`` does not say it).
    calls : tuple of SeriesCall
        One per series, in the order of the reading.
    numbers : dict
        ``SeriesEstimate.to_json()``.
    figure : SeriesFigure
        What the proof's figure shows.
    forecaster : str
        Hash of the source of the forecaster that drew the paths; "" for the other methods. Another forecaster comes to other numbers, so
        with another hash here than there they are told and do not count.
    """

    reading: dict[str, Any]
    hints: str
    method: str
    last_visible: str
    calls: tuple[SeriesCall, ...]
    numbers: dict[str, Any]
    figure: SeriesFigure
    forecaster: str

    kind: ClassVar[str] = "series"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the evidence that ``to_json`` wrote; raises ``ValueError`` for anything else."""
        try:
            calls, figure = (
                _CALLS.validate_python(data["calls"]),
                _FIGURE.validate_python(data["figure"]),
            )
            evidence = cls(**{**data, "calls": calls, "figure": figure})
            if not isinstance(evidence.method, str):
                raise ValueError("a method is a name")
            date.fromisoformat(evidence.last_visible)
            if not isinstance(evidence.forecaster, str):
                raise ValueError("the hash of a forecaster is a text")
            float(evidence.numbers["p"])
            _ = evidence.trace
        except (KeyError, TypeError, ValidationError, AttributeError) as error:
            raise ValueError(f"not the evidence of a series: {error!r:.200}") from error
        return evidence

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as JSON values."""
        return asdict(self)

    @property
    def trace(self) -> TraceEvidence:
        """The same as steps: what the proof notebook shows, and what is compared with log and ledger."""
        numbers, claim = self.numbers, self.reading["claim"]
        names = ", ".join(f"{ref['source']}/{ref['id']}" for ref in self.reading["series"])
        fields = "\n".join(
            f"- {name}: {claim[name]}" for name in _CLAIM_FIELDS if claim.get(name) is not None
        )
        listed = "\n".join(f"- {name}: {value:.4f}" for name, value in sorted(numbers["models"].items()))
        beside = "\n".join(f"- {name}: {value:.4f}" for name, value in sorted(numbers["comparators"].items()))
        base = "" if numbers["base_rate"] is None else f" Base rate {numbers['base_rate']:.4f}."
        sources = tuple(
            ToolSource(
                id=f"D{number}",
                title=f"{ref['source']}/{ref['id']}",
                origin=call.hash,
                published=str(numbers["last_day"]),
            )
            for number, (call, ref) in enumerate(zip(self.calls, self.reading["series"], strict=True), 1)
        )
        return TraceEvidence(
            plan="Read the leaf, take the visible past of its series, and let the models that fit it say how often; no model is asked.",
            sources=sources,
            steps=(
                TraceStep(title="How the leaf is read", text=f"Decided by {names}.\n\n{fields}"),
                TraceStep(
                    title="The visible series",
                    text=f"Last value visible: {numbers['last_day']}. Measured from {numbers['reference']:.10g}, the value of "
                    f"{numbers['reference_day']}.",
                    answers=tuple(call.hash for call in self.calls),
                ),
                TraceStep(
                    title="The models",
                    text=f"{self._counts}{base}\n\n{listed}"
                    + (f"\n\nShown beside them, with no weight:\n\n{beside}" if beside else ""),
                    p=float(numbers["p"]),
                ),
            ),
        )

    @property
    def _counts(self) -> str:
        if self.method != "paths":
            return f"Their plain mean counts, held within [0.02, 0.98] ({self.method})."
        like = self.numbers["record"].get("like")
        beside = f" Beside it: {like['words']}." if like else ""
        return path_words(float(self.numbers["p"]), self.numbers["record"], explained=False) + beside

    def render(self, proof: ProofContext) -> Any:
        """Return a notebook with the claim, the reading, the data calls, the series as a figure, the models and the conclusion."""
        return notebook_of(computed_cells(self.trace, proof, self._drawing(self.figure)))

    def _drawing(self, figure: SeriesFigure) -> Drawing:
        names = " and ".join(f"{ref['source']}/{ref['id']}" for ref in self.reading["series"])
        reference = float(self.numbers["reference"])
        words = f"{names} from {figure.days[0]} to {figure.days[-1]}, the last value {figure.values[-1]:g}; measured from {reference:.10g}."
        if figure.forecast:
            low, _, middle, _, high = figure.forecast
            words += f" Like stretches of its past lead to {low:g} to {high:g} (nine in ten) on {figure.end}, in the middle to {middle:g}."
        marks = [(reference, f"measured from {reference:.6g}")]
        marks += [(level, f"the claim's {level:g}") for level in figure.levels]
        return Drawing(
            title=f"{names}, and where like stretches of its past would lead by {figure.end}",
            words=words,
            points=[
                (date.fromisoformat(day).toordinal(), value)
                for day, value in zip(figure.days, figure.values, strict=True)
            ],
            marks=marks,
            end=date.fromisoformat(figure.end).toordinal(),
            fan=figure.forecast,
        )

    def compare(self, proof: ProofContext) -> Verification:
        """Compare with log, ledger and notebook, and read the leaf again; nothing is computed."""
        outcome = self.trace.compare(proof, book=self.render(proof))
        try:
            read = read_series_leaf(proof.node.statement, self.hints).to_json()
            same = read == self.reading
        except ClaimRefused:
            same = False
        if same:
            return outcome
        fault = _difference("conclusion", "the leaf is read in another way than is on record")
        return replace(outcome, differing=(*outcome.differing, fault))

    async def verify(self, proof: ProofContext, replay: Replay) -> Verification:
        """Compare, and compute every number again from the answers in the ledger. In a thread: a fit takes up to a second."""
        return await asyncio.to_thread(self._recomputed, proof)

    def _recomputed(self, proof: ProofContext) -> Verification:
        outcome = self.compare(proof)
        if outcome.differing:
            return outcome
        method = next((name for name in METHODS if name == self.method), None)
        if method is None:
            gone = _difference(
                "rerun", f"the method {self.method!r:.40} is gone: its numbers were not checked"
            )
            return replace(outcome, advisory=(*outcome.advisory, gone))
        leaf = read_series_leaf(proof.node.statement, self.hints)
        try:
            rows = self._rows(proof, leaf)
            again = estimate_leaf(
                leaf,
                proof.node.statement,
                rows,
                date.fromisoformat(self.last_visible),
                method=method,
            ).to_json()
        except (ClaimRefused, StoreCorrupt) as error:
            return replace(outcome, differing=(_difference("rerun", str(error)),))
        advisory, counted = _unlike(self.numbers, again)
        if self.method == "paths" and self.forecaster != forecaster_hash() and counted:
            other = _difference(
                "rerun", "the forecaster has changed since: its numbers are another's, and were not checked"
            )
            advisory, counted = [other, *advisory, *counted], []
        if _gap(asdict(self.figure), asdict(series_figure(leaf, rows))) > _SAME:
            counted.append(_difference("rerun", "the figure is not drawn from the ledger's series"))
        return replace(outcome, differing=tuple(counted), advisory=(*outcome.advisory, *advisory))

    def _rows(self, proof: ProofContext, leaf: SeriesLeaf) -> list[list[dict[str, Any]]]:
        answers = {(row.address.step, row.path): row.answer for row in proof.data_calls("tool") if row.answer}
        rows = []
        for call, ref in zip(self.calls, leaf.refs, strict=True):
            answer = answers.get((call.step, call.path))
            if answer is None or answer.meta.get("content_hash") != call.hash:
                raise ClaimRefused(f"the ledger holds no answer for {ref} at step {call.step}")
            rows.append(ref.rows(answer.data))
        return rows


def forecaster_hash() -> str:
    """Return the hash of the source of the forecaster that is installed."""
    return source_hash("workbench.forecasts")


_CLAIM_FIELDS = ("pattern", "side", "strict", "start", "end", "level", "upper", "other", "never", "reference")
_FIGURE = TypeAdapter(SeriesFigure)
_CALLS: TypeAdapter[tuple[SeriesCall, ...]] = TypeAdapter(tuple[SeriesCall, ...])


def _difference(check: str, what: str) -> Difference:
    from sandbox.record.verify import Difference

    return Difference(check=check, cell=None, what=what)


def _unlike(stored: Mapping[str, Any], again: Mapping[str, Any]) -> tuple[list[Difference], list[Difference]]:
    """What differs between the stored numbers and those computed again: only to be told, and to count.

    A number that is computed no more, as the class of a series, is passed over.
    """
    advisory: list[Difference] = []
    counted: list[Difference] = []
    for name in again:
        gap = _gap(stored.get(name), again.get(name))
        if gap > _SAME:
            line = _difference(
                "rerun",
                f"{name} comes out as {again.get(name)!r:.120}, on record is {stored.get(name)!r:.120}",
            )
            (advisory if gap <= _NEAR else counted).append(line)
    return advisory, counted


def _gap(stored: Any, again: Any) -> float:
    """How far two JSON values are apart: the largest difference of their numbers, infinite where anything else differs."""
    if isinstance(stored, dict) and isinstance(again, dict) and set(stored) == set(again):
        return max((_gap(stored[key], again[key]) for key in stored), default=0.0)
    if isinstance(stored, tuple) and isinstance(again, tuple) and len(stored) == len(again):
        return max((_gap(before, after) for before, after in zip(stored, again, strict=True)), default=0.0)
    numbers = (int, float)
    if isinstance(stored, numbers) and isinstance(again, numbers) and not isinstance(stored, bool):
        return abs(stored - again) / max(1.0, abs(again))
    return 0.0 if stored == again else float("inf")
