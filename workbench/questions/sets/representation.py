"""How well a set stands for a larger corpus: the shares of its events in each column beside the corpus' (paper B, App. H.2.3)."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency

from workbench.questions.question import QuestionError
from workbench.questions.sets.question_sets import QuestionSet
from workbench.questions.sets.set_scores import events_table
from workbench.science.tables import Events

_COLUMNS = ("source", "category", "topic", "question_type")
_DAYS = (7, 30, 90, 180, 365)
#: Values of a column that are listed; the others are counted together.
_MOST = 12


def against_document(questions: QuestionSet, corpus: QuestionSet, name: str) -> dict[str, Any]:
    """The document of ``questions show SET --against CORPUS``.

    By column the shares of set and corpus, and their distance: half the sum of the absolute differences, 0 for equal shares and 1
    for none in common. ``p`` is of a chi-squared test that the set was drawn from the corpus' shares, None for too few events.

    Raises `QuestionError`: One of the two has no event.
    """
    own = events_table(list(questions.questions.values()))
    other = events_table(list(corpus.questions.values()))
    for table, label in ((own, questions.name), (other, name)):
        if not len(table):
            raise QuestionError(f"{label} has no event to compare")
    columns = []
    for column in _COLUMNS:
        if column in own.frame.columns and column in other.frame.columns:
            columns.append(_compared(column, own.text(column).tolist(), other.text(column).tolist()))
    for column, label in (("horizon_days", "horizon"), ("crowd", "crowd")):
        columns.append(_compared(label, _binned(own, column), _binned(other, column)))
    columns.append(_compared("outcome", _outcomes(own), _outcomes(other)))
    ids = set(own.event_id.tolist())
    return {
        "set": questions.name,
        "against": name,
        "events": len(own),
        "corpus_events": len(other),
        "in_both": len(ids & set(other.event_id.tolist())),
        "columns": columns,
    }


def _compared(column: str, own: Sequence[str], corpus: Sequence[str]) -> dict[str, Any]:
    ours, theirs = Counter(own), Counter(corpus)
    ranked = [value for value, _ in (theirs + ours).most_common()]
    listed = ranked[:_MOST]
    rows = [(value, ours[value], theirs[value]) for value in listed]
    if ranked[_MOST:]:
        rest = ranked[_MOST:]
        rows.append((f"({len(rest)} others)", sum(ours[v] for v in rest), sum(theirs[v] for v in rest)))
    shares = [(value, a / len(own), b / len(corpus)) for value, a, b in rows]
    return {
        "column": column,
        "distance": sum(abs(a - b) for _, a, b in shares) / 2,
        "p": _chi_squared([a for _, a, _ in rows], [b for _, _, b in rows]),
        "values": [{"value": value, "set": a, "corpus": b} for value, a, b in shares],
    }


def _chi_squared(own: Sequence[int], corpus: Sequence[int]) -> float | None:
    """Of the hypothesis that both have the same shares; None where an expected count is below 1 or there is one value alone."""
    table = np.array([[a, b] for a, b in zip(own, corpus, strict=True) if a + b], dtype=float)
    if len(table) < 2:
        return None

    result = chi2_contingency(table)
    return None if float(result.expected_freq.min()) < 1 else float(result.pvalue)


def _binned(table: Events, column: str) -> list[str]:
    values = (
        np.asarray(table.frame[column], dtype=float)
        if column in table.frame.columns
        else np.full(len(table), np.nan)
    )
    if column == "crowd":
        return [
            "none" if np.isnan(v) else f"{min(int(v * 5), 4) / 5:.1f} to {min(int(v * 5), 4) / 5 + 0.2:.1f}"
            for v in values
        ]
    return ["none" if np.isnan(v) else _horizon_words(v) for v in values]


def _horizon_words(value: float) -> str:
    bound = next((bound for bound in _DAYS if value <= bound), None)
    return f"over {_DAYS[-1]} days" if bound is None else f"up to {bound} days"


def _outcomes(table: Events) -> list[str]:
    return ["open" if np.isnan(value) else "yes" if value == 1 else "no" for value in table.outcome]
