"""Reading a model's replies: one pure function per stage, and a reason to send back where one cannot be read.

Shapes are fixed (see the reply files in ``workbench/prompts``); reading is generous: every form that leaves no doubt is
read (``reply_json``), and thoughts are no part of a reply (``thoughts``). Numbers may be written as text, and a percentage
is one only where it is marked. Keys that nobody asked for are noted and passed over.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from workbench.agents.errors import MalformedReply
from workbench.agents.replies.cell_reply import TERMINATE, ReplyCell, find_cells
from workbench.agents.replies.json_reply import read_json
from workbench.agents.replies.lenient_json import DECIMAL_POINT, first_line, number_of
from workbench.agents.replies.reply_prose import clean, refuse_placeholder
from workbench.propositions import NodeId

JSON_BLOCK = "```json block"
LONGEST_NOTE = 600  # characters of one side note of a reply
_MOST_CASES = 50
_YES_OR_NO = {"true": True, "yes": True, "false": False, "no": False}

_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*%?\s*")


def _own_words(text: str) -> str:
    refuse_placeholder(text)
    return text


Number = Annotated[float, BeforeValidator(number_of)]
Unit = Annotated[float, BeforeValidator(number_of), Field(ge=0, le=1)]
#: A text that must not be the prompt's own example.
OwnWords = Annotated[str, AfterValidator(_own_words)]


class ReplyShape(BaseModel):
    """What the JSON of a reply has to look like; agents derive theirs from it.

    A validator may refuse in words of its own, with `MalformedReply`. ``prose`` is what stands around the JSON, ``notes`` say what was
    passed over.
    """

    # Strict takes an integer for a float, but neither a text nor true; `number_of` has read texts that are numbers before.
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False, frozen=True)

    _prose: str = PrivateAttr("")
    _notes: tuple[str, ...] = PrivateAttr(())

    @property
    def prose(self) -> str:
        """The reply around its JSON."""
        return self._prose

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a reply's one ``json`` object; raises `MalformedReply` with a reason for the model."""
        value, prose = read_json(clean(text), cls._noting, what=JSON_BLOCK)
        value._prose = prose
        return value

    @classmethod
    def _noting(cls, data: Any) -> Self:
        value = check_form(cls, data)
        names = {field.alias or name for name, field in cls.model_fields.items()}
        value._notes = tuple(f"key {first_line(key, 60)!r} passed over" for key in sorted(set(data) - names))
        return value


_S = TypeVar("_S", bound=ReplyShape)


def check_form(shape: type[_S], data: object) -> _S:
    """Return the JSON of a reply in its form; raises `MalformedReply` with what is wrong, field by field."""
    if not isinstance(data, dict):
        raise MalformedReply(f"the JSON must be an object, not {_kind(data)}")
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        faults, own = [], []
        for fault in error.errors(include_url=False)[:5]:
            if isinstance(cause := fault.get("ctx", {}).get("error"), MalformedReply):
                own.append(cause)
                continue
            where = first_line(".".join(str(part) for part in fault["loc"]))
            faults.append(f'"{where}": {fault["msg"][0].lower()}{fault["msg"][1:]}')
            if isinstance(fault["input"], str) and _DECIMAL_COMMA.fullmatch(fault["input"]):
                faults[-1] += f"; {DECIMAL_POINT}"
        raise (MalformedReply("; ".join(faults)) if faults else own[0]) from error


def _kind(data: object) -> str:
    return {list: "a list", str: "a string", type(None): "null", bool: "true or false"}.get(
        type(data), "a number"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookStep:
    """A notebook step: cells in order, or the end.

    ``end_ignored``: the end tag came with Python cells, which are run first.
    """

    cells: tuple[ReplyCell, ...] = ()
    end: bool = False
    end_ignored: bool = False


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value.strip()[:LONGEST_NOTE]] if value.strip() else []
    if isinstance(value, list):
        return [text for item in value[:10] for text in _texts(item)]
    if isinstance(value, dict):
        pairs = list(value.items())[:10]
        return [
            f"{name}: {f'{item:+g}' if _is_number(item) else item}"[:LONGEST_NOTE] for name, item in pairs
        ]
    return [f"{value:+g}"] if _is_number(value) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _share(value: Any) -> float | None:
    value = number_of(value)
    return float(value) if _is_number(value) and 0 <= value <= 1 else None


def _count(value: Any) -> int | None:
    value = number_of(value)
    return int(value) if _is_number(value) and 0 <= value < 1e9 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A comparable case as a reply lists it; ``source`` is the id of what showed it, "" for one from memory."""

    case: str
    source: str
    came_true: bool


def _cases(value: Any) -> tuple[Case, ...]:
    """Read the cases of a list that say what they are and how they came out; others are left out, since p alone decides."""
    cases = []
    for item in value[:_MOST_CASES] if isinstance(value, list) else ():
        words = _texts(item.get("case")) if isinstance(item, dict) else []
        ended = _YES_OR_NO.get(str(item.get("came_true")).strip().lower()) if words else None
        if ended is not None and words[0] != "what and when":
            source = " ".join(_texts(item.get("source")))
            cases.append(Case(case=words[0], source=source, came_true=ended))
    return tuple(cases)


_Share = Annotated[float | None, BeforeValidator(_share)]
_Note = Annotated[str, BeforeValidator(lambda value: "; ".join(_texts(value)))]


class Accounting(ReplyShape):
    """How a conclusion came to its probability, as far as its reply says; stands in the report in fixed words.

    What cannot be read of it is left out, since p alone decides.
    """

    #: base_rate, n: Share of comparable cases that came true, and how many there were.
    base_rate: _Share = None
    n: Annotated[int | None, BeforeValidator(_count)] = None
    #: What the case's own evidence says.
    inside_view: _Share = None
    #: The comparable cases that were counted, where they are events.
    cases: Annotated[tuple[Case, ...], BeforeValidator(_cases)] = ()
    #: Steps from there to p.
    adjustments: _Note = ""
    #: if_nothing_changes, yes_if, no_if: How it comes out then, and a way to either outcome.
    if_nothing_changes: _Note = ""
    yes_if: _Note = ""
    no_if: _Note = ""
    #: low, high: Bounds around p, as the reply gives them; they may contradict it.
    low: _Share = None
    high: _Share = None
    would_change_my_mind: Annotated[_Note, AfterValidator(_own_words)] = ""

    def figures(self) -> dict[str, float]:
        """The numbers that were given, by what they are called on screens; those of its texts are not among them."""
        names = ("base_rate", "n", "inside_view", "low", "high")
        named = {name.replace("_", " "): getattr(self, name) for name in names}
        return {name: value for name, value in named.items() if value is not None}

    def counted(self) -> tuple[int, int, float]:
        """How many of the listed cases came true, how many there are, and the base rate that follows, (k + 1) / (n + 2).

        >>> Accounting(cases=[{"case": "2019", "source": "S1.1", "came_true": True}]).counted()[:2]
        (1, 1)
        """
        k, n = sum(each.came_true for each in self.cases), len(self.cases)
        return k, n, (k + 1) / (n + 2)

    def contradiction(self, p: float) -> str:
        """In one sentence, bounds that do not hold p; "" if they do.

        >>> Accounting(low=0.05, high=0.2).contradiction(0.9)
        'The reply states p 0.9 with low 0.05 and high 0.2; p lies outside.'
        """
        if (self.low is None or self.low <= p) and (self.high is None or p <= self.high):
            return ""
        bounds = " and ".join(
            f"{name} {value:g}" for name, value in self.figures().items() if name in ("low", "high")
        )
        return f"The reply states p {p:g} with {bounds}; p lies outside."

    def lines(self, p: float) -> str:
        """The accounting as Markdown; "" if nothing was said.

        Bounds that contradict p come last.

        >>> print(Accounting(base_rate=0.6, n=40, low=0.4, high=0.7).lines(0.55))
        **In numbers.** Base rate 0.6 of 40 cases; p 0.55, between 0.4 and 0.7.
        """
        parts = []
        if self.base_rate is not None:
            parts.append(f"base rate {self.base_rate:g}" + (f" of {self.n} cases" if self.n else ""))
        if self.inside_view is not None:
            parts.append(f"inside view {self.inside_view:g}")
        if self.adjustments:
            parts.append(f"adjustments: {self.adjustments}")
        contradiction = self.contradiction(p)
        if self.low is not None and self.high is not None and not contradiction:
            parts.append(f"p {p:g}, between {self.low:g} and {self.high:g}")
        text = "; ".join(parts)
        named = {
            "In numbers": text and f"{text[0].upper()}{text[1:]}.",
            "Comparable cases": self._case_lines(),
            "If nothing changes": self.if_nothing_changes,
            "Yes if": self.yes_if,
            "No if": self.no_if,
            "Would change my mind": self.would_change_my_mind,
            "Contradiction": contradiction,
        }
        return "\n\n".join(f"**{name}.** {words}" for name, words in named.items() if words)

    def _case_lines(self) -> str:
        if not self.cases:
            return ""
        k, n, rate = self.counted()
        lines = [
            f"- {'Yes' if each.came_true else 'No'}: {each.case} ({each.source or 'from memory'})"
            for each in self.cases
        ]
        return "\n".join([f"{k} of {n} came true: a base rate of {k + 1} in {n + 2}, {rate:.2f}.", *lines])


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """A stated probability in [0, 1], its key factor, and the prose of the reply as its report.

    ``notes`` say what was passed over when the reply was read. ``numbers`` is the accounting behind p, where it was given.
    """

    p: float
    key_factor: str
    report: str
    notes: tuple[str, ...] = ()
    numbers: Accounting = field(default_factory=Accounting)


class ConclusionReply(Accounting):
    """The probability of a leaf or a node; ``written`` is the prose where the whole reply is one JSON object."""

    p_true: Unit
    key_factor: OwnWords
    written: str = Field(alias="report", default="")

    @property
    def conclusion(self) -> Conclusion:
        """What is concluded."""
        p = float(self.p_true)
        return Conclusion(
            numbers=self,
            p=p,
            key_factor=self.key_factor.strip(),
            report="\n\n".join(filter(None, (self.prose or self.written.strip(), self.lines(p)))),
            notes=self._notes,
        )


class LinearReply(ConclusionReply):
    """Intercept and weight per child of a linear rule, with the stated result; signs and bounds unchecked."""

    beta: dict[str, Number]

    @field_validator("beta")
    @classmethod
    def _with_intercept(cls, beta: dict[str, float]) -> dict[str, float]:
        if "beta_0" not in beta:
            raise MalformedReply('"beta" must hold "beta_0", the intercept, beside one weight per child')
        return beta

    @property
    def intercept(self) -> float:
        """The constant."""
        return self.beta["beta_0"]

    @property
    def weights(self) -> Mapping[NodeId, float]:
        """By child."""
        return {child: weight for child, weight in self.beta.items() if child != "beta_0"}


class NoisyOrReply(ConclusionReply):
    """Leak, weights of supporting and of inhibiting children, all in [0, 1], with the stated result."""

    leak: Unit
    weights: dict[str, Unit]
    inhibitors: dict[str, Unit] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _on_one_side(self) -> "NoisyOrReply":
        if both := sorted(set(self.weights) & set(self.inhibitors)):
            named = first_line(", ".join(both))
            raise MalformedReply(f'{named} stands in both "weights" and "inhibitors"; choose one')
        return self


class _AssumptionShape(ReplyShape):
    detail: str
    probability: Unit


class LogicReply(ReplyShape):
    """A formula over children and PA, unparsed, and the assumption PA stands for; this stage states no p."""

    formula: str
    assumption: _AssumptionShape | None = None
    key_factor: str
    written: str = Field(alias="report", default="")

    @field_validator("formula")
    @classmethod
    def _not_empty(cls, formula: str) -> str:
        if not formula.strip():
            raise MalformedReply('"formula" is empty')
        return formula.strip()


class _FaultShape(ReplyShape):
    id: NodeId
    fault: str


class _FaultsShape(ReplyShape):
    faults: list[_FaultShape]


class _RouteShape(ReplyShape):
    grounders: list[str]
    reason: str


def parse_step(text: str, *, first: bool = False) -> NotebookStep:
    """Cells of a notebook step, or its end; the end tag beside Python cells is ignored.

    Raises `MalformedReply`: Neither cells nor the end tag, a cell empty or not closed, or an end in the first step.
    """
    text = clean(text)
    reply = find_cells(text)
    has_code = any(cell.kind == "code" for cell in reply.cells)
    terminate = reply.terminate
    if not reply.cells and not terminate:
        # A conclusion where a step was asked for: the model is done, and is asked for its conclusion properly.
        if not first:
            with suppress(MalformedReply):
                parse_conclusion(text)
                return NotebookStep(end=True)
        raise MalformedReply(
            f"found no <markdown_cell> or <python_cell> that starts a line, and no {TERMINATE}"
        )
    if terminate and not has_code:
        if first:
            raise MalformedReply(f"{TERMINATE} is not allowed before any cell has run; send cells first")
        return NotebookStep(cells=reply.cells, end=True)
    return NotebookStep(cells=reply.cells, end_ignored=terminate)


def parse_debug(text: str) -> str:
    """Source of the corrected cell: the last Python cell of the reply.

    Raises `MalformedReply`: No Python cell, or one that is empty or not closed.
    """
    sources = [cell.source for cell in find_cells(clean(text)).cells if cell.kind == "code"]
    if not sources:
        raise MalformedReply("found no <python_cell> that starts a line; send the corrected cell in one")
    return sources[-1]


def parse_conclusion(text: str) -> Conclusion:
    """Stated probability, key factor and report of a leaf's conclusion or a vanilla synthesis.

    Raises `MalformedReply`: The JSON is missing, ambiguous or not of the shape asked for, or p lies outside [0, 1].
    """
    return ConclusionReply.read(text).conclusion


def parse_faults(text: str) -> list[tuple[NodeId, str]]:
    """Read a critic's reply: the propositions it finds fault with, each with its fault in one line; raises `MalformedReply`."""
    return [(item.id, first_line(item.fault, 300).rstrip(".")) for item in _FaultsShape.read(text).faults]


def parse_route(text: str, names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Read where a leaf should go: one or several of the grounders that were offered, and why in one line.

    Raises `MalformedReply`: No ``json`` object with ``grounders`` and ``reason``, none of the grounders or more than three, or one that
    was not offered.
    """
    reply = _RouteShape.read(text)
    chosen = tuple(dict.fromkeys(reply.grounders))
    if unknown := [name for name in chosen if name not in names]:
        raise MalformedReply(f"{first_line(unknown[0], 40)} was not offered; choose among {', '.join(names)}")
    if not 1 <= len(chosen) <= 3:
        raise MalformedReply(
            "choose one grounder, or two or three where their disagreement would tell you something"
        )
    return chosen, first_line(reply.reason, 300).rstrip(".")
