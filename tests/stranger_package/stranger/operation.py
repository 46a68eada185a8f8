"""A thing to ask that the workbench has not: how often a claim of a length came true, by Laplace's rule."""

from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, TypedDict

from pydantic import Field

from workbench.errors import WANTING
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, columns


class Answer(TypedDict):
    """The days counted, and the share of yes among them."""

    until: str
    rows: list[dict[str, Any]]


class BaseOf(Operation):
    """Count how often something came true, and what that makes likely."""

    places = ("name",)
    person = ("note",)
    tool = "The base rate of a count, by Laplace's rule."

    name: str
    """What is counted."""
    hits: Annotated[int, Field(ge=0)]
    """How often it came true."""
    of: Annotated[int, Field(ge=0)] = 10
    """Out of how many."""
    until: date = date(2018, 6, 30)
    """The last day that counts."""
    note: str = ""
    """A remark of one's own."""

    async def answer(self, home: Home) -> Answer:
        """Return the share; a person confirms it first."""
        home.say(f"counting {self.name}")
        home.confirm("go on?")
        share = (self.hits + 1) / (self.of + 2)
        return {
            "until": self.until.isoformat(),
            "rows": [{"name": self.name, "p": share, "folder": home.folder.name}],
        }

    def show(self, document: Answer) -> Iterator[Block]:
        """Return a row, and the remark."""
        yield columns(document["rows"], what="name", chance="p %")
        if self.note:
            yield Remark(self.note)

    def exit_code(self, document: Answer) -> int:
        """Return 6 where more came true than there were."""
        return WANTING if self.hits > self.of else 0
