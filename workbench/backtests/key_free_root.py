"""The root of the key-free analyst's tree for a claim, without kernels: real plan, real synthesis, leaves by the notebooks' own models.

A test holds the notebooks' numbers equal to those models, so the root is the one that a run prints; a run takes ten times as long.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from proxies.asof.clock import Cutoff
from workbench.agents.analyzers.rounds import RoundsAnalyzer
from workbench.agents.synthesizers.model_synthesizers import LinearSynthesizer
from workbench.backtests.known_rows import KnownRows
from workbench.backtests.walk_forward import Forecast
from workbench.blocking import run_blocking
from workbench.models.base import ModelReply, ModelRequest
from workbench.offline.offline_model import OfflineAnalyst
from workbench.propositions import Belief, Tree, depth_of
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, base_rate
from workbench.questions.series.series_estimate import estimate_leaf
from workbench.questions.series.series_leaf import read_series_leaf


class RootForecaster:
    """Forecasts a claim as ``workbench analyze`` with the key-free analyst does."""

    name = "key-free tree"

    def forecast(self, claim: Claim, rows: Mapping[str, Rows], last_day: date) -> Forecast:
        """Return the root's probability; see `ClaimForecaster`. ``rows`` hold the series of its leaves too."""
        root = run_blocking(_root(claim, rows, last_day))
        return Forecast(root, base_rate(claim, rows, last_day))


def open_root(known: KnownRows) -> RootForecaster:
    """Return the forecaster; the rows of each cutoff are all it needs."""
    return RootForecaster()


async def _root(claim: Claim, rows: Mapping[str, Rows], last_day: date) -> float:
    cutoff = Cutoff.parse((last_day + timedelta(days=1)).isoformat())

    async def observe(series_id: str, cutoff: Cutoff) -> Sequence[dict[str, Any]]:
        return [dict(row) for row in rows[series_id]]

    model = OfflineAnalyst(observe)

    async def ask(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        return await model.complete(request)

    async def on_round(tree: Tree) -> None:
        return None

    tree = await RoundsAnalyzer().analyze(
        Tree.root_only(claim.statement), cutoff=cutoff, ask=ask, on_round=on_round
    )
    for node in tree.leaves():
        statement = tree[node].statement
        leaf = read_series_leaf(statement)
        estimate = estimate_leaf(leaf, statement, [rows[ref.id] for ref in leaf.refs], last_day)
        report = json.dumps(estimate.record, ensure_ascii=False)
        tree = tree.with_belief(node, Belief(p=estimate.p, key_factor="", report=report))
    for node in sorted(tree.inner(), key=depth_of, reverse=True):
        children = [tree[child] for child in tree[node].children]
        rule, belief = await LinearSynthesizer().synthesize(tree[node], children, cutoff=cutoff, ask=ask)
        tree = tree.with_rule(node, rule, belief)
    p = tree.root.p
    assert p is not None, "every leaf has a value"
    return p
