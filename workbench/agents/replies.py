"""Reading a model's replies: one pure function per stage, and a reason to send back where one cannot be read.

Shapes are fixed (see the reply files in ``workbench/prompts``); reading is generous: every form that leaves no doubt is
read (``reply_json``), and thoughts are no part of a reply (``thoughts``). Numbers may be written as text, and a percentage
is one only where it is marked. Keys that nobody asked for are noted and passed over.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from workbench.agents.errors import MalformedReply
from workbench.agents.placeholders import refuse_placeholder
from workbench.agents.reply_cells import TERMINATE, Cell, find_cells
from workbench.agents.reply_json import first_line, number_of, read_json
from workbench.agents.thoughts import without_thoughts
from workbench.propositions import NodeId, Polarity

END_OF_ANALYSIS = "<END_OF_ANALYSIS>"

_JSON_BLOCK = "```json block"
_LONGEST_NOTE = 600  # characters of one side note of a reply

Number = Annotated[float, BeforeValidator(number_of)]
Unit = Annotated[float, BeforeValidator(number_of), Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Children to put below one parent, the note on how they bear on it, and each one's polarity.

    ``resolves_by`` and ``reference_class`` say of a child what settles it and which cases are comparable, where the reply does.
    """

    parent: NodeId
    children: Mapping[NodeId, str]
    polarities: Mapping[NodeId, Polarity]
    causality: str
    resolves_by: Mapping[NodeId, str] = field(default_factory=dict)
    reference_class: Mapping[NodeId, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """An analyzer's round: expansions, parents before their children, or the end.

    ``end_ignored``: the end tag came with expansions, which win. ``prose`` is what stands around the block.
    """

    expansions: tuple[Expansion, ...] = ()
    end: bool = False
    end_ignored: bool = False
    prose: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A notebook step: cells in order, or the end.

    ``end_ignored``: the end tag came with Python cells, which are run first.
    """

    cells: tuple[Cell, ...] = ()
    end: bool = False
    end_ignored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """How a conclusion came to its probability, as far as its reply says; stands in the report in fixed words.

    Parameters
    ----------
    base_rate, n
        Share of comparable cases that came true, and how many there were.
    inside_view : float or None
        What the case's own evidence says.
    adjustments : str
        Steps from there to p.
    low, high : float or None
        Bounds that hold p.
    would_change_my_mind : str
    """

    base_rate: float | None = None
    n: int | None = None
    inside_view: float | None = None
    adjustments: str = ""
    low: float | None = None
    high: float | None = None
    would_change_my_mind: str = ""

    def lines(self, p: float) -> str:
        """The accounting as Markdown; "" if nothing was said.

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
        if self.low is not None and self.high is not None:
            parts.append(f"p {p:g}, between {self.low:g} and {self.high:g}")
        lines = []
        if parts:
            text = "; ".join(parts)
            lines.append(f"**In numbers.** {text[0].upper()}{text[1:]}.")
        if self.would_change_my_mind:
            lines.append(f"**Would change my mind.** {self.would_change_my_mind}")
        return "\n\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """A stated probability in [0, 1], its key factor, and the prose of the reply as its report.

    ``notes`` say what was passed over when the reply was read. ``numbers`` is the accounting behind p, where it was given.
    """

    p: float
    key_factor: str
    report: str
    notes: tuple[str, ...] = ()
    numbers: Accounting = Accounting()


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

    Children come as an object of statements by id, or as a list of ``{"statement", "polarity"}`` without ids; ids that are
    missing or that no tree has are allotted in the order of the reply. A polarity is a field of the child or of the group,
    or is read from the causality note, one ``P1, Positive`` or ``P1, Negative`` per child.

    Raises
    ------
    MalformedReply
        Neither a readable block nor the end tag; a child without a clear polarity; an empty statement.
    """
    text = _clean(text)
    if END_OF_ANALYSIS in text and not re.search(r"[{\[]", text):
        return Analysis(end=True)

    def read(data: Any) -> Analysis:
        return _analysis(data, require_polarity)

    try:
        analysis, prose = read_json(text, read, what=_JSON_BLOCK, merge=_joined)
    except MalformedReply as malformed:
        # The end tag counts only in a reply without a block that could be meant; beside one it is ignored.
        if END_OF_ANALYSIS in text and not re.search(r"```[ \t]*json|\"parent\"", text, re.IGNORECASE):
            return Analysis(end=True)
        if malformed.reason.startswith("found no"):
            raise MalformedReply(f"found neither a ```json block nor {END_OF_ANALYSIS}") from None
        raise
    if analysis.end:
        return analysis
    return Analysis(expansions=analysis.expansions, end_ignored=END_OF_ANALYSIS in prose, prose=prose.strip())


def parse_step(text: str, *, first: bool = False) -> Step:
    """Cells of a notebook step, or its end; the end tag beside Python cells is ignored.

    Raises
    ------
    MalformedReply
        Neither cells nor the end tag, a cell empty or not closed, or an end in the first step.
    """
    text = _clean(text)
    reply = find_cells(text)
    has_code = any(cell.kind == "code" for cell in reply.cells)
    terminate = reply.terminate
    if not reply.cells and not terminate:
        # A conclusion where a step was asked for: the model is done, and is asked for its conclusion properly.
        if not first and _concludes(text):
            return Step(end=True)
        raise MalformedReply(
            f"found no <markdown_cell> or <python_cell> that starts a line, and no {TERMINATE}"
        )
    if terminate and not has_code:
        if first:
            raise MalformedReply(f"{TERMINATE} is not allowed before any cell has run; send cells first")
        return Step(cells=reply.cells, end=True)
    return Step(cells=reply.cells, end_ignored=terminate)


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
        The JSON is missing, ambiguous or not of the shape asked for, or p lies outside [0, 1].
    """
    shape, prose, notes = _read(_ConclusionShape, text)
    return _conclusion(shape, prose, notes)


def parse_faults(text: str) -> list[tuple[NodeId, str]]:
    """Read a critic's reply: the propositions it finds fault with, each with its fault in one line.

    Raises
    ------
    MalformedReply
        No ``json`` object with a list of faults.
    """
    shape, _, _ = _read(_FaultsShape, text)
    return [(item.id, first_line(item.fault, 300).rstrip(".")) for item in shape.faults]


def parse_route(text: str, names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Read where a leaf should go: one or several of the grounders that were offered, and why in one line.

    Raises
    ------
    MalformedReply
        No ``json`` object with ``grounders`` and ``reason``, none of the grounders or more than three, or one that was not offered.
    """
    shape, _, _ = _read(_RouteShape, text)
    chosen = tuple(dict.fromkeys(shape.grounders))
    if unknown := [name for name in chosen if name not in names]:
        raise MalformedReply(f"{first_line(unknown[0], 40)} was not offered; choose among {', '.join(names)}")
    if not 1 <= len(chosen) <= 3:
        raise MalformedReply(
            "choose one grounder, or two or three where their disagreement would tell you something"
        )
    return chosen, first_line(shape.reason, 300).rstrip(".")


def parse_linear(text: str) -> LinearReply:
    """Coefficients and stated result of a linear synthesis.

    Raises
    ------
    MalformedReply
        As :func:`parse_conclusion`, or ``beta`` has no ``beta_0``.
    """
    shape, prose, notes = _read(_LinearShape, text)
    weights = dict(shape.beta)
    if "beta_0" not in weights:
        raise MalformedReply('"beta" must hold "beta_0", the intercept, beside one weight per child')
    intercept = weights.pop("beta_0")
    return LinearReply(intercept=intercept, weights=weights, conclusion=_conclusion(shape, prose, notes))


def parse_noisy_or(text: str) -> NoisyOrReply:
    """Leak, weights and stated result of a noisy-or synthesis.

    Raises
    ------
    MalformedReply
        As :func:`parse_conclusion`, or a child is listed both as a cause and as an inhibitor.
    """
    shape, prose, notes = _read(_NoisyOrShape, text)
    if both := sorted(set(shape.weights) & set(shape.inhibitors)):
        named = first_line(", ".join(both))
        raise MalformedReply(f'{named} stands in both "weights" and "inhibitors"; choose one')
    return NoisyOrReply(
        leak=shape.leak,
        weights=dict(shape.weights),
        inhibitors=dict(shape.inhibitors),
        conclusion=_conclusion(shape, prose, notes),
    )


def parse_logic(text: str) -> LogicReply:
    """Formula and assumption of a logic synthesis; the formula itself is read by ``synthesis``.

    Raises
    ------
    MalformedReply
        The JSON is missing, ambiguous or not of the shape asked for.
    """
    shape, prose, _ = _read(_LogicShape, text)
    if not shape.formula.strip():
        raise MalformedReply('"formula" is empty')
    assumption = shape.assumption and (shape.assumption.detail, shape.assumption.probability)
    return LogicReply(
        formula=shape.formula.strip(),
        assumption=assumption or None,
        key_factor=shape.key_factor,
        report=prose or shape.report,
    )


class ReplyShape(BaseModel):
    """What the JSON of a reply has to look like; agents derive theirs from it."""

    # Strict takes an integer for a float, but neither a text nor true; `number_of` has read texts that are numbers before.
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False, frozen=True)


class _ChildShape(ReplyShape):
    statement: str
    id: str | None = None
    polarity: str | None = None
    resolves_by: str | None = None
    reference_class: str | None = None


class _GroupShape(ReplyShape):
    parent: str
    children: dict[str, str | _ChildShape] | list[_ChildShape] = Field(min_length=1)
    causality: str = ""
    polarity: dict[str, str] = Field(default_factory=dict)


class _ConclusionShape(ReplyShape):
    p_true: Unit
    key_factor: str
    #: Where the whole reply is one JSON object, its prose is a field of it.
    report: str = ""
    #: The accounting behind p; whatever cannot be read of it is left out, since p alone decides.
    base_rate: Any = None
    n: Any = None
    inside_view: Any = None
    adjustments: Any = None
    low: Any = None
    high: Any = None
    would_change_my_mind: Any = None


class _FaultShape(ReplyShape):
    id: NodeId
    fault: str


class _FaultsShape(ReplyShape):
    faults: list[_FaultShape]


class _RouteShape(ReplyShape):
    grounders: list[str]
    reason: str


class _LinearShape(_ConclusionShape):
    beta: dict[str, Number]


class _NoisyOrShape(_ConclusionShape):
    leak: Unit
    weights: dict[str, Unit]
    inhibitors: dict[str, Unit] = Field(default_factory=dict)


class _AssumptionShape(ReplyShape):
    detail: str
    probability: Unit


class _LogicShape(ReplyShape):
    formula: str
    assumption: _AssumptionShape | None = None
    key_factor: str
    report: str = ""


_S = TypeVar("_S", bound=ReplyShape)


def _read(shape: type[_S], text: str) -> tuple[_S, str, tuple[str, ...]]:
    """The shape that a reply's JSON has, the prose around it, and notes on what was passed over."""
    notes: dict[int, tuple[str, ...]] = {}

    def read(data: Any) -> _S:
        value = _shape(shape, data)
        extra = sorted(set(data) - set(shape.model_fields))
        notes[id(value)] = tuple(f"key {first_line(key, 60)!r} passed over" for key in extra)
        return value

    value, prose = read_json(_clean(text), read, what=_JSON_BLOCK)
    return value, prose, notes[id(value)]


def read_reply(shape: type[_S], text: str) -> _S:
    """Read a reply's one ``json`` object into a shape of the agent that asked; raises `MalformedReply` with a reason for the model."""
    return _read(shape, text)[0]


def _shape(shape: type[_S], data: object) -> _S:
    if not isinstance(data, dict):
        raise MalformedReply(f"the JSON must be an object, not {_kind(data)}")
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        faults = []
        for fault in error.errors(include_url=False)[:5]:
            where = first_line(".".join(str(part) for part in fault["loc"]))
            faults.append(f'"{where}": {fault["msg"][0].lower()}{fault["msg"][1:]}')
        raise MalformedReply("; ".join(faults)) from error


def _analysis(data: Any, require_polarity: bool) -> Analysis:
    """Expansions of a block: a list of groups, one group, or an object that holds the list."""
    if isinstance(data, dict) and isinstance(data.get("expansions"), list):
        if not data["expansions"] and data.get("end") is True:
            return Analysis(end=True)
        data = data["expansions"]
    elif isinstance(data, dict) and "parent" in data:
        data = [data]
    if not isinstance(data, list) or not data:
        raise MalformedReply("the JSON must be a list with at least one object, one per expanded parent")
    names: dict[str, NodeId] = {}
    expansions = [_expansion(_shape(_GroupShape, item), require_polarity, names) for item in data]
    return _joined([Analysis(expansions=tuple(expansions))])


def _joined(parts: list[Analysis]) -> Analysis:
    """One analysis of several blocks, parents before their children; two different ones of one parent are ambiguous."""
    expansions: dict[NodeId, Expansion] = {}
    for expansion in (expansion for part in parts for expansion in part.expansions):
        if expansions.setdefault(expansion.parent, expansion) != expansion:
            raise MalformedReply(
                f"found two different expansions of {first_line(expansion.parent, 60)}; send exactly one"
            )
    # within one reply a parent may itself be new: shallow ones first, otherwise as written
    ordered = sorted(expansions.values(), key=lambda group: group.parent.count(".") + (group.parent != "P0"))
    return Analysis(expansions=tuple(ordered), end=not ordered)


def _expansion(shape: _GroupShape, require_polarity: bool, names: dict[str, NodeId]) -> Expansion:
    """One group with the ids of the tree; ``names`` maps ids that the model invented, also those of parents further up."""
    parent = names.get(shape.parent, shape.parent)
    written: list[tuple[str | None, _ChildShape]] = []
    if isinstance(shape.children, list):
        written = [(child.id, child) for child in shape.children]
    else:
        for key, child in shape.children.items():
            written.append((key, child if isinstance(child, _ChildShape) else _ChildShape(statement=child)))
    ids = [key for key, _ in written]
    allotted = [f"P{n}" if parent == "P0" else f"{parent}.{n}" for n in range(1, len(written) + 1)]
    causality = shape.causality.strip()
    if not any(key is not None and _is_tree_id(key) for key in ids):
        if any(key is not None and ids.count(key) > 1 for key in ids):
            raise MalformedReply(f"two children of {first_line(parent, 60)} have the same id")
        mapping = {key: new for key, new in zip(ids, allotted, strict=True) if key is not None}
        names.update(mapping)
        causality = _renamed(causality, mapping)
        polarity_of = {mapping.get(key, key): value for key, value in shape.polarity.items()}
    else:
        if None in ids:
            raise MalformedReply(f"a child of {first_line(parent, 60)} has no id while others have one")
        allotted = [str(key) for key in ids]
        polarity_of = dict(shape.polarity)
    children = {new: child.statement.strip() for new, (_, child) in zip(allotted, written, strict=True)}
    for text in (*children.values(), causality):
        refuse_placeholder(text)
    named = {new: child for new, (_, child) in zip(allotted, written, strict=True)}
    if empty := [child for child, statement in children.items() if not statement]:
        raise MalformedReply(f"{', '.join(empty)} has no statement")
    for new, (_, child) in zip(allotted, written, strict=True):
        if child.polarity is not None:
            polarity_of[new] = child.polarity
    polarities = _polarities(causality, list(children))
    polarities |= {child: _polarity(child, word) for child, word in polarity_of.items() if child in children}
    missing = [child for child in children if child not in polarities]
    if missing and require_polarity:
        raise MalformedReply(
            f"the causality note of {first_line(parent, 60)} gives no polarity for {', '.join(missing)}; "
            f'write "{missing[0]}, Positive" or "{missing[0]}, Negative" in it'
        )
    return Expansion(
        parent=parent,
        children=children,
        polarities=polarities,
        causality=causality,
        resolves_by=_said(named, "resolves_by"),
        reference_class=_said(named, "reference_class"),
    )


def _said(children: Mapping[NodeId, _ChildShape], name: str) -> dict[NodeId, str]:
    texts = {child: (getattr(shape, name) or "").strip()[:_LONGEST_NOTE] for child, shape in children.items()}
    for text in texts.values():
        refuse_placeholder(text)
    return {child: text for child, text in texts.items() if text}


def _is_tree_id(key: str) -> bool:
    # P0.1 has the form of an id and is none: the root's children have no prefix.
    return re.fullmatch(r"P\d+(\.\d+)*", key) is not None and not key.startswith("P0.")


def _renamed(text: str, mapping: Mapping[str, str]) -> str:
    if not mapping:
        return text
    # One pass, so that a new id is not renamed again; longest first, so that P1 does not match in P1.1.
    names = "|".join(re.escape(name) for name in sorted(mapping, key=len, reverse=True))
    return re.sub(rf"(?<![\w.])(?:{names})(?![\w]|\.\d)", lambda match: mapping[match[0]], text)


def _polarity(child: str, word: str) -> Polarity:
    plain = word.strip().strip("*_`\"'").lower()
    if plain in ("positive", "+", "+1", "positively", "pro", "supports"):
        return Polarity.POSITIVE
    if plain in ("negative", "-", "-1", "−", "negatively", "con", "opposes"):
        return Polarity.NEGATIVE
    raise MalformedReply(f"the polarity of {child} is Positive or Negative, not {first_line(word, 40)!r}")


def _polarities(causality: str, children: Sequence[str]) -> dict[NodeId, Polarity]:
    polarities: dict[NodeId, Polarity] = {}
    for child in children:
        # P1 must match neither in P10 nor in P1.1; emphasis or quotes may stand around id and word
        name = rf"(?<![\w.]){re.escape(child)}(?![\w]|\.\d)[*_`\"']*"
        strict = rf"{name}\s*(?:[,:(=–—-]|->|→)\s*[*_`\"']*(positive|negative)\b"
        words = {match[1].lower() for match in re.finditer(strict, causality, re.IGNORECASE)}
        if not words:
            words = _spoken_polarity(causality, name)
        if len(words) > 1:
            raise MalformedReply(f"the causality note calls {child} both Positive and Negative; choose one")
        if words:
            polarities[child] = Polarity.POSITIVE if words == {"positive"} else Polarity.NEGATIVE
    return polarities


def _spoken_polarity(causality: str, name: str) -> set[str]:
    """Words of the clauses that begin with the id: "P1 is a strongly positive driver", "P2 pushes negatively"."""
    words: set[str] = set()
    for match in re.finditer(rf"{name}([^.;\n]*?)(?=[.;\n]|$|(?<![\w.])P\d)", causality, re.IGNORECASE):
        clause = match[1].lower()
        # "not negative" is no polarity: it may mean none.
        if re.search(r"\b(not|non|neither|nor|isn't|without|or)\b", clause):
            continue
        words |= set(re.findall(r"\b(positive|negative)(?:ly)?\b", clause))
    return words


def _concludes(text: str) -> bool:
    try:
        parse_conclusion(text)
    except MalformedReply:
        return False
    return True


def _conclusion(shape: _ConclusionShape, prose: str, notes: tuple[str, ...]) -> Conclusion:
    for text in (shape.key_factor, *(text for text in _texts(shape.would_change_my_mind))):
        refuse_placeholder(text)
    numbers = _accounting(shape)
    return Conclusion(
        numbers=numbers,
        p=float(shape.p_true),
        key_factor=shape.key_factor.strip(),
        report="\n\n".join(filter(None, (prose or shape.report.strip(), numbers.lines(float(shape.p_true))))),
        notes=notes,
    )


def _accounting(shape: _ConclusionShape) -> Accounting:
    """The accounting of a reply, without what is no probability, no count, or contradicts p."""
    p, low, high = float(shape.p_true), _unit(shape.low), _unit(shape.high)
    if low is not None and high is not None and not low <= p <= high:
        low = high = None
    return Accounting(
        base_rate=_unit(shape.base_rate),
        n=int(count) if _is_number(count := number_of(shape.n)) and 0 <= count < 1e9 else None,
        inside_view=_unit(shape.inside_view),
        adjustments="; ".join(_texts(shape.adjustments)),
        low=low,
        high=high,
        would_change_my_mind="; ".join(_texts(shape.would_change_my_mind)),
    )


def _unit(value: Any) -> float | None:
    value = number_of(value)
    return float(value) if _is_number(value) and 0 <= value <= 1 else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(value: Any) -> list[str]:
    """Texts of a field that holds one, a list of some, or an object of named ones."""
    if isinstance(value, str):
        return [value.strip()[:_LONGEST_NOTE]] if value.strip() else []
    if isinstance(value, list):
        return [text for item in value[:10] for text in _texts(item)]
    if isinstance(value, dict):
        return [f"{name}: {item}"[:_LONGEST_NOTE] for name, item in list(value.items())[:10]]
    return [f"{value:+g}"] if _is_number(value) else []


def _clean(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return without_thoughts(text)


def _kind(data: object) -> str:
    return {list: "a list", str: "a string", type(None): "null", bool: "true or false"}.get(
        type(data), "a number"
    )
