"""An exam of one model: a study of it beside the base rate and the key-free forecaster, on questions drawn before it was named.

`exam_study` makes the study, `StudyRunner` works on it (ledgers, budget, one process at a time), `probe_memory` asks what the model
remembers, `exam_results` reads the document and `write_exam` the files.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from proxies.asof.clock import Cutoff
from workbench.agents.base import AgentSettings
from workbench.agents.errors import AgentGaveUp
from workbench.agents.judges import recall_event
from workbench.errors import UsageError
from workbench.models.base import Asker, NodeRef
from workbench.models.training_ends import UnknownTrainingEnd, training_cutoff
from workbench.output_files import write_output
from workbench.science.documents.exam_documents import exam_document, exam_sentence
from workbench.science.documents.record_documents import BASE_RATE, PastTable
from workbench.store import Store
from workbench.studies.exam_questions import BASE_RATE_COLUMN, FORECASTER_COLUMN
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_file import StudyCell, StudySpec, study_of
from workbench.studies.study_plan import StudyPlan
from workbench.studies.study_report import write_study
from workbench.studies.study_state import StudyState

#: Questions that a model is asked whether it remembers.
PROBED = 10
_MODEL, _FORECASTER = "model", "key-free forecaster"
_US_STOCKS = "US stocks"
_US_INDICES = frozenset(
    {"SP500", "NASDAQ", "DJIA", "VIX", "VIXCLS", "NASDAQCOM", "NASDAQ100"}
    | {"^GSPC", "^IXIC", "^DJI", "^NDX", "^RUT", "^VIX"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryProbe:
    """How many of a sample a model says it remembers the outcome of, and how many of these it remembers rightly."""

    n: int
    remembered: int
    right: int

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values; ``share`` is null where nothing was answered."""
        return {**asdict(self), "share": self.remembered / self.n if self.n else None}


def exam_study(
    model: str,
    questions: str,
    *,
    grounder: str = "notebook",
    api_base: str | None = None,
    prices: Mapping[str, Sequence[float]] | None = None,
    budget_usd: float | None = None,
) -> StudySpec:
    """Return the study that examines a model on a set of drawn questions; the same model and set give the same study, which goes on.

    Raises ``StudyError`` for a model or grounder that no study takes.
    """
    whose = hashlib.sha256(f"{model}\x1f{api_base}\x1f{grounder}\x1f{questions}".encode()).hexdigest()[:8]
    arm: dict[str, Any] = {"arm": "grounder", "name": _MODEL, "grounder": grounder, "model": model}
    arm |= {"api_base": api_base} if api_base else {}
    arm |= {"prices": {name: list(price) for name, price in prices.items()}} if prices else {}
    columns = ((BASE_RATE, BASE_RATE_COLUMN), (_FORECASTER, FORECASTER_COLUMN))
    return study_of(
        {
            "name": f"exam-{re.sub(r'[^A-Za-z0-9._]+', '-', model).strip('-.')[:40]}-{whose}",
            "exam": {"set": questions},
            "cutoffs": "per-question",
            "reference": BASE_RATE,
            "budget_usd": budget_usd,
            "concurrency": 4,
            "arms": [
                *({"arm": "column", "name": name, "column": column} for name, column in columns),
                arm,
            ],
        }
    )


def memory_sample(exam: StudyExam, model: str) -> list[str]:
    """Return the events that a model is probed on: of those it may know, as many as `PROBED`, by a hash; none for a model without training."""
    end = training_end(model)
    if end == "never":
        return []
    known = [
        event
        for event, day in zip(exam.events.event_id.tolist(), _last_days(exam), strict=True)
        if end is None or not day or day <= end
    ]
    return sorted(known, key=lambda event: hashlib.sha256(event.encode()).digest())[:PROBED]


async def probe_memory(exam: StudyExam, events: Sequence[str], *, ask: Asker) -> MemoryProbe:
    """Ask a model whether it remembers how these events came out, without data and at today's date; unusable replies are left out.

    Raises ``BudgetStop`` and ``ModelError`` from the asker; what was answered is on record and not asked again.
    """
    outcomes = dict(zip(exam.events.event_id.tolist(), exam.events.outcome.tolist(), strict=True))
    answered = remembered = right = 0
    for event in events:
        node = NodeRef(id="P0", statement=exam.statements[event].text)
        try:
            memory = await recall_event(
                node, cutoff=Cutoff.parse(exam.cutoffs[event]), ask=ask, settings=AgentSettings()
            )
        except AgentGaveUp:
            continue
        answered += 1
        if memory.recognized and memory.recalled is not None:
            remembered += 1
            right += memory.recalled == (outcomes[event] == 1.0)
    return MemoryProbe(n=answered, remembered=remembered, right=right)


def training_end(model: str) -> str | None:
    """Return the last day of a model's training data as ISO text, ``never`` for one that has none, None where it is not known."""
    try:
        end: date | None = training_cutoff(model)
    except UnknownTrainingEnd:
        return None
    return "never" if end is None else end.isoformat()


def exam_results(
    plan: StudyPlan, state: StudyState, model: str, probe: MemoryProbe | None = None
) -> dict[str, Any]:
    """Return what an exam says of a model: ``workbench models exam``.

    Raises ``UsageError`` where the model answered no question.
    """
    exam, arm = plan.exam, plan.arms[_MODEL]
    events = exam.events.event_id.tolist()
    cells = [StudyCell(_MODEL, event, plan.spec.seeds[0], 1) for event in events]
    p = np.array([state.forecasts[cell].p if cell in state.forecasts else np.nan for cell in cells])
    rows = np.flatnonzero(np.isfinite(p))
    reasons = sorted({state.missing[cell].reason for cell in cells if cell in state.missing})
    if not len(rows):
        raise UsageError(f"{model} answered none of {len(events)} questions: {'; '.join(reasons)[:300]}")
    text = {name: exam.events.text(name)[rows] for name in ("series", "forecast_due_date", "resolution_date")}
    groups = np.where(exam.events.source == "drawn", exam.events.text("series"), exam.events.source)[rows]
    document = exam_document(
        PastTable(
            forecast=p[rows],
            outcome=exam.events.outcome[rows],
            rivals={BASE_RATE: exam.events.probability(BASE_RATE_COLUMN)[rows]},
            series=np.array([shared_series(name) for name in text["series"].tolist()], dtype=str),
            first_day=text["forecast_due_date"],
            last_day=text["resolution_date"],
        ),
        exam.events.probability(FORECASTER_COLUMN)[rows],
        groups,
    )
    end, days = training_end(model), [day for day in text["resolution_date"].tolist() if day]
    ended = [state.forecasts.get(cell) or state.missing.get(cell) for cell in cells]
    costs = [each.cost_usd for each in ended if each is not None]
    cost = None if any(usd is None for usd in costs) else float(sum(usd or 0.0 for usd in costs))
    document = {
        "model": model,
        **document,
        "missing": len(events) - len(rows),
        "missing_reasons": reasons[:5],
        "training_end": end,
        "before_training_end": None
        if end is None
        else 0.0
        if end == "never"
        else sum(day <= end for day in days) / max(1, len(days)),
        "recall": None if probe is None else probe.to_json(),
        "cost_usd": cost,
        "usd_per_1000": None if cost is None else 1000.0 * cost / len(ended),
        "questions": str(plan.spec.exam[0]["set"]),
        "grounder": arm.base.grounder,
        "study": plan.spec.name,
    }
    return {**document, "sentence": exam_sentence(model, document)}


def shared_series(name: str) -> str:
    """Return the name under which a series counts in an exam: US stocks, their indices and the VIX move together, so they are one.

    A ticker without a suffix or a sign is a US listing at Yahoo.

    >>> [shared_series(name) for name in ("SP500", "yahoo:AAPL", "yahoo:^VIX", "yahoo:EURUSD=X", "yahoo:VOD.L", "WTI")]
    ['US stocks', 'US stocks', 'US stocks', 'yahoo:EURUSD=X', 'yahoo:VOD.L', 'WTI']
    """
    source, _, ticker = name.rpartition(":")
    if source in ("yahoo", "stooq", "fmp") and re.fullmatch(r"[A-Z]{1,5}", ticker):
        return _US_STOCKS
    return _US_STOCKS if ticker in _US_INDICES else name


def write_exam(
    store: Store, plan: StudyPlan, state: StudyState, document: Mapping[str, Any], folder: Path
) -> Path:
    """Write ``exam.json`` and the study's tables and page, with the sentence above them, into a folder; return the page."""
    said = replace(plan, spec=plan.spec.with_changes(note=f"{document['sentence']}."))
    write_study(store, said, state, folder)
    text = json.dumps(document, indent=1, ensure_ascii=False)
    write_output(folder / "exam.json", f"{text}\n".encode())
    return folder / "report.html"


def _last_days(exam: StudyExam) -> list[str]:
    return [str(day) for day in exam.events.text("resolution_date").tolist()]
