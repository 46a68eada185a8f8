"""The statistical grounder: a leaf that one dated series decides, from the series' own past; no model is asked."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from proxies.errors import Refused
from workbench.agents.base import (
    AgentSettings,
    Grounding,
    GroundingFailure,
    LeafTask,
)
from workbench.agents.errors import BadSetting
from workbench.agents.evidence.series import SeriesBasis, forecaster_hash, series_evidence
from workbench.agents.registry import no_options
from workbench.formatting import percent
from workbench.propositions import Belief
from workbench.questions.errors import ClaimRefused
from workbench.questions.series.series_estimate import METHODS, SeriesEstimate, estimate_leaf
from workbench.questions.series.series_leaf import SeriesLeaf, path_words, read_series_leaf


class StatisticalGrounder:
    """Reads the leaf, asks for its series as of the cutoff, and takes the forecaster's chance of it.

    Parameters
    ----------
    settings : AgentSettings
        Unused; every grounder is made with it.
    options : dict
        ``method``: ``paths`` (the default) or ``paper`` (BLF, App. I).
    """

    def __init__(self, settings: AgentSettings, options: dict[str, Any]) -> None:
        method = options.pop("method", "paths")
        no_options("the statistical grounder", options)
        known = [name for name in METHODS if name == method]
        if not known:
            raise BadSetting(f"method is one of {', '.join(METHODS)}, not {method!r}")
        self._method = known[0]

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief, or in one line why no series decides it."""
        try:
            leaf, hints = read_leaf(task.node.statement, task.resolves_by)
            answers = [
                await task.call_api(*ref.call(task.cutoff.instant), step=step)
                for step, ref in enumerate(leaf.refs)
            ]
            rows = [ref.rows(answer.data) for ref, answer in zip(leaf.refs, answers, strict=True)]
            # In a thread: fitting and simulating takes up to a second, and other leaves wait for the loop.
            numbers = await asyncio.to_thread(
                estimate_leaf,
                leaf,
                task.node.statement,
                rows,
                task.cutoff.last_visible_day,
                self._method,
            )
            basis = SeriesBasis(
                numbers=numbers.to_json(),
                method=self._method,
                last_visible=task.cutoff.last_visible_day.isoformat(),
                hints=hints,
                forecaster=forecaster_hash() if self._method == "paths" else "",
            )
            hashes = [str(answer.meta["content_hash"]) for answer in answers]
            evidence = await asyncio.to_thread(series_evidence, leaf, rows, hashes, basis)
        except (ClaimRefused, Refused) as problem:
            return GroundingFailure(reason=f"the statistical grounder: {problem}"[:500], retryable=False)
        belief = Belief(
            p=numbers.p,
            key_factor=_key_factor(numbers),
            report=_series_report(leaf, numbers, task.node.statement, by_paths=self._method == "paths"),
        )
        return Grounding(belief=belief, evidence=evidence, trace={"steps": len(evidence.steps)})


def read_leaf(statement: str, resolves_by: str) -> tuple[SeriesLeaf, str]:
    """Return how a leaf is read, and the text beside its statement that this took ("" where the statement is enough).

    Raises ``ClaimRefused``.
    """
    try:
        return read_series_leaf(statement), ""
    except ClaimRefused:
        hints = resolves_by[:1000]
        if not hints:
            raise
        return read_series_leaf(statement, hints), hints


def _key_factor(numbers: SeriesEstimate) -> str:
    if decided := numbers.record.get("decided"):
        return f"Decided by the value of {decided['day']}."
    models = numbers.models.values()
    spread = (
        f"{len(models)} models between {percent(min(models))} and {percent(max(models))}"
        if len(models) > 1
        else "one model"
    )
    base = (
        "" if numbers.base_rate is None else f"it came true in {percent(numbers.base_rate)} of past windows; "
    )
    return f"{base}{spread} give {percent(numbers.p)}."


def _series_report(leaf: SeriesLeaf, numbers: SeriesEstimate, statement: str, *, by_paths: bool) -> str:
    names = " and ".join(map(str, leaf.refs))
    listed = ", ".join(f"{name} {percent(value)}" for name, value in numbers.models.items())
    beside = ", ".join(f"{name} {percent(value)}" for name, value in numbers.comparators.items())
    parts = [
        f"**{statement}**",
        f"Decided by {names}. The last value visible is of {numbers.last_day}; the claim is measured from "
        f"{numbers.reference:.10g} on {numbers.reference_day}.",
        path_words(numbers.p, numbers.record)
        if by_paths
        else f"The estimate is that of paper B's model ({listed}): {percent(numbers.p)}.",
    ]
    if beside:
        parts.append(f"Shown for comparison, with weight 0: {beside}.")
    weak = "only the past of the series is used: no news, no positions, no events that are already announced"
    if numbers.windows is not None and numbers.windows < 12:
        weak = f"only {numbers.windows:.1f} separate windows lie behind it; {weak}"
    parts.append(f"What is weak: {weak}.")
    if "bits" in numbers.record:
        line = json.dumps(numbers.record, ensure_ascii=False, allow_nan=False)
        parts.append(f"The outcome of every past week's window (1 true, 0 false, x unknown):\n\n{line}")
    return "\n\n".join(parts)
