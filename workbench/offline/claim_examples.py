"""Examples of claims, read by the reader itself: ``workbench claims`` and docs/use/claims.md."""

from importlib.resources import files
from typing import Any

import yaml

from proxies.asof.clock import Cutoff
from workbench.models.model_options import OFFLINE
from workbench.offline.claim_coverage import coverage
from workbench.questions.readings.choice import day_of
from workbench.questions.readings.read import read

#: The day that the examples are asked on.
EXAMPLE_CUTOFF = "2018-06-30"


def example_texts() -> dict[str, list[str]]:
    """Return the examples by subject, in the order of the page."""
    text = files("workbench.offline").joinpath("claim_examples.yaml").read_text(encoding="utf-8")
    examples: dict[str, list[str]] = yaml.safe_load(text)
    return examples


def claim_examples() -> list[dict[str, Any]]:
    """Return a row per example: ``{about, text, readings, answered}``.

    ``readings`` are the sentences it can be read as: one, or several of which the person chooses. ``answered`` is ``any model`` where
    the key-free analyst treats the first of them, ``a language model`` where it does not yet.
    """
    cutoff = Cutoff.parse(EXAMPLE_CUTOFF)
    rows = []
    for about, texts in example_texts().items():
        for text in texts:
            choices = read(text, day_of(cutoff)).choices
            treatable = bool(choices) and coverage(choices[0], cutoff, OFFLINE).treatable
            rows.append(
                {
                    "about": about,
                    "text": text,
                    "readings": [choice.statement for choice in choices],
                    "answered": "any model" if treatable else "a language model",
                }
            )
    return rows
