"""``analyze`` and ``demo``: a claim becomes a tree, grounded leaves, and a probability of the root."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperOption

from proxies.catalogue.schema import RESIDUALS
from proxies.input_files import MOST_TEXT_BYTES, InputRefused, read_text
from workbench.cli.common import (
    AsJson,
    IsolationLevel,
    command,
    command_name,
    echo,
    open_store,
    say,
    unlisted,
)
from workbench.cli.run.drive import analyze_claim
from workbench.cli.run.run_options import Detach, Workers, more_options, takes_settings
from workbench.engine.leaves.aggregation import Aggregation
from workbench.engine.named_settings import json_or_text, merged, settings_by_panel
from workbench.engine.run_settings import with_preset
from workbench.engine.settings_file import defaults, run_settings
from workbench.engine.worker_place import worker_place
from workbench.errors import UsageError
from workbench.formatting import percent
from workbench.offline.examples import EXAMPLE_CUTOFF, EXAMPLES, data_reach
from workbench.plug_points import ANALYZERS, GROUNDERS, SYNTHESIZERS, plugin_names
from workbench.questions.readings.choice import READING
from workbench.views.run_view import view

DEMO_STATEMENT, DEMO_CUTOFF = EXAMPLES[0], EXAMPLE_CUTOFF


@command
def demo(
    isolation: IsolationLevel = None,
) -> None:
    """Run the main job on the embedded data, without a key, and say what its answer turned out to be worth."""
    run_id = analyze_claim(DEMO_STATEMENT, DEMO_CUTOFF, with_preset("product", isolation=isolation))
    store = open_store()
    run = view(store, run_id)
    # The lines above have it; what they do not say is that it cannot have reached the answer.
    known = run.state.annotations.outcome is not None
    echo(
        "the outcome was read when the run was over, from rows after the cutoff"
        if known
        else "outcome: not in the embedded data"
    )
    echo("")
    echo(f"tree       {run.folder / 'tree.json'}")
    echo(
        f"proofs     {run.folder / 'proofs'} ({len(list((run.folder / 'proofs').glob('*.ipynb')))} notebooks)"
    )
    echo(f"manifest   {run.folder / 'manifest.json'}")
    program = command_name()
    echo(f"data       embedded, without a key: {data_reach()}")
    echo(f"dashboard  {program} serve {run_id}")
    leaf = next(iter(run.tree.leaves()))
    echo(f"what if    {program} whatif {run_id} --set {leaf}=0.0   (now {percent(run.tree[leaf].p)})")


@command
@takes_settings("model", "grounder", "background", "criteria", "depth", "trials", "budget_usd", new=True)
def analyze(
    statement: Annotated[str, typer.Argument(help="A claim that will turn out true or false.")],
    cutoff: Annotated[
        str,
        typer.Option(help="Cutoff: a date (start of that day in New York), an instant, or now."),
    ],
    settings: Mapping[str, Any],
    ground_with: Annotated[
        list[str] | None,
        unlisted(
            metavar="LEAF=GROUNDER",
            help="The grounder of one driver, or several joined by + and pooled: P3=statistical. Repeat for more; other drivers go by"
            " --grounder.",
        ),
    ] = None,
    semantics: Annotated[
        str | None,
        unlisted(
            help="strict: every linear rule is a Bayes net's table too, which stays within [0, 1]; free.",
        ),
    ] = None,
    normalise: Annotated[
        str | None,
        unlisted(help="How --semantics strict mends weights: scale (the default), softmax or min-max."),
    ] = None,
    aggregate: Annotated[
        list[str] | None,
        unlisted(
            metavar="NAME=VALUE",
            help="How trials become one probability: pool=logit-mean|mean|median, dead=drop|impute, floor, slope and prior (shrinkage),"
            " calibration-slope, calibration-offset, stop-spread (no further trial once they agree), stop-after, learn=true.",
        ),
    ] = None,
    workers: Workers = None,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Stop after the tree, with a cost forecast.")
    ] = False,
    detach: Detach = False,
    reading: Annotated[
        int | None,
        # Hidden: the list of readings, which alone makes it of use, says how it is chosen.
        unlisted("--reading", metavar=READING.form, help=READING.text),
    ] = None,
    yes: Annotated[bool, unlisted("--yes", help="Ask nothing: the first reading is taken.")] = False,
    as_json: AsJson = False,
) -> None:
    """Break a claim into drivers, collect evidence for them in sealed notebooks, and combine them into a probability."""
    place = worker_place(workers)
    others = {"aggregation": _aggregation(aggregate or ()), "options": _agent_options(semantics, normalise)}
    chosen = merged({name: value for name, value in others.items() if value}, settings)
    _check_residual(chosen.get("max_residual"))
    for name in ("background", "criteria"):
        chosen[name] = _text_or_file(name, chosen.get(name))
    if ground_with:
        _name_grounders(chosen, ground_with)
    values, complaints = defaults(Path.cwd())
    for complaint in complaints:
        say(f"workbench: {complaint}")
    run = run_settings(chosen, values, nulls=[name for name, value in settings.items() if value is None])
    if detach and (plan_only or as_json):
        raise UsageError(
            "--detach returns at once: leave out --plan-only and --json, and look at the run with watch"
        )
    analyze_claim(
        statement, cutoff, run, plan_only=plan_only, as_json=as_json, detach=detach, workers=place, reading=reading, yes=yes,
    )  # fmt: skip


def _aggregation(pairs: Sequence[str]) -> dict[str, Any] | None:
    """Return what ``--aggregate`` sets, by the names of ``Aggregation``; raises ``UsageError``."""
    known = [item.name.replace("_", "-") for item in fields(Aggregation) if item.name != "learned_from"]
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in known:
            raise UsageError(f"--aggregate {pair!r}: write NAME=VALUE, NAME one of {', '.join(known)}")
        values[name.replace("-", "_")] = json_or_text(text)
    return values or None


def _name_grounders(chosen: dict[str, Any], pairs: Sequence[str]) -> None:
    """Put ``--ground-with`` into the router's settings; leaves that nobody names go by the grounder that was asked for."""
    named: dict[str, str] = {}
    for pair in pairs:
        node, equals, name = pair.partition("=")
        if not (equals and node.strip() and name.strip()):
            raise UsageError(f"--ground-with {pair!r}: write LEAF=GROUNDER, for example P3=statistical")
        if node.strip() in named:
            raise UsageError(f"--ground-with names {node.strip()} twice: say it once")
        named[node.strip()] = name.strip()
    every = dict(chosen.get("options", {}))
    options, grounder = every.get("grounder", {}), chosen.get("grounder")
    if grounder not in (None, "auto"):
        # The settings given for the one grounder stay its own.
        options = {grounder: options, "among": [grounder]}
    chosen["options"] = {**every, "grounder": {**options, "ground_with": named}}
    chosen["grounder"] = "auto"


def _check_residual(word: str | None) -> None:
    if word not in (None, *RESIDUALS):
        raise UsageError(f"max-residual is one of {', '.join(RESIDUALS)}, not {word!r}")


def _text_or_file(option: str, value: str | None) -> str | None:
    if value is None or not value.startswith("@"):
        return value
    try:
        return read_text(Path(value[1:]), most=MOST_TEXT_BYTES)
    except InputRefused as error:
        raise UsageError(f"--{option}: {error}") from None


class AnalyzeCommand(TyperCommand):
    """``analyze`` with the settings by panel and the names of the installed agents in its help, looked up only when it is asked for."""

    _GROUPS: ClassVar[dict[str, str]] = {
        "analyzer": ANALYZERS,
        "grounder": GROUNDERS,
        "rule": SYNTHESIZERS,
    }

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; called by typer."""
        agents = {role: f"One of {', '.join(plugin_names(group))}." for role, group in self._GROUPS.items()}
        for param in self.params:
            if param.name in agents and isinstance(param, TyperOption):
                # The option object outlives the call: without the cut a second --help in one process would show the list
                # twice.
                param.help = f"{(param.help or '').partition(' One of ')[0]} {agents[param.name]}"
        lines = [f"{panel}: {', '.join(names)}" for panel, names in settings_by_panel().items()]
        rest = [f"{role}: {line}" for role, line in agents.items() if role != "grounder"]
        self.epilog = "\n\n".join(
            [
                "Settings, by --set NAME=VALUE; `workbench help analyze` says what each is:",
                *lines,
                *rest,
                f"More: {' '.join(more_options(self))}",
            ]
        )
        super().format_help(ctx, formatter)


app = typer.Typer(add_completion=False)
app.command(cls=AnalyzeCommand)(analyze)


def _agent_options(semantics: str | None, normalise: str | None) -> dict[str, dict[str, Any]]:
    # Refused, not ignored: without strict rules the option would change nothing, and the run would not be what was asked
    # for.
    if normalise is not None and semantics != "strict":
        raise UsageError("--normalise says how strict rules are made: add --semantics strict")
    own = {"semantics": semantics, "normalise": normalise}
    chosen = {name: value for name, value in own.items() if value is not None}
    return {"synthesizer": chosen} if chosen else {}
