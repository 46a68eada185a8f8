"""``models``: which models the keys at hand reach; ``models try``: whether one of them is fit for the job."""

import asyncio
import os
from typing import Annotated

import typer

from workbench.agents.model_trial import try_model, verdict
from workbench.cli.common import (
    ApiBase,
    AsJson,
    IsolationLevel,
    Prices,
    command,
    echo,
    emit_json,
    say,
    unlisted,
)
from workbench.cli.run.run_options import Yes
from workbench.engine.hindsight import training_end
from workbench.engine.named_settings import read_prices
from workbench.engine.run_settings import RunSettings
from workbench.errors import WANTING
from workbench.models.model_list import KEYS, reachable
from workbench.models.model_options import RetrySettings
from workbench.models.registry import open_model

models = typer.Typer(
    help="List the models that the keys at hand reach, or try one.",
    invoke_without_command=True,
    no_args_is_help=False,
)


@models.callback()
@command
def list_models(
    ctx: typer.Context,
    pattern: Annotated[str | None, typer.Option("--match", help="Only names that hold this text.")] = None,
    as_json: AsJson = False,
) -> None:
    """List models with context, vision, tools, JSON schema, price per million tokens, and the end of their training."""
    if ctx.invoked_subcommand is not None:
        return

    entries = [
        entry
        for entry in reachable(os.environ, training_end=training_end)
        if pattern is None or pattern in entry.model
    ]
    if as_json:
        emit_json([entry.to_json() for entry in entries])
        return
    echo(
        f"{'model':48} {'context':>9} {'sees':>5} {'tools':>5} {'schema':>6} {'$in':>7} {'$out':>7}  training ends"
    )
    for entry in entries:
        context = "" if entry.context is None else f"{entry.context:,}"
        prices = ["?" if price is None else f"{price:g}" for price in (entry.price_in, entry.price_out)]
        marks = ["yes" if able else "-" for able in (entry.vision, entry.tools, entry.schema)]
        echo(
            f"{entry.model:48} {context:>9} {marks[0]:>5} {marks[1]:>5} {marks[2]:>6} {prices[0]:>7} {prices[1]:>7}"
            f"  {entry.training_end}"
        )
    if len(entries) == 1:
        say(
            f"no provider's key is set here ({', '.join(keys[0] for keys in KEYS.values())}); see also --api-base"
        )


@models.command("try")
@command
def try_one(
    model: Annotated[str, typer.Argument(help="Provider/model as LiteLLM spells it.")],
    api_base: ApiBase = None,
    reply_form: Annotated[str, typer.Option(help="auto, text or schema, as for analyze.")] = "auto",
    timeout: Annotated[float, unlisted(help="Seconds for one reply.")] = 120.0,
    as_json: AsJson = False,
) -> None:
    """Ask a model for every reply form once, on one small driver, and say whether it is fit; exit 6 if it is not.

    Nothing is run and nothing is recorded; the model is asked about ten times at most.
    """
    settings = RunSettings(model=model, api_base=api_base, reply_form=reply_form, timeout=timeout)  # type: ignore[arg-type]
    opened = open_model(
        model,
        api_base=api_base,
        reply_form=settings.reply_form,
        retries=RetrySettings(attempts=2).with_timeout(timeout),
    )
    checks, cost = asyncio.run(try_model(opened))
    sentence = verdict(checks)
    if as_json:
        emit_json(
            {
                "model": model,
                "checks": [check.to_json() for check in checks],
                "verdict": sentence,
                "cost_usd": cost,
            }
        )
    else:
        for check in checks:
            echo(
                f"{check.form:11} {check.outcome:7} {check.calls} calls {check.seconds:6.1f} s  {check.detail}"
            )
        price = "price unknown" if cost is None else f"${cost:.4f}"
        echo(f"{model}: {sentence} ({price})")
    if any(check.outcome == "failed" for check in checks):
        raise typer.Exit(WANTING)


@models.command("exam")
@command
def exam(
    model: Annotated[str, typer.Argument(help="Provider/model as LiteLLM spells it.")],
    questions: Annotated[int, typer.Option(min=1, help="How many are drawn.")] = 80,
    recent: Annotated[
        bool,
        unlisted(
            "--recent",
            help="On series of today, at cutoffs of the last year; needs the network.",
        ),
    ] = False,
    sets: Annotated[
        list[str] | None,
        unlisted(
            "--from",
            metavar="SET",
            help="Half of them resolved events of this set of yours; may be given again.",
        ),
    ] = None,
    grounder: Annotated[
        str,
        unlisted(
            help="How the model answers: notebook (with data), zero-shot (one call), or another grounder.",
        ),
    ] = "notebook",
    budget_usd: Annotated[
        float | None, typer.Option(help="Most US dollars; stopped there, the exam can go on.")
    ] = None,
    seed: Annotated[
        int | None,
        unlisted(min=0, help="Of the draw; without it this home's, drawn at random."),
    ] = None,
    api_base: ApiBase = None,
    price: Prices = None,
    isolation: IsolationLevel = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Examine a model on dated questions whose outcomes are known, beside the base rate and the key-free forecaster.

    The questions are drawn before the model is named and are the same for every model of this home. The price is said first; stopped,
    the same command goes on and pays for nothing twice.
    """
    from workbench.cli.model_questions import (
        examine,
    )  # studies load pandas and scipy, which no list of models needs

    examine(
        model,
        questions=questions,
        recent=recent,
        sets=sets or (),
        grounder=grounder,
        seed=seed,
        api_base=api_base,
        prices=read_prices(price or ()),
        budget_usd=budget_usd,
        isolation=isolation,
        yes=yes,
        as_json=as_json,
    )
