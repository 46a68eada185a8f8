"""The document that `elicit` prints."""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from workbench.science.documents.forecasts import Document
from workbench.science.pooling.elicitation import both_directions, prompt_ensemble, self_consistency
from workbench.science.tables import Answers

Elicited = Literal["ensemble", "both_directions", "votes", "weighted_votes"]


def elicit_document(answers: Mapping[str, Answers]) -> Document:
    """Probabilities from one model's answers to one question in several forms: what `elicit` prints.

    Parameters
    ----------
    answers : mapping of str to Answers
        As from `read_answers`.

    Examples
    --------
    >>> both = Answers(variants=[], yes=0.7, no=0.5, votes=[], confidence=[])
    >>> round(elicit_document({"e": both})["events"]["e"]["both_directions"], 6)
    0.6
    """
    entries: dict[str, dict[Elicited, float | None]] = {}
    for event, answer in answers.items():
        entry: dict[Elicited, float | None] = {}
        if answer.variants:
            entry["ensemble"] = float(prompt_ensemble([answer.variants])[0])
        if answer.yes is not None and answer.no is not None:
            entry["both_directions"] = float(both_directions([answer.yes], [answer.no])[0])
        if answer.votes:
            entry["votes"] = float(self_consistency([answer.votes])[0])
            if any(c is not None for c in answer.confidence):
                weights = [[np.nan if c is None else c for c in answer.confidence]]
                weighted = float(self_consistency([answer.votes], weights)[0])
                # No weight at all gives nan, which JSON does not have.
                entry["weighted_votes"] = None if np.isnan(weighted) else weighted
        entries[event] = entry
    return {"events": entries}
