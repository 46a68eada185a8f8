"""Doing a night: triage, contexts, the quick pass, trees for what is worth it, the page. Every step goes on where it was left."""

from collections.abc import (
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxies.asof.clock import Cutoff
from workbench.engine.ownership import own_folder
from workbench.errors import Option, ProviderError, UsageError
from workbench.questions.formats.base import LeftOut
from workbench.questions.sets.question_sets import load_set
from workbench.questions.sets.schedule import HalvingSchedule, due_since
from workbench.store import Store
from workbench.store import events as ev
from workbench.studies.arms.base import ArmPrice
from workbench.studies.arms.run_arms import EngineArm
from workbench.studies.contexts.collection import (
    USUAL_LENGTH,
    GatherOptions,
    Wanted,
    context_cost,
    missing_contexts,
    one_search,
    open_gatherer,
)
from workbench.studies.contexts.context_store import context_before, stored_contexts
from workbench.studies.rounds.round_record import own_record
from workbench.studies.rounds.round_results import forecast_times, round_results
from workbench.studies.rounds.round_state import (
    QUICK,
    SORT,
    TREE,
    Round,
    RoundPlan,
    RoundRules,
    arms_of,
    load_round,
    open_events,
    plan_of,
    round_facts,
    round_name,
    rounds_of,
    step_plan,
)
from workbench.studies.rounds.triage import TriageRow, triage
from workbench.studies.runner import StudyRunner

if TYPE_CHECKING:
    from workbench.engine.worker_place import WorkerPlace
    from workbench.models.base import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundWork:
    """What one sitting at a night needs of its surroundings."""

    #: Keys for models and sources.
    environ: Mapping[str, str]
    #: isolation, workers: As of `open_engine`.
    isolation: str | None = None
    workers: "WorkerPlace | None" = None
    #: Called with lines of progress.
    say: Callable[[str], None] = lambda line: None
    #: Instead of the one that the night names; for tests.
    model: "Model | None" = None
    #: As of `Engine.work`, for runs that are in work.
    rebuy: bool = False


@contextmanager
def own_set(store: Store, set_name: str) -> "Iterator[None]":
    """Hold a set's nights for the block: two nights at once would buy the same forecasts twice.

    Raises `RunInWork`: Another process is at it; one line with its id and since when.
    """
    with own_folder(store.home / "nights" / f"{set_name}.lock", what=f"a round of set {set_name}"):
        yield


def round_folder(store: Store, name: str) -> Path:
    """Where the page and the files of a night lie."""
    return store.home / "nights" / name


def plan_round(
    store: Store,
    set_name: str,
    rules: RoundRules,
    cutoff: Cutoff,
    *,
    only: Sequence[str] | None = None,
) -> tuple[list[TriageRow], list[LeftOut]]:
    """The triage grid of a set at a time; asks nobody. Raises ``UsageError`` for rules that a run refuses."""
    arm = arms_of(rules)[QUICK]
    price = sum((arm_price(arm, model) for model in arm.models), start=ArmPrice()) * (1 / len(arm.models))
    questions = load_set(store, set_name).questions
    unknown = [name for name in only or () if name not in questions]
    if unknown:
        load_set(store, set_name)[unknown[0]]  # raises with the names that come near
    usd = None if price.usd is None else price.usd * rules.trials
    return triage(questions, cutoff.instant, usd_per_event=usd, skill=rules.skill, size=rules.size, only=only)


def unfinished_round(store: Store, set_name: str) -> Round | None:
    """The newest night of a set, if something is left to do in it."""
    names = rounds_of(store, set_name)
    if not names:
        return None
    night = load_round(store, names[-1])
    chosen = any(each.by == "rule" for each in night.promoted.values())
    to_choose = bool(night.study.forecasts) and not chosen and trees_paid(night) > 0
    return night if not night.gathered or to_choose or _to_come(store, night) else None


def _to_come(store: Store, night: Round) -> list[str]:
    steps = []
    for step, events in ((QUICK, None), (TREE, list(night.promoted))):
        plan = plan_of(store, night, step, events)
        if any(not night.study.ended(cell) for cell in plan.cells()):
            steps.append(step)
    return steps


async def open_round(
    store: Store,
    set_name: str,
    rules: RoundRules,
    cutoff: Cutoff,
    sitting: RoundWork,
    *,
    only: Sequence[str] | None = None,
    budget_usd: float | None = None,
    concurrency: int = 4,
) -> Round:
    """Choose the questions and put the night on record; nobody is asked before that, so that a kill has something to go on from.

    Raises `UsageError`: No question is left, or a budget in dollars without a known price.
    """
    rows, left_out = plan_round(store, set_name, rules, cutoff, only=only)
    if not rows:
        reasons = "; ".join(f"{each.id}: {each.reason}" for each in left_out[:3])
        raise UsageError(f"set {set_name} has no question to forecast ({reasons or 'it is empty'})")
    _check_budget(rules, budget_usd)
    name = round_name(store, set_name)
    record = asdict(own_record(store, cutoff)) if rules.own_record else None
    facts = _facts(
        store, set_name, rules, cutoff, rows, left_out=[list(each) for each in left_out], own_record=record
    )
    plan = step_plan(store, name, facts, QUICK, budget_usd=budget_usd, concurrency=concurrency)
    StudyRunner(store, plan, environ=sitting.environ, sort=SORT).open()
    return load_round(store, name)


def _facts(
    store: Store, set_name: str, rules: RoundRules, cutoff: Cutoff, rows: Sequence[TriageRow], **more: Any
) -> dict[str, Any]:
    chosen = [row.question for row in rows]
    return round_facts(
        set_name,
        cutoff,
        rules,
        questions=chosen,
        contexts=_contexts(store, set_name, chosen, cutoff) if rules.contexts == "stored" else {},
        gathered=rules.contexts != "gather",
        crowd={
            event.id: event.crowd
            for event in open_events(load_set(store, set_name), chosen)
            if event.crowd is not None
        },
        **more,
    )


def _check_budget(rules: RoundRules, budget_usd: float | None) -> None:
    if budget_usd is None:
        return
    priced = [(arm, model) for arm in arms_of(rules).values() for model in arm.models]
    for arm, model in priced:
        if arm_price(arm, model).usd is None:
            raise UsageError(
                f"the price of {model} is unknown, so no budget in dollars can be kept: ",
                Option("price", f"{model}=IN,OUT"),
            )


def arm_price(arm: EngineArm, model: str) -> ArmPrice:
    """What one run of an arm by one of its models is expected to take."""
    return replace(arm, base=arm.base_of(model)).price()


async def gather_contexts(store: Store, night: Round, sitting: RoundWork) -> Round:
    """Gather the contexts that the night is to have and lacks, out of its budget.

    Contexts that were gathered since the night was opened stand, however long ago that was.

    Raises `BudgetStop, ProviderError`: The budget is used up, or not one could be gathered; the night goes on here next time.
    """
    if night.gathered:
        return night
    now = datetime.now(UTC)
    cutoff = Cutoff.parse(night.cutoff, now=now)
    entries = load_set(store, night.set_name).questions
    wanted = [Wanted(entries[name], cutoff) for name in night.questions if name in entries]
    if cutoff.live:
        rows = stored_contexts(store, night.set_name)
        standing = {row.question for row in rows if row.cutoff == cutoff.text and row.moment >= night.instant}
        wanted = [wish for wish in wanted if wish.question.id not in standing]
    wanted = missing_contexts(store, night.set_name, wanted)
    if wanted:
        attempt = int(night.study.manifest.get("gather_attempt", 0))
        options = replace(
            gather_options(night.rules), budget_usd=night.budget_usd, account=night.account, attempt=attempt
        )
        async with open_gatherer(store, night.set_name, environ=sitting.environ, options=options) as gatherer:
            tried = await gatherer.gather_all(wanted, say=sitting.say)
        if all(each.stored is None for each in tried):
            # A night was to read contexts: going on without any would spend on what nobody asked for. Refusals are on the ledger,
            # so the next attempt, with a key that was missing, asks at other addresses.
            _record_manifest(store, night, gather_attempt=attempt + 1)
            raise ProviderError(
                f"none of {len(tried)} contexts could be gathered; the first failed with: {tried[0].reason}; ",
                Option("new"),
                " ",
                Option("contexts", "none"),
                " does without",
            )
    contexts = _contexts(store, night.set_name, night.questions, cutoff)
    if len(contexts) < len(night.questions):
        sitting.say(f"{len(night.questions) - len(contexts)} questions go without a context")
    _record_manifest(store, night, contexts=contexts, gathered=True)
    night = load_round(store, night.name)
    if wanted:  # what was planned took a context of usual length
        line, _ = _step_cost(plan_of(store, night, QUICK), night.rules, QUICK)
        sitting.say(f"with what was found, {line}")
    return night


def _record_manifest(store: Store, night: Round, **changes: Any) -> None:
    manifest = {**night.study.manifest, **changes}
    store.append(night.account, ev.StudyOpened(study=night.study.study, manifest=manifest))


def gather_options(rules: RoundRules) -> GatherOptions:
    """How a night gathers contexts: with its model, or by rules alone where that reads no text."""
    offline = rules.model.startswith("offline/")
    return (one_search if rules.own_words else GatherOptions)(
        model=None if offline else rules.model,
        api_base=rules.settings.get("api_base"),
        engines=None if rules.engines is None else tuple(rules.engines),
        prices=rules.settings.get("prices", {}),
    )


def _contexts(store: Store, set_name: str, questions: Sequence[str], cutoff: Cutoff) -> dict[str, str]:
    rows = stored_contexts(store, set_name)
    texts = {}
    for name in questions:
        row = context_before(rows, name, cutoff)
        if row is not None:
            texts[name] = row.text
    return texts


async def quick_pass(store: Store, night: Round, sitting: RoundWork) -> Round:
    """Make the quick forecasts that are not on record; raises ``BudgetStop`` and ``ProviderError``, resumable."""
    return await _work(store, night, QUICK, None, sitting)


def promote(store: Store, night: Round, events: Sequence[str] = ()) -> Round:
    """Put on record which events get a tree: those named, or by the night's rule those with the most to gain.

    The rule decides once, when the quick pass is done; named events come on top of it.

    Raises `UsageError`: No such event in the night.
    """
    rows = round_results(store, night).rows
    known = {row.event: row for row in rows}
    unknown = [event for event in events if event not in known]
    if unknown:
        raise UsageError(
            f"round {night.name} has no event {unknown[0]!r:.80}: `tournament show {night.name}`"
        )
    chosen: list[ev.ForecastPromoted] = [
        ev.ForecastPromoted(node=event, by="person") for event in events if event not in night.promoted
    ]
    if not events and not any(each.by == "rule" for each in night.promoted.values()):
        best = [row for row in rows if row.gain is not None and row.event not in night.promoted]
        chosen = [
            ev.ForecastPromoted(node=row.event, by="rule", reason=f"a closer look may gain {row.gain:.4f}")
            for row in best[: trees_paid(night)]
        ]
    with store.transaction():
        for each in chosen:
            store.append(f"{SORT}:{night.name}", each)
    return load_round(store, night.name)


def trees_paid(night: Round) -> int:
    """How many trees the rule of a night may choose: no more than what is left of its budget pays for."""
    price = arms_of(night.rules)[TREE].price().usd
    if night.budget_usd is None or night.cost_usd is None or not price:
        return night.rules.promote
    return min(night.rules.promote, int((night.budget_usd - night.cost_usd) / price))


async def tree_pass(store: Store, night: Round, sitting: RoundWork) -> Round:
    """Analyze the promoted events that have no tree yet; raises as `quick_pass`."""
    return await _work(store, night, TREE, list(night.promoted), sitting)


async def _work(
    store: Store, night: Round, step: str, events: Sequence[str] | None, sitting: RoundWork
) -> Round:
    plan = plan_of(store, night, step, events)
    if any(not night.study.ended(cell) for cell in plan.cells()):
        runner = StudyRunner(
            store,
            plan,
            environ=sitting.environ,
            isolation=sitting.isolation,
            workers=sitting.workers,
            say=sitting.say,
            model=sitting.model,
            sort=SORT,
            spent_usd=night.contexts_usd or 0.0,
            rebuy=sitting.rebuy,
        )
        await runner.work()
    return load_round(store, night.name)


async def finish_round(store: Store, night: Round, sitting: RoundWork) -> Round:
    """Do all of a night that is left: contexts, the quick pass, the choice, the trees."""
    night = await gather_contexts(store, night, sitting)
    night = await quick_pass(store, night, sitting)
    if night.rules.promote:
        chosen = any(each.by == "rule" for each in night.promoted.values())
        if not chosen and (paid := trees_paid(night)) < night.rules.promote:
            sitting.say(f"what is left of the budget pays for {paid} of {night.rules.promote} trees")
        night = promote(store, night)
    return await tree_pass(store, night, sitting)


def with_budget(store: Store, night: Round, budget_usd: float | None, concurrency: int | None) -> Round:
    """The night with what may change when it goes on: its budget and how many runs are in work at once."""
    if budget_usd in (None, night.budget_usd) and concurrency in (None, night.concurrency):
        return night
    plan = plan_of(store, night, QUICK, budget_usd=budget_usd, concurrency=concurrency)
    StudyRunner(store, plan, environ={}, sort=SORT).open()
    return load_round(store, night.name)


def cost_lines(
    store: Store, set_name: str, rules: RoundRules, rows: Sequence[TriageRow], cutoff: Cutoff
) -> list[str]:
    """The cost forecast of a night, a line per step and the sum, before anybody is asked."""
    facts = _facts(store, set_name, rules, cutoff, rows, left_out=[], own_record=None)
    news = "news " * (USUAL_LENGTH // 5) if rules.contexts == "gather" else ""
    lines = []
    total: float | None = 0.0
    if news:
        calls, total = context_cost(len(rows), gather_options(rules), live=cutoff.live)
        shown = "whose price is unknown" if total is None else f"about ${total:.2f}"
        lines.append(f"contexts: at most {len(rows)}, about {calls} calls to {rules.model}, {shown}")
    for step in (QUICK, TREE) if rules.promote else (QUICK,):
        plan = step_plan(store, set_name, facts, step, budget_usd=None, concurrency=1, news=news)
        line, usd = _step_cost(plan, rules, step)
        total = None if usd is None or total is None else total + usd
        lines.append(line)
    lines.append("together: " + ("price unknown" if total is None else f"about ${total:.2f}"))
    return lines


def _step_cost(plan: RoundPlan, rules: RoundRules, step: str) -> tuple[str, float | None]:
    """What a step is expected to take, as a line, and its dollars."""
    ((runs, price),) = plan.prices().values()
    name, models = f"quick pass ({rules.quick})", rules.in_turn
    if step == TREE:  # which events get one is chosen after the quick pass
        name, models, most = "trees", (rules.model,), min(rules.promote, runs)
        runs, price = most, price * (most / max(1, runs))
    return f"{name}: {runs} runs, {price.words(' and '.join(models))}", price.usd


def due_questions(
    store: Store, set_name: str, now: datetime | None = None, schedule: HalvingSchedule | None = None
) -> dict[str, datetime]:
    """Questions of a set whose next review is due, and since when; those never forecast are due from the start."""
    moment = now or datetime.now(UTC)
    questions = load_set(store, set_name).questions
    times = forecast_times(store, set_name, questions.values())
    halving = schedule or HalvingSchedule(least_gap=timedelta(hours=1))
    due = {}
    for question in questions.values():
        if question.outcomes:
            continue
        since = due_since(question, times.get(question.id, []), halving, moment)
        if since is not None:
            due[question.id] = since
    return due
