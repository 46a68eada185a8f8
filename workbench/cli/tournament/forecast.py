"""``forecast``: questions again as their set was forecast last; ``--due`` takes those whose next review has come, for a cron line."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from sandbox.errors import SandboxError
from workbench.cli.common import (
    AsJson,
    IsolationLevel,
    command,
    echo,
    emit_json,
    one_line,
    open_store,
    say,
    unlisted,
)
from workbench.cli.run.drive import may_buy_again
from workbench.cli.run.run_options import Workers, Yes, takes_settings, without_level
from workbench.cli.tournament.quantile_forecasts import write_quantiles
from workbench.cli.tournament.round_options import StoppedByHand, rules_with, work, work_session
from workbench.errors import UsageError, WorkbenchError
from workbench.expected_errors import exit_code
from workbench.questions.sets.schedule import HalvingSchedule
from workbench.store import Store
from workbench.studies.rounds import round_work as steps
from workbench.studies.rounds.round_page import write_round
from workbench.studies.rounds.round_state import load_round, rounds_of
from workbench.studies.rounds.round_work import RoundWork, due_questions


@command
@takes_settings(only_set=True)
def forecast(
    settings: Mapping[str, Any],
    references: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SET[/QUESTION]]...",
            help="Sets, or single questions; with --due all sets that had a round.",
        ),
    ] = None,
    due: Annotated[
        bool,
        typer.Option("--due", help="Only questions whose next review has come, by the halving schedule."),
    ] = False,
    gap_hours: Annotated[float, unlisted("--gap-hours", help="Least hours between two forecasts.")] = 1.0,
    most: Annotated[int, unlisted("--most", help="Most forecasts of one question.")] = 8,
    budget_usd: Annotated[
        float | None, typer.Option(help="Most US dollars for each set; as last time without it.")
    ] = None,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Name the questions and ask nobody.")
    ] = False,
    quantiles: Annotated[
        Path | None,
        typer.Option(
            "--quantiles",
            help="Write the key-free forecaster's quantiles of the sets' numeric questions to this CSV instead; no model is asked.",
        ),
    ] = None,
    cutoff: Annotated[
        str,
        typer.Option(
            "--cutoff", help="With --quantiles: their cutoff; each question's own day when not given."
        ),
    ] = "",
    quiet: Annotated[
        bool,
        unlisted("--quiet", "-q", help="Say nothing unless something was forecast or went wrong."),
    ] = False,
    workers: Workers = None,
    isolation: IsolationLevel = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Forecast questions again, with the rules of their set's last round and no trees; an unfinished round is finished first.

    With --quantiles: numeric questions that ask for a value of a series get quantiles by the key-free forecaster, for
    `questions score SET --quantiles`.
    """
    if quantiles is not None:
        write_quantiles(references or [], quantiles, cutoff, as_json=as_json)
        return
    if cutoff:
        raise UsageError("--cutoff goes with --quantiles: a round of models is forecast as of now")
    changes, isolation = without_level(settings, isolation)
    budget_usd = changes.pop("budget_usd", None) if budget_usd is None else budget_usd
    surroundings = work_session(isolation=isolation, workers=workers, quiet=quiet)
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
        named = {load_round(store, night).set_name: [] for night in rounds_of(store)}
    wanted = _Wanted(schedule if due else None, budget_usd, datetime.now(UTC), yes, changes)
    done: list[dict[str, Any]] = []
    failures: list[tuple[str, str, int]] = []
    for set_name, questions in named.items():
        if not rounds_of(store, set_name):
            raise UsageError(
                f"set {set_name} had no round whose rules could be used again: `workbench tournament run {set_name}`"
            )
        if plan_only:
            chosen, since = wanted.of(store, set_name, questions)
            done.append({"set": set_name, "questions": chosen, "due_since": since})
            continue
        # One set that cannot go on, or that another process is at, is no reason to leave the others of a cron line undone.
        try:
            done.append(_forecast_set(store, set_name, questions, surroundings, wanted))
        except StoppedByHand:
            raise
        except typer.Exit as stop:
            failures.append((set_name, "stopped, resumable", stop.exit_code))
        except (WorkbenchError, SandboxError, ProxyError) as error:
            say(f"workbench: {one_line(error)}")
            failures.append((set_name, one_line(error), exit_code(error)))
    _print_forecasts(done, failures, as_json=as_json, quiet=quiet, plan_only=plan_only)
    if failures:
        raise typer.Exit(failures[0][2])


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be forecast of a set: all open questions, those named, or with a schedule those of them that are due."""

    schedule: HalvingSchedule | None
    budget_usd: float | None
    now: datetime
    yes: bool
    settings: Mapping[str, Any]

    def of(
        self, store: Store, set_name: str, questions: list[str]
    ) -> tuple[list[str] | None, dict[str, str]]:
        """Ids, None for all open ones, and since when those that are due have been so."""
        if self.schedule is None:
            return questions or None, {}
        waiting = due_questions(store, set_name, self.now, self.schedule)
        chosen = [name for name in waiting if not questions or name in questions]
        return chosen, {name: waiting[name].isoformat(timespec="minutes") for name in chosen}


def _forecast_set(
    store: Store, set_name: str, questions: list[str], surroundings: "RoundWork", wanted: _Wanted
) -> dict[str, Any]:
    nights: list[str] = []
    chosen: list[str] | None = None
    since: dict[str, str] = {}

    async def doing() -> None:
        nonlocal chosen, since
        begun = steps.unfinished_round(store, set_name)
        if begun is not None:
            again = may_buy_again(store, begun.study.open_runs(), yes=wanted.yes)
            begun = steps.with_budget(store, begun, wanted.budget_usd, None)
            night = await steps.finish_round(store, begun, replace(surroundings, rebuy=again))
            write_round(store, night)
            nights.append(night.name)
        # Only now, with the set held: what another process forecast a moment ago is not due any more.
        chosen, since = wanted.of(store, set_name, questions)
        left = chosen
        if begun is not None and left is not None:  # what it was about is forecast now
            left = [each for each in left if each not in begun.questions]
        if left == [] or (left is None and begun is not None):
            return
        last = load_round(store, rounds_of(store, set_name)[-1])
        rules = rules_with(replace(last.rules, promote=0, size=None), wanted.settings)
        budget = last.budget_usd if wanted.budget_usd is None else wanted.budget_usd
        night = await steps.open_round(
            store, set_name, rules, Cutoff.parse("now", now=wanted.now), surroundings,
            only=left, budget_usd=budget, concurrency=last.concurrency,
        )  # fmt: skip
        night = await steps.finish_round(store, night, surroundings)
        write_round(store, night)
        nights.append(night.name)

    with steps.own_set(store, set_name):
        work(doing, f"workbench forecast {set_name}")
    forecasts = [{"night": name, **_counts(store, name)} for name in nights]
    return {"set": set_name, "questions": chosen, "nights": forecasts}


def _counts(store: Store, name: str) -> dict[str, int]:
    study = load_round(store, name).study
    return {"forecasts": len(study.forecasts), "missing": len(study.missing)}


def _print_forecasts(
    done: list[dict[str, Any]],
    failures: list[tuple[str, str, int]],
    *,
    as_json: bool,
    quiet: bool,
    plan_only: bool,
) -> None:
    if as_json:
        failed = [{"set": name, "reason": reason, "exit": code} for name, reason, code in failures]
        emit_json({"sets": done, "failed": failed})
        return
    for each in done:
        if plan_only:
            for question in each["questions"] or ["(all open questions)"]:
                echo(f"{each['set']}/{question}  due since {each['due_since'].get(question, '-')}")
            continue
        for night in each["nights"]:
            echo(f"{night['night']}: {night['forecasts']} forecasts, {night['missing']} missing")
    if not (quiet or failures) and not any(
        each.get("nights") or (plan_only and each["questions"] != []) for each in done
    ):
        say("no question is due")
