"""`compare`: methods against a reference, with what is needed to believe a difference."""

from typing import Annotated, Any

import typer

from workbench.cli.common import command, echo, emit_json, unlisted
from workbench.cli.science.science_options import (
    AsJson,
    EventsFile,
    ExamName,
    ForecastsFile,
    Methods,
    Pool,
    Seed,
    Variant,
    listed,
    load,
    with_exam,
    with_interval,
)
from workbench.cli.table import show_table
from workbench.science.documents import compare_document
from workbench.science.recipe import Recipe


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
    loo: Annotated[str, unlisted("--loo", help="What calibration leaves out: event, question.")] = "event",
    baseline: Annotated[str, unlisted("--baseline", help="Add baselines, by comma.")] = "",
    ensemble: Annotated[
        str,
        unlisted(
            "--ensemble",
            help="none, greedy: also the ensemble that grows by whoever helps most; chosen without the question it forecasts.",
        ),
    ] = "none",
    unit: Annotated[
        str,
        unlisted("--unit", help="What the paper's bootstrap (--json) draws: question, event, or both."),
    ] = "question",
    resamples: Annotated[int, unlisted("--resamples", min=1, help="Bootstrap resamples.")] = 20_000,
    seed: Seed = 20261121,
    exam: ExamName = None,
    json: AsJson = False,
) -> None:
    """Compare methods with a reference on the events both answered.

    Differences are in Brier Index points (above 0: better than the reference). Interval and p value come from one test, sign flips
    of whole clusters: events of one series in one stretch of time, and events asked on one day, share their luck. A verdict wants a p
    value of at most 0.05 after Holm's correction for all methods compared, a mixed model that agrees, 6 clusters and 6 days asked on.
    """
    table, probabilities, chosen = load(events, forecasts, exam=exam)
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
    _show_comparison(document)


def _show_comparison(document: dict[str, Any]) -> None:
    rows = []
    for name, parts in document["paired_test"].items():
        for part, r in parts.items():
            mixed = document["mixed_model"].get(name, {}).get(part)
            ends = "" if r["interval"] is None else " [{:+.2f}, {:+.2f}]".format(*r["interval"])
            rows.append(
                [
                    name,
                    part,
                    r["n"],
                    r["clusters"],
                    r["days"],
                    with_interval(r["method"], r["method_interval"]),
                    f"{r['difference']:+.2f}{ends}",
                    r["p"],
                    r["p_holm"],
                    f"{mixed['difference']:+.2f} ({mixed['se']:.2f})" if mixed else None,
                    (r["verdict"] or "no verdict") + (f" ({r['reason']})" if r["reason"] else ""),
                ]
            )
    header = [
        "method",
        "part",
        "n",
        "clusters",
        "days asked on",
        "BI",
        f"against {document['reference']}",
        "p",
        "p holm",
    ]
    show_table([*header, "mixed model", "verdict"], rows)
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


def _show_ensemble(ensemble: dict[str, Any]) -> None:
    echo(
        f"\ngreedy ensemble ({ensemble['how']}) on {ensemble['events']} events of {ensemble['questions']} questions: Brier "
        f"{ensemble['brier']:.4f} without the question forecast; best single member, chosen alike, "
        f"{ensemble['best_single_brier']:.4f}; in-sample {ensemble['in_sample_brier']:.4f}, which flatters"
    )
    show_table(
        ["members", "questions"],
        [[", ".join(each["members"]), each["questions"]] for each in ensemble["chosen"]],
    )
