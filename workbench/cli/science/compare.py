"""`compare`: methods against a reference, with what is needed to believe a difference."""

from typing import Annotated, Any

import typer

from workbench.cli.common import command, echo, emit_json
from workbench.cli.science.options import (
    AsJson,
    EventsFile,
    ExamName,
    ForecastsFile,
    Home,
    Methods,
    Pool,
    Seed,
    Variant,
    listed,
    load,
    with_exam,
)
from workbench.cli.table import show_table


@command
def compare(
    events: EventsFile,
    forecasts: ForecastsFile,
    reference: Annotated[
        str,
        typer.Option(
            "--reference", help="A method, METHOD@VARIANT, or a baseline (crowd+prior_temporal, 0.5)."
        ),
    ],
    method: Methods = "",
    variant: Variant = "forecast",
    pool: Pool = "logit-mean",
    calibrate: Annotated[
        str, typer.Option("--calibrate", help="none, platt, platt-hier; for every method.")
    ] = "none",
    loo: Annotated[
        str, typer.Option("--loo", help="What calibration leaves out: event, question.")
    ] = "event",
    baseline: Annotated[str, typer.Option("--baseline", help="Add baselines, by comma.")] = "",
    ensemble: Annotated[
        str,
        typer.Option(
            "--ensemble",
            help="none, greedy: also the ensemble that grows by whoever helps most; chosen without the question it forecasts.",
        ),
    ] = "none",
    unit: Annotated[
        str, typer.Option("--unit", help="What the bootstrap draws: question, event, or both.")
    ] = "question",
    resamples: Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples.")] = 20_000,
    seed: Seed = 20261121,
    exam: ExamName = None,
    home: Home = None,
    json: AsJson = False,
) -> None:
    """Compare methods with a reference on the events both answered.

    Paired bootstrap and mixed model are in Brier Index points (above 0: better than the reference); p values are
    given one-sided, two-sided, and two-sided after Holm's correction for all methods compared.
    """
    from workbench.science.documents import compare_document
    from workbench.science.recipe import Recipe

    table, probabilities, chosen = load(events, forecasts, exam=exam, home=home)
    document = compare_document(
        table,
        probabilities,
        Recipe(pool=pool, calibrate=calibrate, loo=loo),
        reference,
        methods=listed(method),
        variant=variant,
        baselines=listed(baseline),
        unit=unit,
        resamples=resamples,
        seed=seed,
        ensemble=ensemble,
    )
    if json:
        emit_json(with_exam(document, chosen))
        return
    _show(document)


def _show(document: dict[str, Any]) -> None:
    unit = next(iter(document["paired_bootstrap"]))
    rows = []
    for name, parts in document["paired_bootstrap"][unit].items():
        for part, r in parts.items():
            low, high = r["interval"]
            mixed = document["mixed_model"].get(name, {}).get(part)
            rows.append(
                [
                    name,
                    part,
                    r["n"],
                    f"{r['method']:.2f}",
                    f"{r['difference']:+.2f} [{low:+.2f}, {high:+.2f}] {r['stars']}",
                    r["p_two_sided"],
                    r.get("p_holm"),
                    f"{mixed['difference']:+.2f} ({mixed['se']:.2f})" if mixed else None,
                ]
            )
    header = ["method", "part", "n", "BI", f"against {document['reference']}", "p", "p holm", "mixed model"]
    show_table(header, rows)
    anova = document["anova"]["complete"] or document["anova"]["all"]
    if anova:
        echo(
            f"\nvariance of 1 - |p - o|: method {anova['pct_method']:.1f} %, question {anova['pct_question']:.1f} %, "
            f"rest {anova['pct_residual']:.1f} % ({anova['M']} methods, {anova['Q']} questions)"
        )
    if "ensemble" in document:
        _show_ensemble(document["ensemble"])
    echo(document["multiple_comparisons"])
    for name, hint in document["sample_size"].items():
        echo(f"{name}: {hint['hint']}")


def _show_ensemble(found: dict[str, Any]) -> None:
    echo(
        f"\ngreedy ensemble ({found['how']}) on {found['events']} events of {found['questions']} questions: Brier "
        f"{found['brier']:.4f} without the question forecast; best single member, chosen alike, "
        f"{found['best_single_brier']:.4f}; in-sample {found['in_sample_brier']:.4f}, which flatters"
    )
    show_table(
        ["members", "questions"],
        [[", ".join(each["members"]), each["questions"]] for each in found["chosen"]],
    )
