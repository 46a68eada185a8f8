"""Arms that know a time series and nothing else: its base rate, its forecaster, and the models of paper B, App. I.

They read claims that the grammar of `workbench.questions` reads, from the embedded series as of each claim's own cutoff.
"""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, BeforeValidator

from proxies.asof.asof_text import NO_TEXT
from proxies.asof.clock import Cutoff
from proxies.settings import ProxySettings
from workbench.blocking import run_blocking
from workbench.errors import UsageError
from workbench.forecasts.series.exceedance import exceedance, make_model, model_names
from workbench.forecasts.series.series_history import History
from workbench.offline.visible_past import Observe, broker_history, visible
from workbench.questions.decision import base_rate, check, value_series
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.science.arrays import FloatArray
from workbench.studies.arms.base import Free, wrong
from workbench.studies.study_exam import StudyExam

BASE_RATE, FORECASTER = "house-base-rate", "ensemble"


def _model(model: str) -> str:
    known = (BASE_RATE, *model_names())
    if model not in known:
        raise wrong(f"no time-series model {model!r}; there is: {', '.join(known)}")
    return model


class SeriesArm(Free):
    """``model``: ``house-base-rate`` (how often the claim came true in past windows), or a model of `exceed --model list`."""

    model: Annotated[str, BeforeValidator(str), AfterValidator(_model)] = FORECASTER

    def forecasts(self, exam: StudyExam, *, seed: int, trial: int) -> tuple[FloatArray, Mapping[int, str]]:
        """One per claim that can be read and that the model can treat; the others say why not."""
        return run_blocking(self._forecasts(exam))

    async def _forecasts(self, exam: StudyExam) -> tuple[FloatArray, Mapping[int, str]]:
        from proxies.broker import open_broker

        p = np.full(len(exam), np.nan)
        reasons: dict[int, str] = {}
        broker = open_broker(ProxySettings())
        histories = broker_history(broker)
        try:
            for row, event in enumerate(exam.events.event_id.tolist()):
                try:
                    p[row] = await self._forecast(
                        exam.statements.get(event, NO_TEXT).text, exam.cutoffs.get(event, ""), histories
                    )
                except UsageError as error:
                    reasons[row] = " ".join(str(error).split())
                await asyncio.sleep(0)
        finally:
            await broker.aclose()
        return p, reasons

    async def _forecast(self, statement: str, day: str, histories: Observe) -> float:
        if not day:
            raise ClaimRefused("its cutoff is not known")
        claim = read_claim(statement)
        cutoff = Cutoff.parse(day)
        check(claim, cutoff.last_moment_day)
        rows = await visible(histories, claim.sources, cutoff)
        if self.model == BASE_RATE:
            return base_rate(claim, rows, cutoff.last_moment_day)
        if self.model == FORECASTER:
            return ClaimPaths().chance(claim, rows)

        if claim.pattern not in ("compare", "level") or not claim.strict:
            raise ClaimRefused(
                f"the model {self.model} treats 'closes above' and 'closes higher', not this claim"
            )
        series = value_series(claim.series, rows)
        if claim.pattern == "level":
            level = float(claim.level or 0.0)
        else:
            known = series if claim.start is None else series[: claim.start.isoformat()]
            if claim.start is not None and claim.start > cutoff.last_moment_day:
                raise ClaimRefused("the value that it compares with is not known at the cutoff")
            level = float(known.iloc[-1])
        history = History.of(series.index.to_numpy(dtype="datetime64[D]"), series.to_numpy(dtype=np.float64))
        first = cutoff.last_moment_day + timedelta(days=1)
        above = exceedance(
            make_model(self.model), history, cutoff=first, targets=[claim.end.isoformat()], levels=[level]
        )
        return float(above[0, 0] if claim.side == "above" else 1.0 - above[0, 0])
