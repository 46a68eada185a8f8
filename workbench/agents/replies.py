"""Reading a model's replies: one pure function per stage, and a reason to send back where one cannot be read.

Shapes are fixed (see the reply files in ``workbench/prompts``). JSON stands in exactly one fence labelled ``json``
whose opening is on a line of its own start; a reply with none or with several is asked again, because choosing one
would be a guess. Prose around it is free. Duplicate keys, unknown keys, NaN, and numbers written as text are refused.
A leading ``<think>`` block, as some open models send, is not part of the reply.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.agents.errors import MalformedReply
from workbench.agents.reply_cells import TERMINATE, Cell, find_cells
from workbench.propositions import NodeId, Polarity

END_OF_ANALYSIS = "<END_OF_ANALYSIS>"

# The JSON may begin on the line of its opening fence.
_FENCE = re.compile(r"^[ \t]*```[ \t]*json[ \t]*(?=[\n\[{]|$)", re.IGNORECASE | re.MULTILINE)
_FENCE_END = re.compile(r"^[ \t]*```[ \t]*$", re.MULTILINE)
_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)

Unit = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Children to put below one parent, the note on how they bear on it, and each one's polarity."""

    parent: NodeId
    children: Mapping[NodeId, str]
    polarities: Mapping[NodeId, Polarity]
    causality: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """An analyzer's round: expansions, parents before their children, or the end.

    ``end_ignored``: the end tag came with expansions, which win.
    """

    expansions: tuple[Expansion, ...] = ()
    end: bool = False
    end_ignored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A notebook step: cells in order, or the end.

    ``end_ignored``: the end tag came with Python cells, which are run first.
    """

    cells: tuple[Cell, ...] = ()
    end: bool = False
    end_ignored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """A stated probability in [0, 1], its key factor, and the prose of the reply as its report."""

    p: float
    key_factor: str
    report: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearReply:
    """Intercept and weight per child of a linear rule, with the stated result; signs and bounds unchecked."""

    intercept: float
    weights: Mapping[NodeId, float]
    conclusion: Conclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyOrReply:
    """Leak, weights of supporting and of inhibiting children, all in [0, 1], with the stated result."""

    leak: float
    weights: Mapping[NodeId, float]
    inhibitors: Mapping[NodeId, float]
    conclusion: Conclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicReply:
    """A formula over children and PA, unparsed, and the assumption PA stands for; this stage states no p."""

    formula: str
    assumption: tuple[str, float] | None
    key_factor: str
    report: str


def parse_analysis(text: str, *, require_polarity: bool = True) -> Analysis:
    """Expansions of an analyzer's reply, or its end.

    A polarity is read from the causality note, one ``P1, Positive`` or ``P1, Negative`` per child.

    Raises
    ------
    MalformedReply
        Neither a readable block nor the end tag; a child without a clear polarity; an empty statement.
    """
    text = _clean(text)
    # The end tag counts only in a reply without a block; beside one it is ignored and reported as such.
    if not _FENCE.search(text):
        if END_OF_ANALYSIS in text:
            return Analysis(end=True)
        raise MalformedReply(f"found neither a ```json block nor {END_OF_ANALYSIS}")
    data, prose = _fenced(text)
    if not isinstance(data, list) or not data:
        raise MalformedReply("the JSON must be a list with at least one object, one per expanded parent")
    expansions = [_expansion(_shape(_GroupShape, item), require_polarity) for item in data]
    # within one reply a parent may itself be new: shallow ones first, otherwise as written
    expansions.sort(key=lambda expansion: expansion.parent.count(".") + (expansion.parent != "P0"))
    return Analysis(expansions=tuple(expansions), end_ignored=END_OF_ANALYSIS in prose)


def parse_step(text: str, *, first: bool = False) -> Step:
    """Cells of a notebook step, or its end; the end tag beside Python cells is ignored.

    Raises
    ------
    MalformedReply
        Neither cells nor the end tag, a cell empty or not closed, or an end in the first step.
    """
    reply = find_cells(_clean(text))
    has_code = any(cell.kind == "code" for cell in reply.cells)
    if not reply.cells and not reply.terminate:
        raise MalformedReply(
            f"found no <markdown_cell> or <python_cell> that starts a line, and no {TERMINATE}"
        )
    if reply.terminate and not has_code:
        if first:
            raise MalformedReply(f"{TERMINATE} is not allowed before any cell has run; send cells first")
        return Step(cells=reply.cells, end=True)
    return Step(cells=reply.cells, end_ignored=reply.terminate)


def parse_debug(text: str) -> str:
    """Source of the corrected cell: the last Python cell of the reply.

    Raises
    ------
    MalformedReply
        No Python cell, or one that is empty or not closed.
    """
    sources = [cell.source for cell in find_cells(_clean(text)).cells if cell.kind == "code"]
    if not sources:
        raise MalformedReply("found no <python_cell> that starts a line; send the corrected cell in one")
    return sources[-1]


def parse_conclusion(text: str) -> Conclusion:
    """Stated probability, key factor and report of a leaf's conclusion or a vanilla synthesis.

    Raises
    ------
    MalformedReply
        The JSON is missing, doubled or not of the shape asked for, or p lies outside [0, 1].
    """
    data, prose = _fenced(_clean(text))
    return _conclusion(_shape(_ConclusionShape, data), prose)


def parse_linear(text: str) -> LinearReply:
    """Coefficients and stated result of a linear synthesis.

    Raises
    ------
    MalformedReply
        As :func:`parse_conclusion`, or ``beta`` has no ``beta_0``.
    """
    data, prose = _fenced(_clean(text))
    shape = _shape(_LinearShape, data)
    weights = dict(shape.beta)
    if "beta_0" not in weights:
        raise MalformedReply('"beta" must hold "beta_0", the intercept, beside one weight per child')
    intercept = weights.pop("beta_0")
    return LinearReply(intercept=intercept, weights=weights, conclusion=_conclusion(shape, prose))


def parse_noisy_or(text: str) -> NoisyOrReply:
    """Leak, weights and stated result of a noisy-or synthesis.

    Raises
    ------
    MalformedReply
        As :func:`parse_conclusion`, or a child is listed both as a cause and as an inhibitor.
    """
    data, prose = _fenced(_clean(text))
    shape = _shape(_NoisyOrShape, data)
    if both := sorted(set(shape.weights) & set(shape.inhibitors)):
        raise MalformedReply(f'{", ".join(both)} stands in both "weights" and "inhibitors"; choose one')
    return NoisyOrReply(
        leak=shape.leak,
        weights=dict(shape.weights),
        inhibitors=dict(shape.inhibitors),
        conclusion=_conclusion(shape, prose),
    )


def parse_logic(text: str) -> LogicReply:
    """Formula and assumption of a logic synthesis; the formula itself is read by ``synthesis``.

    Raises
    ------
    MalformedReply
        The JSON is missing, doubled or not of the shape asked for.
    """
    data, prose = _fenced(_clean(text))
    shape = _shape(_LogicShape, data)
    if not shape.formula.strip():
        raise MalformedReply('"formula" is empty')
    assumption = shape.assumption and (shape.assumption.detail, shape.assumption.probability)
    return LogicReply(
        formula=shape.formula.strip(),
        assumption=assumption or None,
        key_factor=shape.key_factor,
        report=prose,
    )


class _Shape(BaseModel):
    # Strict takes an integer for a float, but neither a text nor true.
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class _GroupShape(_Shape):
    parent: str
    children: dict[str, str] = Field(min_length=1)
    causality: str


class _ConclusionShape(_Shape):
    p_true: Unit
    key_factor: str


class _LinearShape(_ConclusionShape):
    beta: dict[str, float]


class _NoisyOrShape(_ConclusionShape):
    leak: Unit
    weights: dict[str, Unit]
    inhibitors: dict[str, Unit] = Field(default_factory=dict)


class _AssumptionShape(_Shape):
    detail: str
    probability: Unit


class _LogicShape(_Shape):
    formula: str
    assumption: _AssumptionShape | None = None
    key_factor: str


_S = TypeVar("_S", bound=_Shape)


def _shape(shape: type[_S], data: object) -> _S:
    if not isinstance(data, dict):
        raise MalformedReply(f"the JSON must be an object, not {_kind(data)}")
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        faults = []
        for fault in error.errors(include_url=False)[:5]:
            where = ".".join(str(part) for part in fault["loc"])
            faults.append(f'"{where}": {fault["msg"][0].lower()}{fault["msg"][1:]}')
        raise MalformedReply("; ".join(faults)) from error


def _expansion(shape: _GroupShape, require_polarity: bool) -> Expansion:
    if empty := [child for child, statement in shape.children.items() if not statement.strip()]:
        raise MalformedReply(f"{', '.join(empty)} has no statement")
    polarities = _polarities(shape.causality, list(shape.children))
    missing = [child for child in shape.children if child not in polarities]
    if missing and require_polarity:
        raise MalformedReply(
            f"the causality note of {shape.parent} gives no polarity for {', '.join(missing)}; "
            f'write "{missing[0]}, Positive" or "{missing[0]}, Negative" in it'
        )
    return Expansion(
        parent=shape.parent,
        children={child: statement.strip() for child, statement in shape.children.items()},
        polarities=polarities,
        causality=shape.causality.strip(),
    )


def _polarities(causality: str, children: Sequence[str]) -> dict[NodeId, Polarity]:
    polarities: dict[NodeId, Polarity] = {}
    for child in children:
        # P1 must match neither in P10 nor in P1.1; emphasis or quotes may stand around id and word
        pattern = rf"(?<![\w.]){re.escape(child)}[*_`\"']*\s*[,:(=–-]\s*[*_`\"']*(positive|negative)\b"
        words = {match[1].lower() for match in re.finditer(pattern, causality, re.IGNORECASE)}
        if len(words) > 1:
            raise MalformedReply(f"the causality note calls {child} both Positive and Negative; choose one")
        if words:
            polarities[child] = Polarity.POSITIVE if words == {"positive"} else Polarity.NEGATIVE
    return polarities


def _conclusion(shape: _ConclusionShape, prose: str) -> Conclusion:
    return Conclusion(p=float(shape.p_true), key_factor=shape.key_factor.strip(), report=prose)


def _clean(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return _THINKING.sub("", text, count=1)


def _fenced(text: str) -> tuple[Any, str]:
    """JSON value of the reply's only json fence, and the prose without that fence."""
    openings = list(_FENCE.finditer(text))
    if not openings:
        raise MalformedReply("found no ```json block; send the JSON in exactly one, its fence on a new line")
    if len(openings) > 1:
        raise MalformedReply(f"found {len(openings)} ```json blocks; send exactly one")
    start = openings[0]
    end = _FENCE_END.search(text, start.end())
    stop, after = (end.start(), end.end()) if end else _inline_end(text, start.end())
    prose = "\n\n".join(part for part in (text[: start.start()].strip(), text[after:].strip()) if part)
    return _loads(text[start.end() : stop]), prose


def _inline_end(text: str, start: int) -> tuple[int, int]:
    # No closing fence stands on a line of its own. The last one, because a text in the JSON may hold backticks.
    end = text.rfind("```", start)
    if end == -1:
        raise MalformedReply("the ```json block is not closed; end it with ``` on a line of its own")
    return end, end + 3


def _loads(source: str) -> Any:
    try:
        # By default json.loads takes NaN and Infinity, and the last of equal keys.
        return json.loads(source, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise MalformedReply(f"the JSON cannot be read: {error.msg} at {place} of the block") from error
    except RecursionError as error:
        raise MalformedReply("the JSON is nested too deeply") from error
    # It is a ValueError too, so it must pass before the next clause.
    except MalformedReply:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise MalformedReply("the JSON holds a number that is too long") from error


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise MalformedReply(f'the JSON has the key "{key}" twice in one object')
        seen[key] = value
    return seen


def _no_constant(name: str) -> Any:
    raise MalformedReply(f"the JSON holds {name}; write a finite number")


def _kind(data: object) -> str:
    return {list: "a list", str: "a string", type(None): "null", bool: "true or false"}.get(
        type(data), "a number"
    )
