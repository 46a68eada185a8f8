"""``models exam``: a model's exam, from the draw of its questions to its report."""

import asyncio
import os
from collections.abc import Mapping, Sequence

import typer

from workbench.cli.common import confirm, echo, emit_json, one_line, open_store, say
from workbench.cli.signals import stop_signals
from workbench.cli.table import show_fields, show_table
from workbench.engine.access.own_web import own_asker
from workbench.errors import STOPPED, BudgetStop, ProviderError
from workbench.expected_errors import exit_code
from workbench.models.base import Model
from workbench.store import Store
from workbench.studies.exam_questions import exam_set
from workbench.studies.leak_audit import audit_study
from workbench.studies.model_exam import (
    MemoryProbe,
    exam_results,
    exam_study,
    memory_sample,
    probe_memory,
    write_exam,
)
from workbench.studies.runner import StudyRunner
from workbench.studies.study_plan import StudyPlan, plan_study
from workbench.studies.study_state import SORT, StudyState, load_study
from workbench.views.question_documents import exam_lines


def examine(
    model: str,
    *,
    questions: int,
    recent: bool,
    sets: Sequence[str],
    grounder: str,
    seed: int | None,
    api_base: str | None,
    prices: Mapping[str, Sequence[float]],
    budget_usd: float | None,
    isolation: str | None,
    yes: bool,
    as_json: bool,
    scripted: Model | None = None,
) -> None:
    """Draw the questions, say the price and ask, examine the model, print and write what came of it.

    ``scripted`` answers instead of the model that is named; for tests.
    """
    store = open_store()
    # Before anything looks at the model's name: what is drawn cannot depend on it.
    drawn = exam_set(store, questions, recent=recent, sets=sets, seed=seed, say=say)
    spec = exam_study(
        model, drawn, grounder=grounder, api_base=api_base, prices=prices, budget_usd=budget_usd
    )
    plan = plan_study(store, spec, load_study(store, spec.name) if spec.name in store.streams(SORT) else None)
    _say_price(store, plan, model)
    confirm("go on?", yes=yes)
    again = f"`workbench models exam {model} --questions {questions}` with the same options goes on"
    try:
        runner = StudyRunner(store, plan, environ=os.environ, isolation=isolation, say=say, model=scripted)
        state = asyncio.run(_interruptible(runner))
        probe = _probe(store, plan, model, api_base, prices, budget_usd, state.cost_usd or 0.0)
    except (BudgetStop, ProviderError) as error:
        say(f"workbench: {one_line(error)} ({again})")
        raise typer.Exit(exit_code(error)) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        say(f"workbench: stopped by hand; {again}")
        raise typer.Exit(STOPPED) from None
    if state.audited is None:
        state = audit_study(store, plan, state)
    document = exam_results(plan, state, model, probe)
    page = write_exam(store, plan, state, document, store.home / "studies" / spec.name)
    if as_json:
        emit_json(document)
        return
    echo(f"{document['sentence']}\n")
    show_fields(exam_lines(document))
    echo("")
    show_table(
        ("where", "n", "model", "base rate", "forecaster"),
        [
            (
                row["group"],
                row["n"],
                *(_index_words(row[name]) for name in ("brier_index", "base_rate", "forecaster")),
            )
            for row in document["by_group"]
        ],
    )
    for reason in document["missing_reasons"]:
        say(f"unanswered: {reason}")
    echo(f"{page}")


def _index_words(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _say_price(store: Store, plan: StudyPlan, model: str) -> None:
    for line in plan.cost_lines():
        say(line)
    if probed := len(memory_sample(plan.exam, model)):
        say(f"and {probed} short questions on what the model remembers")
    name, budget, expected = plan.spec.name, plan.spec.budget_usd, plan.expected_usd()
    if name in store.streams(SORT) and (recorded := len(load_study(store, name).forecasts)):
        say(f"{recorded} forecasts are on record and are not paid for again")
    if budget is not None and expected is not None and expected > budget:
        say(
            f"the forecast is above the budget of ${budget:g}: the exam will stop there and can go on with more"
        )


def _probe(
    store: Store,
    plan: StudyPlan,
    model: str,
    api_base: str | None,
    prices: Mapping[str, Sequence[float]],
    budget_usd: float | None,
    spent_usd: float,
) -> MemoryProbe | None:
    events = memory_sample(plan.exam, model)
    if not events:
        return None
    ask = own_asker(
        store,
        model,
        api_base,
        run=f"exam:{plan.spec.name}",
        budget_usd=budget_usd,
        spent_usd=spent_usd,
        prices=prices,
    )
    return asyncio.run(probe_memory(plan.exam, events, ask=ask))


async def _interruptible(runner: StudyRunner) -> StudyState:
    task = asyncio.current_task()
    assert task is not None
    for number in stop_signals():
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await runner.work()
