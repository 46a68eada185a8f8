"""``analyze``: a claim becomes a tree, grounded leaves, and a probability of the root."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import orjson
import typer
from typer.core import TyperCommand, TyperOption

from workbench.cli.common import ISOLATION_OPTION, JSON_OPTION, command
from workbench.cli.drive import analyze_claim
from workbench.errors import UsageError
from workbench.plugins import ANALYZERS, GROUNDERS, SYNTHESIZERS, plugin_names


@command
def analyze(
    statement: Annotated[str, typer.Argument(help="A proposition that will turn out true or false.")],
    cutoff: Annotated[
        str,
        typer.Option(help="Knowledge cutoff: a date (start of that day in New York), an instant, or now."),
    ],
    model: Annotated[
        str | None, typer.Option(help="offline/analyst, or provider/model as LiteLLM spells it.")
    ] = None,
    api_base: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")] = None,
    analyzer: Annotated[str | None, typer.Option(help="How the claim is broken into a tree.")] = None,
    grounder: Annotated[str | None, typer.Option(help="How leaves are grounded.")] = None,
    rule: Annotated[str | None, typer.Option(help="How children are combined.")] = None,
    rule_seed: Annotated[int | None, typer.Option(help="Seed of --rule random.")] = None,
    semantics: Annotated[
        str | None,
        typer.Option(
            help="strict: every linear rule is a Bayes net's table too, which never leaves [0, 1]; free."
        ),
    ] = None,
    normalise: Annotated[
        str | None,
        typer.Option(help="How --semantics strict mends weights: scale (the default), softmax or min-max."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="ROLE.NAME=VALUE: a setting of one agent alone; ROLE is analyzer, grounder or synthesizer,"
            " VALUE is JSON or text."
        ),
    ] = None,
    preset: Annotated[
        str, typer.Option(help="Named set of defaults: product, analytica-paper, blf-paper.")
    ] = "product",
    depth: Annotated[
        int | None, typer.Option(help="n of Analytica^n: leaves are analyzed again n - 1 times.")
    ] = None,
    leaf_target: Annotated[
        int | None, typer.Option(help="Expand leaves one after another up to this many.")
    ] = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="The analyzer stops after the round that reaches this many.")
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Independent groundings per leaf.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Groundings at once.")] = None,
    budget_usd: Annotated[
        float | None, typer.Option(help="Stop, resumable, when the model has cost this much.")
    ] = None,
    workers: Annotated[str, typer.Option(help="Where groundings run.")] = "local",
    isolation: Annotated[str | None, ISOLATION_OPTION] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse data whose date cannot be fully proven.")
    ] = False,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Stop after the tree, with a cost forecast.")
    ] = False,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Break a claim into a tree, ground its leaves in sealed notebooks, and combine them into a probability."""
    from workbench.engine.run.settings import with_preset

    if workers != "local":
        raise UsageError(
            f"workers {workers!r} cannot be used: this version grounds leaves on this machine (--workers local)"
        )
    settings = with_preset(
        preset,
        model=model,
        api_base=api_base,
        analyzer=analyzer,
        grounder=grounder,
        rule=rule,
        rule_seed=rule_seed,
        depth=depth,
        leaf_target=leaf_target,
        max_leaves=max_leaves,
        trials=trials,
        concurrency=concurrency,
        budget_usd=budget_usd,
        isolation=isolation,
        strict=strict,
        options=_agent_options(option or (), semantics, normalise),
    )
    analyze_claim(statement, cutoff, settings, plan_only=plan_only, as_json=as_json)


class AnalyzeCommand(TyperCommand):
    """``analyze`` with the names of the installed agents in its help, looked up only when help is asked for."""

    _GROUPS: ClassVar[dict[str, str]] = {
        "analyzer": ANALYZERS,
        "grounder": GROUNDERS,
        "rule": SYNTHESIZERS,
    }

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; called by typer."""
        for param in self.params:
            if param.name in self._GROUPS and isinstance(param, TyperOption):
                # The option object outlives the call: without the cut a second --help in one process would show the list
                # twice.
                sentence = (param.help or "").partition(" One of ")[0]
                param.help = f"{sentence} One of {', '.join(plugin_names(self._GROUPS[param.name]))}."
        super().format_help(ctx, formatter)


def _agent_options(
    pairs: Sequence[str], semantics: str | None, normalise: str | None
) -> dict[str, dict[str, Any]]:
    """Return the settings of single agents by role, from ``--option`` and the options that stand for some of them."""
    options: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        place, equals, text = pair.partition("=")
        role, dot, name = place.strip().partition(".")
        if not (equals and dot and role and name):
            raise UsageError(
                f"--option {pair!r}: write ROLE.NAME=VALUE, for example synthesizer.semantics=strict"
            )
        _set_option(options, role, name, _value(text))
    # Refused, not ignored: without strict rules the option would change nothing, and the run would not be what was asked
    # for.
    if normalise is not None and semantics != "strict":
        raise UsageError("--normalise says how strict rules are made: add --semantics strict")
    if semantics is not None:
        _set_option(options, "synthesizer", "semantics", semantics)
    if normalise is not None:
        _set_option(options, "synthesizer", "normalise", normalise)
    return options


def _set_option(options: dict[str, dict[str, Any]], role: str, name: str, value: Any) -> None:
    settings = options.setdefault(role, {})
    if name in settings:
        raise UsageError(f"{role}.{name} is set twice: say it once")
    settings[name] = value


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
