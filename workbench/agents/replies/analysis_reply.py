"""Reading an analyzer's round: the children of each expanded proposition, their ids and their polarities."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from workbench.agents.errors import MalformedReply
from workbench.agents.replies.json_reply import read_json
from workbench.agents.replies.lenient_json import first_line
from workbench.agents.replies.reply_prose import clean, refuse_placeholder
from workbench.agents.replies.stage_replies import JSON_BLOCK, LONGEST_NOTE, ReplyShape, check_form
from workbench.propositions import NodeId, Polarity

END_OF_ANALYSIS = "<END_OF_ANALYSIS>"
_SIDES = {
    Polarity.POSITIVE: ["positive", "+", "+1", "positively", "pro", "supports"],
    Polarity.NEGATIVE: ["negative", "-", "-1", "−", "negatively", "con", "opposes"],
}
LONGEST_STATEMENT = 400  # characters; a statement stands in every later prompt of its tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """Children to put below one parent, the note on how they bear on it, and each one's polarity.

    ``resolves_by`` and ``reference_class`` say of a child what settles it and which cases are comparable, where the reply does; ``combine``
    says of the group whether all of it is needed, or any suffices.
    """

    parent: NodeId
    children: Mapping[NodeId, str]
    polarities: Mapping[NodeId, Polarity]
    causality: str
    resolves_by: Mapping[NodeId, str] = field(default_factory=dict)
    reference_class: Mapping[NodeId, str] = field(default_factory=dict)
    combine: Literal["", "all", "any"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisReply:
    """An analyzer's round: expansions, parents before their children, or the end.

    ``end_ignored``: the end tag came with expansions, which win. ``prose`` is what stands around the block. ``alone`` is why a claim
    has no drivers; only the key-free analyst, which measures them, may end so.
    """

    expansions: tuple[Expansion, ...] = ()
    end: bool = False
    end_ignored: bool = False
    prose: str = ""
    alone: str = ""


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
    combine: str | None = None


def parse_analysis(text: str, *, require_polarity: bool = True) -> AnalysisReply:
    """Expansions of an analyzer's reply, or its end.

    Children come as an object of statements by id, or as a list of ``{"statement", "polarity"}`` without ids; ids that are
    missing or that no tree has are allotted in the order of the reply. A polarity is a field of the child or of the group,
    or is read from the causality note, one ``P1, Positive`` or ``P1, Negative`` per child.

    Raises `MalformedReply`: Neither a readable block nor the end tag; a child without a clear polarity; an empty statement.
    """
    text = clean(text)
    if END_OF_ANALYSIS in text and not re.search(r"[{\[]", text):
        return AnalysisReply(end=True)

    def read(data: Any) -> AnalysisReply:
        return _analysis(data, require_polarity)

    try:
        analysis, prose = read_json(text, read, what=JSON_BLOCK, merge=_joined_analyses)
    except MalformedReply as malformed:
        # The end tag counts only in a reply without a block that could be meant; beside one it is ignored.
        if END_OF_ANALYSIS in text and not re.search(r"```[ \t]*json|\"parent\"", text, re.IGNORECASE):
            return AnalysisReply(end=True)
        if malformed.reason.startswith("found no"):
            raise MalformedReply(f"found neither a ```json block nor {END_OF_ANALYSIS}") from None
        raise
    if analysis.end:
        return analysis
    return AnalysisReply(
        expansions=analysis.expansions, end_ignored=END_OF_ANALYSIS in prose, prose=prose.strip()
    )


def _analysis(data: Any, require_polarity: bool) -> AnalysisReply:
    if isinstance(data, dict) and isinstance(data.get("expansions"), list):
        if not data["expansions"] and data.get("end") is True:
            return AnalysisReply(end=True, alone=str(data.get("alone") or ""))
        data = data["expansions"]
    elif isinstance(data, dict) and "parent" in data:
        data = [data]
    if not isinstance(data, list) or not data:
        raise MalformedReply("the JSON must be a list with at least one object, one per expanded parent")
    names: dict[str, NodeId] = {}
    expansions = [_expansion(check_form(_GroupShape, item), require_polarity, names) for item in data]
    return _joined_analyses([AnalysisReply(expansions=tuple(expansions))])


def _joined_analyses(parts: list[AnalysisReply]) -> AnalysisReply:
    """One analysis of several blocks, parents before their children; two different ones of one parent are ambiguous."""
    expansions: dict[NodeId, Expansion] = {}
    for expansion in (expansion for part in parts for expansion in part.expansions):
        if expansions.setdefault(expansion.parent, expansion) != expansion:
            raise MalformedReply(
                f"found two different expansions of {first_line(expansion.parent, 60)}; send exactly one"
            )
    # within one reply a parent may itself be new: shallow ones first, otherwise as written
    ordered = sorted(expansions.values(), key=lambda group: group.parent.count(".") + (group.parent != "P0"))
    return AnalysisReply(expansions=tuple(ordered), end=not ordered)


def _expansion(shape: _GroupShape, require_polarity: bool, names: dict[str, NodeId]) -> Expansion:
    """One group with the ids of the tree; ``names`` maps ids that the model invented, also those of parents further up."""
    parent = names.get(shape.parent, shape.parent)
    written: list[tuple[str | None, str | _ChildShape]] = (
        [(child.id, child) for child in shape.children]
        if isinstance(shape.children, list)
        else list(shape.children.items())
    )
    keys = [key for key, _ in written]
    ids = [f"P{n}" if parent == "P0" else f"{parent}.{n}" for n in range(1, len(written) + 1)]
    renamed: dict[str, NodeId] = {}
    if any(key is not None and _is_tree_id(key) for key in keys):
        if None in keys:
            raise MalformedReply(f"a child of {first_line(parent, 60)} has no id while others have one")
        ids = list(map(str, keys))
    else:
        given = [key for key in keys if key is not None]
        if len(set(given)) < len(given):
            raise MalformedReply(f"two children of {first_line(parent, 60)} have the same id")
        renamed = {key: new for key, new in zip(keys, ids, strict=True) if key is not None}
        names.update(renamed)
    causality = _renamed(shape.causality.strip(), renamed)
    children = {
        new: child if isinstance(child, _ChildShape) else _ChildShape(statement=child)
        for new, (_, child) in zip(ids, written, strict=True)
    }
    statements = {child: of.statement.strip() for child, of in children.items()}
    for text in (*statements.values(), causality):
        refuse_placeholder(text)
    if empty := [child for child, statement in statements.items() if not statement]:
        raise MalformedReply(f"{', '.join(empty)} has no statement")
    for child, statement in statements.items():
        if fault := _shape_fault(statement):
            raise MalformedReply(f"the statement of {child} {fault}")
    words = {renamed.get(key, key): word for key, word in shape.polarity.items()}
    words |= {child: of.polarity for child, of in children.items() if of.polarity is not None}
    polarities = _polarities(causality, list(children))
    stated = {child: _polarity(child, word) for child, word in words.items() if child in children}
    for child, side in stated.items():
        if polarities.setdefault(child, side) is not side:
            raise MalformedReply(
                f"{child} is {side.value} by its polarity and {polarities[child].value} in the causality note; choose one"
            )
    missing = [child for child in children if child not in polarities]
    if missing and require_polarity:
        raise MalformedReply(
            f"the causality note of {first_line(parent, 60)} gives no polarity for {', '.join(missing)}; "
            f'write "{missing[0]}, Positive" or "{missing[0]}, Negative" in it'
        )
    return Expansion(
        parent=parent,
        children=statements,
        polarities=polarities,
        causality=causality,
        resolves_by=_side_notes({child: of.resolves_by for child, of in children.items()}),
        reference_class=_side_notes({child: of.reference_class for child, of in children.items()}),
        combine=_combination(shape.combine or ""),
    )


def _combination(word: str) -> Literal["", "all", "any"]:
    """How the children of a group work together; what is no such word is additive, which is what nothing said means."""
    first = (re.sub(r"[^a-z]+", " ", word.lower()).split() or [""])[0]
    if first in ("all", "and", "conjunction"):
        return "all"
    return "any" if first in ("any", "or", "either") else ""


def _shape_fault(statement: str) -> str:
    """What keeps a statement from standing in other prompts as one line of its own; "" if nothing does."""
    if len(statement) > LONGEST_STATEMENT:
        return f"has {len(statement)} characters; {LONGEST_STATEMENT} at most, one sentence"
    if re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", statement):
        return "must be one line without control characters"
    if re.search(r"```|</?[A-Za-z][^<>]*>|<\|", statement):
        return "holds tags or fences; write it as one plain sentence"
    return ""


def _side_notes(notes: Mapping[NodeId, str | None]) -> dict[NodeId, str]:
    texts = {child: (note or "").strip()[:LONGEST_NOTE] for child, note in notes.items()}
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
    for polarity, words in _SIDES.items():
        if plain in words:
            return polarity
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
    words: set[str] = set()
    for match in re.finditer(rf"{name}([^.;\n]*?)(?=[.;\n]|$|(?<![\w.])P\d)", causality, re.IGNORECASE):
        clause = match[1].lower()
        # "not negative" is no polarity: it may mean none.
        if re.search(r"\b(not|non|neither|nor|isn't|without|or)\b", clause):
            continue
        words |= set(re.findall(r"\b(positive|negative)(?:ly)?\b", clause))
    return words
