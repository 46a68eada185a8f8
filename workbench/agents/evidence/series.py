"""A leaf that dated series decide, as evidence: its reading, the visible series, the models' numbers; ``verify`` computes them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from sandbox.record.verify import Difference, Verification
from workbench.agents.evidence.base import Drawing, Evidence, ProofContext, TraceStep, plain
from workbench.agents.evidence.check import unlike
from workbench.agents.loop.tool_box import ToolSource
from workbench.propositions.strict_json import STRICT, read_strict
from workbench.questions.errors import ClaimRefused
from workbench.questions.series.series_estimate import METHODS, estimate_leaf
from workbench.questions.series.series_figure import series_figure
from workbench.questions.series.series_leaf import SeriesLeaf, path_words, read_series_leaf
from workbench.source_hash import source_hash

#: Two computations of one number on one machine agree this far; simulated paths go through an optimizer.
_SAME = 1e-6
#: Other processors and library versions move the fitted volatility's last digits: told, not counted.
_NEAR = 1e-3
_CLAIM_FIELDS = ("pattern", "side", "strict", "start", "end", "level", "upper", "other", "never", "reference")
Rows = Sequence[Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesBasis:
    """What the numbers of a leaf follow from beside the answers in the ledger, and the numbers."""

    #: ``SeriesEstimate.to_json()``.
    numbers: dict[str, Any]
    #: One of ``METHODS``, or one that has been dropped since: its numbers are told and not checked.
    method: str
    #: The last day visible at the cutoff, as YYYY-MM-DD (a cutoff ``now`` does not say it).
    last_visible: str
    #: The text beside the statement that the series was read from; "" where the statement names it.
    hints: str = ""
    #: Hash of the source of the forecaster that drew the paths; "" for the other methods. Another forecaster comes to other numbers, so
    #: with another hash here than there they are told and do not count.
    forecaster: str = ""

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        date.fromisoformat(self.last_visible)


def forecaster_hash() -> str:
    """Return the hash of the source of the forecaster that is installed."""
    return source_hash("workbench.forecasts")


def series_evidence(leaf: SeriesLeaf, rows: Rows, hashes: Sequence[str], basis: SeriesBasis) -> Evidence:
    """Return the evidence of a leaf; ``rows`` and ``hashes`` are those of the answers for each of ``leaf.refs``."""
    numbers, claim = basis.numbers, leaf.to_json()["claim"]
    names = [str(ref) for ref in leaf.refs]
    fields = "\n".join(f"- {name}: {claim[name]}" for name in _CLAIM_FIELDS if claim.get(name) is not None)
    listed, beside = (
        "\n".join(f"- {name}: {value:.4f}" for name, value in sorted(numbers[kind].items()))
        for kind in ("models", "comparators")
    )
    base = "" if numbers["base_rate"] is None else f" Base rate {numbers['base_rate']:.4f}."
    return Evidence(
        plan="Read the leaf, take the visible past of its series, and let the models that fit it say how often; no model is asked.",
        sources=tuple(
            ToolSource(id=f"D{number}", title=name, origin=content_hash, published=str(numbers["last_day"]))
            for number, (name, content_hash) in enumerate(zip(names, hashes, strict=True), 1)
        ),
        steps=(
            TraceStep(title="How the leaf is read", text=f"Decided by {', '.join(names)}.\n\n{fields}"),
            TraceStep(
                title="The visible series",
                text=f"Last value visible: {numbers['last_day']}. Measured from {numbers['reference']:.10g}, the value of "
                f"{numbers['reference_day']}.",
                answers=tuple(hashes),
            ),
            TraceStep(
                title="The models",
                text=f"{_weights(basis)}{base}\n\n{listed}"
                + (f"\n\nShown beside them, with no weight:\n\n{beside}" if beside else ""),
                p=float(numbers["p"]),
            ),
        ),
        drawing=_drawing(leaf, rows, float(numbers["reference"])),
        recompute="series",
        basis=plain(basis),
    )


def _weights(basis: SeriesBasis) -> str:
    if basis.method != "paths":
        return f"Their plain mean counts, held within [0.02, 0.98] ({basis.method})."
    record = basis.numbers["record"]
    beside = f" Beside it: {record['like']['words']}." if record.get("like") else ""
    return path_words(float(basis.numbers["p"]), record, explained=False) + beside


def _drawing(leaf: SeriesLeaf, rows: Rows, reference: float) -> Drawing:
    figure = series_figure(leaf, rows)
    names = " and ".join(map(str, leaf.refs))
    words = f"{names} from {figure.days[0]} to {figure.days[-1]}, the last value {figure.values[-1]:g}; measured from {reference:.10g}."
    if figure.forecast:
        low, _, middle, _, high = figure.forecast
        words += f" Like stretches of its past lead to {low:g} to {high:g} (nine in ten) on {figure.end}, in the middle to {middle:g}."
    return Drawing(
        title=f"{names}, and where like stretches of its past would lead by {figure.end}",
        words=words,
        points=tuple(
            (float(date.fromisoformat(day).toordinal()), value)
            for day, value in zip(figure.days, figure.values, strict=True)
        ),
        marks=(
            (reference, f"measured from {reference:.6g}"),
            *((level, f"the claim's {level:g}") for level in figure.levels),
        ),
        end=float(date.fromisoformat(figure.end).toordinal()),
        fan=figure.forecast,
    )


def recompute_series(evidence: Evidence, proof: ProofContext) -> Verification:
    """Read the leaf and compute every number again from the answers in the ledger."""
    basis = read_strict(SeriesBasis, evidence.basis, what="what a series' numbers follow from")
    leaf = read_series_leaf(proof.node.statement, basis.hints)
    answers = {row.address.step: (content_hash, data) for row, content_hash, data in proof.answered()}
    if set(answers) != set(range(len(leaf.refs))):
        raise ClaimRefused("the recorded calls are not one for each series of the claim")
    rows = [ref.rows(answers[step][1]) for step, ref in enumerate(leaf.refs)]
    hashes = [answers[step][0] for step in range(len(leaf.refs))]
    shown = unlike(evidence, series_evidence(leaf, rows, hashes, basis))
    method = next((name for name in METHODS if name == basis.method), None)
    if method is None:
        gone = Difference(
            "rerun", None, f"the method {basis.method!r:.40} is gone: its numbers were not checked"
        )
        return replace(shown, advisory=(gone,))
    again = estimate_leaf(
        leaf, proof.node.statement, rows, date.fromisoformat(basis.last_visible), method=method
    )
    advisory, counted = _numbers_unlike(basis.numbers, again.to_json())
    if basis.method == "paths" and basis.forecaster != forecaster_hash() and counted:
        other = "the forecaster has changed since: its numbers are another's, and were not checked"
        advisory, counted = [Difference("rerun", None, other), *advisory, *counted], []
    return Verification(differing=(*shown.differing, *counted), advisory=tuple(advisory))


def _numbers_unlike(
    stored: Mapping[str, Any], again: Mapping[str, Any]
) -> tuple[list[Difference], list[Difference]]:
    """Numbers that come out otherwise: only to be told, and to count."""
    advisory: list[Difference] = []
    counted: list[Difference] = []
    for name, value in again.items():
        gap = _gap(stored.get(name), value)
        if gap > _SAME:
            words = f"{name} comes out as {value!r:.120}, on record is {stored.get(name)!r:.120}"
            (advisory if gap <= _NEAR else counted).append(Difference("rerun", None, words))
    return advisory, counted


def _gap(stored: Any, again: Any) -> float:
    """How far two JSON values are apart: the largest difference of their numbers, infinite where anything else differs."""
    if isinstance(stored, dict) and isinstance(again, dict) and set(stored) == set(again):
        return max((_gap(stored[key], again[key]) for key in stored), default=0.0)
    numbers = (int, float)
    if isinstance(stored, numbers) and isinstance(again, numbers) and not isinstance(stored, bool):
        return abs(stored - again) / max(1.0, abs(again))
    return 0.0 if stored == again else float("inf")
