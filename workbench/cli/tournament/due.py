"""``forecast``: questions again as their set was forecast last; ``--due`` takes those whose next review has come, for a cron line."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.common import (
    ISOLATION_OPTION,
    JSON_OPTION,
    command,
    echo,
    emit_json,
    open_store,
    say,
)
from workbench.cli.run_options import WORKERS
from workbench.cli.tournament.sitting import sitting, work

if TYPE_CHECKING:
    from workbench.store import Store
    from workbench.tournament.work import Sitting


@command
def forecast(
    references: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SET[/QUESTION]]...",
            help="Sets, or single questions; with --due all sets that had a night.",
        ),
    ] = None,
    due: Annotated[
        bool,
        typer.Option("--due", help="Only questions whose next review has come, by the halving schedule."),
    ] = False,
    gap_hours: Annotated[float, typer.Option("--gap-hours", help="Least hours between two forecasts.")] = 1.0,
    most: Annotated[int, typer.Option("--most", help="Most forecasts of one question.")] = 8,
    budget_usd: Annotated[
        float | None, typer.Option(help="Most US dollars for each set; as last time without it.")
    ] = None,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Name the questions and ask nobody.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing unless something was forecast or went wrong.")
    ] = False,
    workers: Annotated[str | None, WORKERS] = None,
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Forecast questions again, with the rules of their set's last night and no trees; an unfinished night is finished first."""
    from workbench.errors import UsageError
    from workbench.questions.schedule import HalvingSchedule
    from workbench.tournament import work as steps
    from workbench.tournament.night import load_night, nights_of

    store = open_store()
    schedule = HalvingSchedule(least_gap=timedelta(hours=gap_hours), most=most)
    named: dict[str, list[str]] = {}
    for reference in references or ():
        set_name, _, question = reference.partition("/")
        named.setdefault(set_name, []).extend([question] if question else [])
    if not named and not due:
        raise UsageError(
            "what is to be forecast? name SET or SET/QUESTION, or --due for all whose review has come"
        )
    if not named:
        named = {load_night(store, night).set_name: [] for night in nights_of(store)}
    surroundings = sitting(isolation=isolation, workers=workers, quiet=quiet)
    now = datetime.now(UTC)
    done: list[dict[str, Any]] = []
    for set_name, questions in named.items():
        if not nights_of(store, set_name):
            raise UsageError(
                f"set {set_name} had no night whose rules could be used again: `workbench tournament run {set_name}`"
            )
        chosen: list[str] | None = questions or None
        since: dict[str, str] = {}
        if due:
            waiting = steps.due_questions(store, set_name, now, schedule)
            chosen = [name for name in waiting if not questions or name in questions]
            since = {name: waiting[name].isoformat(timespec="minutes") for name in chosen}
        if plan_only:
            done.append({"set": set_name, "questions": chosen, "due_since": since})
            continue
        done.append(_forecast_set(store, set_name, chosen, surroundings, budget_usd, now))
    _report(done, as_json=as_json, quiet=quiet, plan_only=plan_only)


def _forecast_set(
    store: "Store",
    set_name: str,
    questions: list[str] | None,
    surroundings: "Sitting",
    budget_usd: float | None,
    now: datetime,
) -> dict[str, Any]:
    """Finish what is unfinished of a set, then forecast these questions, all open ones where none are named."""
    from dataclasses import replace

    from proxies.asof.clock import Cutoff
    from workbench.tournament import work as steps
    from workbench.tournament.night import load_night, nights_of
    from workbench.tournament.page import write_night

    nights: list[str] = []

    async def doing() -> None:
        begun = steps.unfinished_night(store, set_name)
        if begun is not None:
            begun = steps.with_budget(store, begun, budget_usd, None)
            night = await steps.finish_night(store, begun, surroundings)
            write_night(store, night)
            nights.append(night.name)
            # what it was about is forecast now
            left = None if questions is None else [each for each in questions if each not in begun.questions]
        else:
            left = questions
        if left == [] or (left is None and begun is not None):
            return
        last = load_night(store, nights_of(store, set_name)[-1])
        rules = replace(last.rules, promote=0, size=None)
        budget = last.budget_usd if budget_usd is None else budget_usd
        night = await steps.open_night(
            store, set_name, rules, Cutoff.parse("now", now=now), surroundings,
            only=left, budget_usd=budget, concurrency=last.concurrency,
        )  # fmt: skip
        night = await steps.finish_night(store, night, surroundings)
        write_night(store, night)
        nights.append(night.name)

    with steps.own_set(store, set_name):
        work(doing, f"workbench forecast {set_name}")
    forecasts = [{"night": name, **_counts(store, name)} for name in nights]
    return {"set": set_name, "questions": questions, "nights": forecasts}


def _counts(store: "Store", name: str) -> dict[str, int]:
    from workbench.tournament.night import load_night

    study = load_night(store, name).study
    return {"forecasts": len(study.forecasts), "missing": len(study.missing)}


def _report(done: list[dict[str, Any]], *, as_json: bool, quiet: bool, plan_only: bool) -> None:
    if as_json:
        emit_json({"sets": done})
        return
    for each in done:
        if plan_only:
            for question in each["questions"] or ["(all open questions)"]:
                echo(f"{each['set']}/{question}  due since {each['due_since'].get(question, '-')}")
            continue
        for night in each["nights"]:
            echo(f"{night['night']}: {night['forecasts']} forecasts, {night['missing']} missing")
    if not quiet and not any(each.get("nights") or (plan_only and each["questions"] != []) for each in done):
        say("no question is due")
