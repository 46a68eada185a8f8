"""The note as one tree: a list of blocks that every document of it writes in its own way, so that no two can differ.

Every number is text here already, written as all screens write it. Texts of models and people are as they came: whoever
writes a document escapes or cleans them for it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Literal

from workbench.audit.vintages import Vintage
from workbench.propositions import NodeId
from workbench.reports.note_plots import Plot
from workbench.views.trail import Trail


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below the claim, which is the title: of a part (1), of a driver in it (2), of what is said of one (3)."""

    text: str
    level: Literal[1, 2, 3] = 1
    id: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str
    tone: Literal["", "sentence", "soft", "strong", "alarm"] = ""


@dataclass(frozen=True, slots=True)
class Headline:
    """The claim's probability, and what to read it by: names and words."""

    p: str
    facts: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Series:
    """The claim's series with its fan where the run has one, as `workbench.views.fan_chart` draws it."""

    fan: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A leaf by how far it moves the claim: the claim's p if the leaf is false, and if it is true."""

    id: NodeId
    statement: str
    p: float | None
    if_false: float
    if_true: float


@dataclass(frozen=True, slots=True)
class Drivers:
    """The drivers by how far they move the claim, which is at ``p``."""

    p: float
    rows: Sequence[Driver]

    @property
    def axis(self) -> tuple[float, float]:
        """The ends of the chart's axis: the drivers' ends widened to whole tenths, in [0, 1]."""
        ends = [end for driver in self.rows for end in (driver.if_false, driver.if_true)]
        # Rounded first: 0.3 / 0.1 is a little below 3, and would widen the axis by an empty tenth.
        high = min(1.0, max(0.1, ceil(round(10 * max(ends), 6)) / 10))
        return max(0.0, min(floor(round(10 * min(ends), 6)) / 10, high - 0.1)), high


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a table: its text, an id before it, smaller lines below.

    ``depth`` indents it, ``share`` is the probability that a page draws beside it. A page can be entered at ``anchor``, left for
    the ``links`` (words, anchor), and shows ``raw`` when it is asked to.
    """

    text: str = ""
    id: str = ""
    below: Sequence[str] = ()
    depth: int = 0
    share: float | None = None
    anchor: str = ""
    links: Sequence[tuple[str, str]] = ()
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``widths`` are shares of the page's width, ``numbers`` the columns that stand to the right.

    A ``tree`` is indented by the depths of its first column. A ``wide`` one scrolls on a small screen.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    widths: Sequence[float]
    kind: Literal["", "tree", "wide", "trail", "checks", "facts", "figures"] = ""
    numbers: Sequence[int] = ()


def table_rows(rows: Iterable[Iterable[str]]) -> list[list[Cell]]:
    """Return rows of words as rows of cells."""
    return [[Cell(text=words) for words in row] for row in rows]


@dataclass(frozen=True, slots=True)
class Items:
    """A list of lines."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Report:
    """A model's report on a leaf, in Markdown; the trail leads from its numbers to the cells that printed them."""

    text: str
    node: NodeId
    trail: Trail | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot of a proof."""

    plot: Plot


@dataclass(frozen=True, slots=True)
class Revisions:
    """How a series was revised: the first and the last value of each period."""

    vintages: Sequence[Vintage]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text as it was sent, with who sent it."""

    name: str
    text: str


Block = Heading | Text | Headline | Series | Drivers | Table | Items | Report | Picture | Revisions | Verbatim


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """The note of a run: its claim as the title, and its blocks in the order in which they are read."""

    title: str
    run_id: str
    manifest_id: str
    blocks: Sequence[Block]
    one_page: bool = False

    @property
    def mark(self) -> str:
        """The id printed at every figure: a figure cut out of the note still leads to its run."""
        return f"manifest {self.manifest_id[:19]}"
