"""A two-minute check of one model: every reply form once, on one small leaf, without a kernel and without data.

``workbench models try`` prints it. A model that fails here will fail in a run; one that passes can still reason badly.
"""

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.errors import Refused
from proxies.ledger import Answer
from sandbox.types import CellError, CellResult, JournalCell
from workbench.agents.analyzers.rounds import RoundsAnalyzer
from workbench.agents.base import AgentSettings, GroundingFailure, LeafTask
from workbench.agents.errors import AgentGaveUp
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.agents.synthesizers.model_synthesizers import LinearSynthesizer
from workbench.errors import Option, sentence
from workbench.models.base import Model, ModelReply, ModelRequest, NodeRef
from workbench.models.errors import ModelError
from workbench.propositions import Belief, Polarity, Tree

CLAIM = "The S&P 500 closes above 2700 on 2018-12-31"
CUTOFF = Cutoff.parse("2018-06-30")
_PRINTED = (
    "rows 8500, last close 2718.37; above today's close after 126 sessions in 5950 of 8374 windows (0.711)\n"
)
_FORMS = {
    "analyze": "expansion",
    "step": "step",
    "debug": "correction",
    "conclude": "conclusion",
    "linear": "rule",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormCheck:
    """One reply form and how the model did: ``ok`` the first time, ``again`` after a complaint, or ``failed``."""

    form: str
    outcome: str
    calls: int
    seconds: float
    detail: str

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


class _Catalogue:
    """Documentation of one endpoint: enough for a model that looks something up."""

    overview = (
        "- embedded: daily and monthly series, read with embedded/series/observations (series_id SP500)"
    )

    def document(self, paths: list[str]) -> str:
        return 'embedded/series/observations: parameters series_id, start, end; rows of {"date", "value"}'

    def search(self, words: str) -> str:
        return "embedded/series/observations: values of a series, oldest first"


class _Notebook:
    """Stands in for a sealed notebook: the first cell fails, so that a correction is asked for, all others print one line."""

    def __init__(self) -> None:
        self.cells: list[JournalCell] = []
        self._failed = False

    async def markdown(self, source: str) -> JournalCell:
        cell = JournalCell(id=f"cell-{len(self.cells)}", kind="markdown", source=source)
        self.cells.append(cell)
        return cell

    async def execute(self, source: str, *, fixes: str | None = None) -> CellResult:
        identity = f"cell-{len(self.cells)}"
        if self._failed:
            output = {"output_type": "stream", "name": "stdout", "text": _PRINTED}
            result = CellResult(cell_id=identity, status="ok", outputs=(output,))
        else:
            self._failed = True
            error = CellError(ename="NameError", evalue="name 'close' is not defined", traceback=())
            result = CellResult(cell_id=identity, status="error", outputs=(), error=error)
        self.cells.append(JournalCell(id=identity, kind="code", source=source, result=result))
        return result


@dataclass(slots=True)
class _Stage:
    """How the asks of one stage went."""

    calls: int = 0
    seconds: float = 0.0
    again: bool = False
    failed: bool = False
    words: list[str] = field(default_factory=list)


class _Recording:
    """Asks the model and records how each stage went; the ``Asker`` of the check."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.stages: defaultdict[str, _Stage] = defaultdict(_Stage)
        self.last = ""
        self.costs: list[float | None] = []

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        began, self.last = time.monotonic(), stage
        record = self.stages[stage]
        record.calls += 1  # before the reply: a stage that is refused was asked all the same
        record.again = record.again or retry > 0
        reply = await self._model.complete(request)
        record.seconds += time.monotonic() - began
        record.words += reply.notes
        self.costs.append(reply.cost_usd)
        return reply


async def try_model(model: Model) -> tuple[list[FormCheck], float | None]:
    """Return how a model does each reply form, and what the check has cost (None if its price is unknown).

    Raises `UsageError`: No such model, or no key for it.
    """
    bounds = AgentSettings(max_leaves=3, max_analyzer_rounds=1, max_proof_steps=2)
    ask = _Recording(model)
    for last, attempt in (("analyze", _expand), ("conclude", _ground), ("linear", _combine)):
        try:
            ending = await attempt(ask, bounds)
        except (AgentGaveUp, ModelError) as error:
            # The stage that was asked last is the one that failed.
            last, ending = ask.last or last, str(error)
            ask.stages[last].failed = True
        ask.stages[last].words.insert(0, ending)
    has_failed = any(record.failed for record in ask.stages.values())
    checks = [_check(form, ask.stages[stage], has_failed) for stage, form in _FORMS.items()]
    return checks, None if None in ask.costs else sum(cost or 0.0 for cost in ask.costs)


def _check(form: str, record: _Stage, has_failed: bool) -> FormCheck:
    if record.failed or (has_failed and not record.calls):
        outcome = "failed"
    elif not record.calls:
        outcome = "not asked"
    else:
        outcome = "again" if record.again else "ok"
    detail = "; ".join(filter(None, dict.fromkeys(record.words)))
    return FormCheck(
        form=form,
        outcome=outcome,
        calls=record.calls,
        seconds=round(record.seconds, 1),
        detail=(detail or ("" if record.calls else "it was not reached"))[:300],
    )


def verdict(checks: list[FormCheck]) -> str:
    """Return one sentence: fit, fit with losses, or not fit."""
    failed = [check.form for check in checks if check.outcome == "failed"]
    again = [check.form for check in checks if check.outcome == "again"]
    if failed:
        lacks = f"not fit: it does not bring {', '.join(failed)}; take a larger model, or look at "
        return sentence(lacks, Option("reply_form"))
    if again:
        return f"fit, with further asks for {', '.join(again)}"
    return "fit: every form came right the first time"


async def _expand(ask: _Recording, bounds: AgentSettings) -> str:
    async def on_round(tree: Tree) -> None:
        return

    tree = await RoundsAnalyzer(bounds).analyze(
        Tree.root_only(CLAIM), cutoff=CUTOFF, ask=ask, on_round=on_round
    )
    return f"{len(tree.leaves())} leaves"


async def _ground(ask: _Recording, bounds: AgentSettings) -> str:
    notebook = _Notebook()

    async def open_notebook() -> _Notebook:
        return notebook

    async def call_api(path: str, params: Mapping[str, Any], *, step: int, retry: int = 0) -> Answer:
        raise Refused("there are no data in this check")

    task = LeafTask(
        node=NodeRef(id="P1", statement=CLAIM),
        cutoff=CUTOFF,
        ask=ask,
        open_notebook=open_notebook,
        call_api=call_api,
        data=_Catalogue(),
        settings=bounds,
    )
    outcome = await NotebookGrounder().ground(task)
    if isinstance(outcome, GroundingFailure):
        raise AgentGaveUp(ask.last or "step", outcome.reason)
    return f"p = {outcome.belief.p:g}"


async def _combine(ask: _Recording, bounds: AgentSettings) -> str:
    tree = Tree.root_only(CLAIM).expand(
        "P0",
        {"P1": "The S&P 500 closes above 2650 on 2018-10-31", "P2": "The VIX closes above 25 on 2018-12-31"},
        {"P1": Polarity.POSITIVE, "P2": Polarity.NEGATIVE},
        "P1, Positive. P2, Negative.",
    )
    for child, p in (("P1", 0.7), ("P2", 0.15)):
        tree = tree.with_belief(
            child, Belief(p=p, key_factor="base rate", report="Base rates of 8374 windows.")
        )
    _, belief = await LinearSynthesizer(bounds).synthesize(
        tree.root, [tree["P1"], tree["P2"]], cutoff=CUTOFF, ask=ask
    )
    return f"p = {belief.p:.3f}"
