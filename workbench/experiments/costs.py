"""What the models of a study cost beside how often they were right: dollars per 1,000 questions, and what a tree adds (paper A, Table 6)."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

#: Questions that a price is stated for, as in the paper's table.
PER = 1000


def cost_rows(
    arms: Mapping[str, Mapping[str, Any]], manifest: Mapping[str, Any], frame: pd.DataFrame
) -> list[dict[str, Any]]:
    """A row per arm that asked a model: its models, accuracy, scores, and dollars per 1,000 questions at the prices that were charged.

    Parameters
    ----------
    arms : mapping
        Scores by arm, as `study_results` makes them.
    manifest : mapping
        Of the study: its ``arms`` hold the settings of every arm of runs.
    frame : DataFrame
        The tidy table; a forecast that is missing has cost what its calls cost.

    Returns
    -------
    list of dict
        ``per_1000`` counts all trials and seeds of a question, since a score rests on all of them, and is None where a price is
        not known. ``gain`` is the accuracy above that of the same models and grounder without a tree, as a share of it; None for
        an arm without a tree, or where no such arm is in the study.
    """
    settings = {name: each for name, each in manifest.get("arms", {}).items() if "grounder" in each}
    rows = []
    for arm, scores in arms.items():
        own = settings.get(arm)
        if own is None or not scores["calls"]:
            continue
        questions = int(frame.loc[frame["arm"] == arm, "event_id"].nunique())
        plain = _without_tree(own, settings, arms)
        rows.append(
            {
                "arm": arm,
                "models": ", ".join(_models(own)),
                "questions": questions,
                "accuracy": scores["accuracy"],
                "gain": scores["accuracy"] / plain - 1.0 if plain else None,
                "soft": scores["soft"],
                "hard": scores["hard"],
                "brier": scores["brier"],
                "calls": scores["calls"] / questions,
                "tokens": scores["tokens"] / questions,
                "per_1000": None if scores["cost_usd"] is None else scores["cost_usd"] / questions * PER,
            }
        )
    return rows


def _models(settings: Mapping[str, Any]) -> list[str]:
    """The models of an arm, each once; a single role's with the role behind it."""
    main = str(settings["model"])
    others = [f"{model} ({role})" for role, model in settings.get("models", {}).items() if model != main]
    return [main, *others]


def _without_tree(
    own: Mapping[str, Any],
    settings: Mapping[str, Mapping[str, Any]],
    arms: Mapping[str, Mapping[str, Any]],
) -> float | None:
    """Accuracy of the arm that differs from this one by having no tree; None without one, or for an arm that has none itself."""
    if own["analyzer"] == "single":
        return None

    def alike(settings: Mapping[str, Any]) -> list[Any]:
        return [*(settings[key] for key in ("model", "models", "grounder", "trials")), _options(settings)]

    for name, other in settings.items():
        if name in arms and other["analyzer"] == "single" and alike(other) == alike(own):
            return float(arms[name]["accuracy"])
    return None


def _options(settings: Mapping[str, Any]) -> Any:
    return settings.get("options", {}).get("grounder", {})
