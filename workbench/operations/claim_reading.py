"""How a claim is read, before anything is asked or started; and examples of what can be claimed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from workbench.errors import USAGE
from workbench.models.model_options import OFFLINE
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, Table
from workbench.operations.fields import ApiBase, CutoffText, ReadingNumber
from workbench.propositions.values import MAX_STATEMENT

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.questions.readings.slots import Readings


class Read(Operation):
    """Show how a claim is read: series, relation, level and days. No run is started.

    A model is asked only where the words cannot be read: it fills the same slots. Exit 2 where the claim has no single reading, or one
    that the model cannot treat.
    """

    tool = "What a claim in words is taken to say at the cutoff, in one reading or several, and whether it can be treated."
    places = ("text",)

    text: Annotated[str, Field(max_length=2000)]
    """A claim in your own words."""
    cutoff: CutoffText = "now"
    model: str = OFFLINE
    """The model that is to treat it."""
    api_base: ApiBase = None
    reading: ReadingNumber = None

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return the reading (``best``, None where there is no single one), ``others``, ``missing`` parts, and ``coverage``."""
        # the resolver's calendar comes with pandas
        from proxies.asof.clock import Cutoff
        from workbench.models.model_list import require_key
        from workbench.offline.claim_coverage import reading_document
        from workbench.questions.readings.choice import choice_of, day_of
        from workbench.questions.readings.read import read

        cutoff = Cutoff.parse(self.cutoff)
        readings = read(self.text, day_of(cutoff))
        if for_a_model(readings, self.model):
            if not self.api_base:  # a server of one's own may want none
                require_key(self.model, home.environ)
            readings = await read_by_model(home, readings, cutoff, self.model, self.api_base)
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


def for_a_model(readings: Readings, model: str) -> bool:
    """Whether a model is to fill the claim: its words have no reading, and name a series or a number at least."""
    unread = not readings.choices and len(readings.text) <= MAX_STATEMENT
    return model != OFFLINE and unread and bool(readings.matched.keys() & {"series", "level"})


async def read_by_model(
    home: Home,
    readings: Readings,
    cutoff: Cutoff,
    model: str,
    api_base: str | None,
    *,
    budget_usd: float | None = None,
    prices: Mapping[str, Sequence[float]] | None = None,
) -> Readings:
    """Return the readings with the one that a model fills, to be shown for a yes; as they are where it fits no series.

    The call is on record in a stream of its own, and the same text is not asked again on the same day. Raises ``ModelError``.
    """
    from workbench.agents.claim_reader import fill_claim
    from workbench.engine.access.own_web import own_asker

    ask = own_asker(
        home.store, model, api_base, run=f"claims:{model}", budget_usd=budget_usd, prices=prices
    )  # fmt: skip
    filled = await fill_claim(readings.text, cutoff, ask, model)
    if filled is None:
        return readings
    return replace(readings, others=(filled,), missing=(), leftover=(), refusal="")


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
