"""`compare`: methods against a reference, with what is needed to believe a difference."""

from typing import Annotated, Any

import typer

from workbench.cli.common import command, emit_json
from workbench.cli.science.options import (
    AsJson,
    EventsFile,
    ForecastsFile,
    Methods,
    Pool,
    Seed,
    Variant,
    chosen_methods,
    listed,
    load,
    raw_values,
    show_table,
)
from workbench.errors import UsageError


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
    unit: Annotated[
        str, typer.Option("--unit", help="What the bootstrap draws: question, event, or both.")
    ] = "question",
    resamples: Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples.")] = 20_000,
    seed: Seed = 20261121,
    json: AsJson = False,
) -> None:
    """Compare methods with a reference on the events both answered.

    Paired bootstrap and mixed model are in Brier Index points (above 0: better than the reference); p values are
    given one-sided, two-sided, and two-sided after Holm's correction for all methods compared.
    """
    from workbench.science.recipe import Recipe, prepare
    from workbench.science.scoring.baselines import baseline_forecast

    if unit not in ("question", "event", "both"):
        raise UsageError(f"--unit must be question, event or both, not {unit!r}")
    table, given = load(events, forecasts)
    recipe = Recipe(pool=pool, calibrate=calibrate, loo=loo)
    raw, values = {}, {}
    names = chosen_methods(method, given)
    if reference.partition("@")[0] in given.methods and reference not in names:
        names.append(reference)
    for name in names:
        raw[name] = raw_values(given, name, variant)
        values[name] = _filled(prepare(raw[name], table, recipe), len(table))
    for spec in dict.fromkeys([*listed(baseline), *([reference] if reference not in values else [])]):
        values[spec] = baseline_forecast(table, spec)
    if len(values) < 2:
        raise UsageError("there is nothing to compare: give at least one method beside the reference")
    document = _document(table, values, raw, reference, unit=unit, resamples=resamples, seed=seed)
    if json:
        emit_json(document)
        return
    _show(document)


def _filled(prepared: Any, size: int) -> Any:
    import numpy as np

    p = np.full(size, np.nan)
    p[prepared.rows] = prepared.p
    return p


def _document(
    table: Any, values: Any, raw: Any, reference: str, *, unit: str, resamples: int, seed: int
) -> dict[str, Any]:
    from workbench.science.comparing.agreement import consensus_matrix, mcnemar_matrix
    from workbench.science.comparing.comparison import (
        corrected,
        mixed_comparisons,
        paired_comparisons,
        size_hints,
    )
    from workbench.science.pooling.ensembles import divergence_matrix

    units = ("question", "event") if unit == "both" else (unit,)
    paired: dict[str, Any] = {}
    for one in units:
        results = paired_comparisons(
            table,
            values,
            reference,
            by_question=one == "question",
            resamples=resamples,
            seed=seed,
            draws="multinomial",
        )
        raised = corrected(results)
        paired[one] = {
            name: {
                part: _pair(result, raised[name] if part == "overall" else None)
                for part, result in parts.items()
            }
            for name, parts in results.items()
        }
    names, p_values = mcnemar_matrix(values, table.outcome)
    _, agree = consensus_matrix(values)
    _, apart = divergence_matrix(values)
    mixed = mixed_comparisons(table, values, reference)
    hints = size_hints(table, values, reference)
    return {
        "reference": reference,
        "resamples": resamples,
        "seed": seed,
        "paired_bootstrap": paired,
        "mixed_model": {
            name: {
                part: {"difference": c.difference, "se": c.error, "interval": [c.low, c.high]}
                for part, c in parts.items()
            }
            for name, parts in mixed.items()
        },
        "mcnemar": {"methods": names, "p": p_values.tolist()},
        "consensus": {"methods": names, "agreement": agree.tolist()},
        "divergence": {"methods": names, "bits": apart.tolist()},
        "als": {key: _effects(table, values, complete=key == "complete") for key in ("complete", "all")},
        "anova": {key: _anova(table, raw, complete=key == "complete") for key in ("complete", "all")},
        "sample_size": {
            name: {"needed": hint.needed, "have": hint.have, "power": hint.power, "hint": hint.sentence()}
            for name, hint in hints.items()
        },
        "multiple_comparisons": (
            f"{len(values) - 1} methods against one reference: about {0.05 * (len(values) - 1):.1f} would show p < 0.05 "
            "by chance alone; p_holm keeps the chance of any such to 5 %"
        ),
    }


def _pair(result: Any, raised: float | None) -> dict[str, Any]:
    found = {
        "n": result.n,
        "method": result.a,
        "reference": result.b,
        "difference": result.difference,
        "interval": [result.low, result.high],
        "method_interval": [result.a_low, result.a_high],
        "se": result.error,
        "p_one_sided": result.p_one_sided,
        "p_two_sided": result.p_two_sided,
        "stars": result.stars,
    }
    return found if raised is None else {**found, "p_holm": raised}


def _effects(table: Any, values: Any, *, complete: bool) -> dict[str, Any] | None:
    from workbench.science.comparing.comparison import effect_table

    fit = effect_table(table, values, complete=complete)
    if fit is None:
        return None
    effects = fit.effects
    return {
        "methods": list(fit.methods),
        "mu": effects.mean,
        "alpha": dict(zip(fit.methods, effects.method.tolist(), strict=True)),
        "raw_mean": dict(zip(fit.methods, fit.raw_mean.tolist(), strict=True)),
        "n": dict(zip(fit.methods, fit.n.tolist(), strict=True)),
        "gamma": dict(zip(table.event_id[fit.rows].tolist(), effects.question.tolist(), strict=True)),
        "gamma_sd": float(effects.question.std()),
        "sweeps": effects.sweeps,
    }


def _anova(table: Any, raw: Any, *, complete: bool) -> dict[str, Any] | None:
    from workbench.science.comparing.comparison import trial_anova

    found = trial_anova(table, raw, complete=complete)
    if found is None:
        return None
    names, fit = found
    shares = fit.shares
    return {
        "methods": names,
        "N": fit.n,
        "M": fit.methods,
        "Q": fit.questions,
        "grand_mean": fit.grand_mean,
        "SS_method": fit.ss_method,
        "SS_question": fit.ss_question,
        "SS_residual": fit.ss_residual,
        "SS_total": fit.ss_total,
        "pct_method": shares[0],
        "pct_question": shares[1],
        "pct_residual": shares[2],
        "df_method": fit.df_method,
        "df_question": fit.df_question,
        "df_residual": fit.df_residual,
        "F_method": fit.f_method,
        "F_question": fit.f_question,
    }


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
        typer.echo(
            f"\nvariance of 1 - |p - o|: method {anova['pct_method']:.1f} %, question {anova['pct_question']:.1f} %, "
            f"rest {anova['pct_residual']:.1f} % ({anova['M']} methods, {anova['Q']} questions)"
        )
    typer.echo(document["multiple_comparisons"])
    for name, hint in document["sample_size"].items():
        typer.echo(f"{name}: {hint['hint']}")
