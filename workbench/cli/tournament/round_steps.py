"""``tournament run``, ``triage``, ``promote`` and ``show``: a night end to end, and each of its steps alone."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proxies.asof.clock import Cutoff
from workbench.cli.common import AsJson, IsolationLevel, command, echo, emit_json, open_store, say, unlisted
from workbench.cli.run.drive import may_buy_again
from workbench.cli.run.run_options import Workers, Yes, takes_settings, without_level
from workbench.cli.table import show_table
from workbench.cli.tournament.round_options import rules_of, work, work_session
from workbench.errors import UsageError
from workbench.formatting import percent
from workbench.store import Store
from workbench.studies.rounds import round_work as steps
from workbench.studies.rounds.round_page import write_round
from workbench.studies.rounds.round_state import Round, load_round
from workbench.studies.rounds.triage import TriageRow

if TYPE_CHECKING:
    from workbench.studies.rounds.round_results import RoundResults

SetName = Annotated[str, typer.Argument(metavar="SET", help="Name of a set of questions.")]
NightName = Annotated[
    str, typer.Argument(metavar="NIGHT", help="A round, as SET.1; the newest of a set by the set's name.")
]
Quick = Annotated[
    str | None,
    typer.Option(
        help="zero-shot, prophet, batch-belief, search, notebook or statistical; zero-shot with a language model, notebook offline."
    ),
]
Trials = Annotated[int | None, typer.Option(help="Of the quick pass; 3, or 1 with the offline analyst.")]
Promote = Annotated[int, typer.Option(help="Events that get a tree, those with the most to gain.")]
Size = Annotated[int | None, unlisted(help="Most questions, the most gain for a dollar first.")]
Skill = Annotated[
    float,
    unlisted(
        help="Share of what the crowd leaves open that a quick forecast is expected to take away.",
    ),
]
CutoffOption = Annotated[str, unlisted(help="Cutoff: now, a day, or an instant.")]
Json = AsJson


@command
@takes_settings("model", "budget_usd")
def run(
    name: SetName,
    settings: Mapping[str, Any],
    cutoff: CutoffOption = "now",
    quick: Quick = None,
    trials: Trials = None,
    promote: Promote = 5,
    tree_grounder: Annotated[
        str | None,
        unlisted("--tree-grounder", help="Of the trees' drivers: notebook, search, belief, ..."),
    ] = None,
    depth: Annotated[int | None, unlisted(help="n of Analytica^n for the trees.")] = None,
    contexts: Annotated[
        str,
        unlisted(
            help="stored: both passes read the set's contexts; gather: those missing first; none.",
        ),
    ] = "stored",
    engines: Annotated[
        str | None,
        unlisted(help="Search engines for contexts, by comma; all that work here without it."),
    ] = None,
    own_record: Annotated[
        bool,
        unlisted(
            "--own-record/--raw",
            help="Shrink and calibrate by what this home's resolved forecasts teach.",
        ),
    ] = True,
    size: Size = None,
    skill: Skill = 0.1,
    runs_at_once: Annotated[int, unlisted("--runs-at-once", help="Runs in work at the same time.")] = 4,
    new: Annotated[
        bool, typer.Option("--new", help="Begin another round although one is unfinished.")
    ] = False,
    until: Annotated[str, typer.Option(help="Stop after this step: contexts, quick or trees.")] = "trees",
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Print the grid and the cost forecast, and ask nobody.")
    ] = False,
    workers: Workers = None,
    isolation: IsolationLevel = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Do a round over a set, or go on with the one that is unfinished: nothing that was paid for is asked again."""
    if until not in ("contexts", "quick", "trees"):
        raise UsageError(f"--until is contexts, quick or trees, not {until!r:.40}")
    settings, isolation = without_level(settings, isolation)
    surroundings = work_session(isolation=isolation, workers=workers)
    store = open_store()
    rules, budget = rules_of(
        settings, quick=quick, trials=trials, promote=promote, tree_grounder=tree_grounder, depth=depth,
        contexts=contexts, size=size, skill=skill, engines=engines, own_record=own_record,
    )  # fmt: skip
    moment = Cutoff.parse(cutoff)
    again = f"workbench tournament run {name}"
    with steps.own_set(store, name):
        begun = None if new or plan_only else steps.unfinished_round(store, name)
        if begun is None:
            rows, left_out = steps.plan_round(store, name, rules, moment)
            lines = steps.cost_lines(store, name, rules, rows, moment)
            for line in lines:
                say(line)
            if plan_only:
                _show_grid(rows, left_out, lines, as_json=as_json)
                return
        else:
            say(f"round {begun.name} goes on as it was begun; --new begins another")
            rebuy = may_buy_again(store, begun.study.open_runs(), yes=yes)
            surroundings = replace(surroundings, rebuy=rebuy)

        async def doing() -> "Round":
            night = begun
            if night is None:
                night = await steps.open_round(
                    store, name, rules, moment, surroundings, budget_usd=budget, concurrency=runs_at_once
                )
                say(f"round {night.name}: {len(night.questions)} questions")
            else:
                night = steps.with_budget(store, night, budget, None)
            night = await steps.gather_contexts(store, night, surroundings)
            if until == "contexts":
                return night
            if until == "quick":
                return await steps.quick_pass(store, night, surroundings)
            return await steps.finish_round(store, night, surroundings)

        night = work(doing, again)
    _finish(store, night, as_json=as_json)


@command
@takes_settings("model")
def triage(
    name: SetName,
    settings: Mapping[str, Any],
    cutoff: CutoffOption = "now",
    quick: Quick = None,
    trials: Trials = None,
    size: Size = None,
    skill: Skill = 0.1,
    as_json: Json = False,
) -> None:
    """The open questions of a set by crowd, time left and expected gain for a dollar; asks nobody (docs/tournament.md)."""
    rules, _ = rules_of(
        settings, quick=quick, trials=trials, promote=0, tree_grounder=None, depth=None, contexts="none",
        size=size, skill=skill,
    )  # fmt: skip
    store = open_store()
    moment = Cutoff.parse(cutoff)
    rows, left_out = steps.plan_round(store, name, rules, moment)
    _show_grid(rows, left_out, steps.cost_lines(store, name, rules, rows, moment)[:1], as_json=as_json)


@command
def promote(
    name: NightName,
    events: Annotated[
        list[str], typer.Argument(metavar="EVENT...", help="Events as `tournament show` names them.")
    ],
    workers: Workers = None,
    isolation: IsolationLevel = None,
    as_json: Json = False,
) -> None:
    """Give single events of a round a tree, whatever its rule chose."""
    surroundings = work_session(isolation=isolation, workers=workers)
    store = open_store()
    night = load_round(store, name)
    with steps.own_set(store, night.set_name):
        night = steps.promote(store, night, events)
        night = work(
            lambda: steps.tree_pass(store, night, surroundings), f"workbench tournament promote {name} ..."
        )
    _finish(store, night, as_json=as_json)


@command
def show(name: NightName, as_json: Json = False) -> None:
    """What a round came to so far, with what does not hold together; writes its page and files again."""
    store = open_store()
    _finish(store, load_round(store, name), as_json=as_json)


def _finish(store: Store, night: "Round", *, as_json: bool) -> None:
    results, folder = write_round(store, night)
    if as_json:
        emit_json({**results.to_json(), "folder": str(folder)})
        return
    _show_results(results)
    echo(f"{folder / 'night.html'}")


def _show_results(results: "RoundResults") -> None:
    header = ["event", "crowd", "spread", "quick", "tree", "raw", "forecast", "to gain", "flags"]
    show_table(
        header,
        [
            [
                row.event[:60], percent(row.crowd), row.spread, percent(row.logit_mean), percent(row.tree),
                percent(row.raw), percent(row.p), row.gain, ", ".join(row.flags),
            ]
            for row in results.rows
        ],
    )  # fmt: skip
    if results.record is not None:
        echo(results.record.line())
    for leak in results.leaks:
        echo(f"leak audit: {leak}")
    for finding in results.findings:
        echo(f"{finding.kind:10} {finding.message}")
    if not results.findings:
        echo("coherent")


def _show_grid(rows: list[TriageRow], left_out: list[Any], lines: list[str], *, as_json: bool) -> None:
    if as_json:
        emit_json(
            {
                "questions": [row.to_json() for row in rows],
                "left_out": [{"id": each.id, "reason": each.reason} for each in left_out],
                "cost": lines,
            }
        )
        return
    header = ["question", "events", "crowd", "days left", "gain", "usd", "gain per usd", "title"]
    show_table(
        header,
        [
            [
                row.question,
                row.events,
                row.crowd,
                row.days_left,
                row.gain,
                row.usd,
                row.per_usd,
                row.title[:80],
            ]
            for row in rows
        ],
    )
    for each in left_out:
        say(f"left out: {each.id}: {each.reason}")
