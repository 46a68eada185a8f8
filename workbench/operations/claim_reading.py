"""How a claim is read, before anything is asked or started; and examples of what can be claimed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

from pydantic import Field

from workbench.errors import USAGE
from workbench.models.model_options import OFFLINE
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, Table
from workbench.operations.fields import CutoffText, ReadingNumber


class Read(Operation):
    """Show how a claim is read: series, relation, level and days. No model is asked and no run is started.

    Exit 2 where it has no single reading, or one that the model cannot treat.
    """

    tool = "What a claim in words is taken to say at the cutoff, in one reading or several, and whether it can be treated."
    places = ("text",)

    text: Annotated[str, Field(max_length=2000)]
    """A claim in your own words."""
    cutoff: CutoffText = "now"
    model: str = OFFLINE
    """The model that is to treat it."""
    reading: ReadingNumber = None

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the reading (``best``, None where there is no single one), ``others``, ``missing`` parts, and ``coverage``."""
        # the resolver's calendar comes with pandas
        from proxies.asof.clock import Cutoff
        from workbench.offline.claim_coverage import reading_document
        from workbench.questions.readings.choice import choice_of, day_of
        from workbench.questions.readings.read import read

        cutoff = Cutoff.parse(self.cutoff)
        readings = read(self.text, day_of(cutoff))
        if self.reading is not None:
            readings = replace(readings, best=choice_of(readings, self.reading), others=())
        return reading_document(readings, cutoff, self.model)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the reading, what it leaves open, and what would help."""
        from workbench.views.reading_documents import reading_lines

        yield from reading_lines(document)

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 2 where the claim cannot be treated as it stands."""
        return 0 if document["best"] and document["coverage"]["treatable"] else USAGE


class Claims(Operation):
    """List what a claim may say, each example with how it is read on 2018-06-30 and who answers it."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the examples with the day that they are read on."""
        from workbench.offline.claim_examples import EXAMPLE_CUTOFF, claim_examples

        return {"cutoff": EXAMPLE_CUTOFF, "claims": claim_examples()}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a table for each subject, a row for each reading."""
        for about, claims in groupby(document["claims"], key=itemgetter("about")):
            rows = [
                ("" if number else claim["text"], reading, claim["answered"])
                for claim in claims
                for number, reading in enumerate(claim["readings"])
            ]
            yield Table([about, "read as", "answered by"], rows)
        yield Remark(
            "`workbench read TEXT` says how yours is read; a claim of several readings is asked about."
        )
