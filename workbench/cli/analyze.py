"""``analyze``: a claim becomes a tree, grounded leaves, and a probability of the root."""

from typing import Annotated

import typer

from workbench.cli.common import ISOLATION_OPTION, JSON_OPTION, command
from workbench.cli.drive import analyze_claim
from workbench.errors import UsageError


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
    grounder: Annotated[str | None, typer.Option(help="How leaves are grounded.")] = None,
    rule: Annotated[str | None, typer.Option(help="How children are combined.")] = None,
    rule_seed: Annotated[int | None, typer.Option(help="Seed of --rule random.")] = None,
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
    )
    analyze_claim(statement, cutoff, settings, plan_only=plan_only, as_json=as_json)
