"""The edits of one call on a tree and how they are kept, described once for every screen.

Each field of :class:`EditRequest` is one kind of edit. The command line, the magics, Python, MCP and the page are made from its
description (``workbench.requests``), so a kind that is added here is on all of them.
"""

from collections.abc import Mapping
from datetime import datetime
from math import inf
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from proxies.asof.clock import Cutoff
from proxies.input_files import InputRefused, parse_json
from workbench.errors import Option, UsageError
from workbench.propositions import NodeId, Polarity, RuleLimits, Tree
from workbench.propositions.values import Override
from workbench.requests import Request, Says, fields_of
from workbench.synthesis import rule_from_json
from workbench.synthesis.errors import FormulaError
from workbench.synthesis.rules.formula import parse_formula
from workbench.synthesis.rules.pooled import rule_of_drivers
from workbench.synthesis.sensitivity.assumptions import assume, assumed_by
from workbench.synthesis.whatif.edits import (
    AddChild,
    Edit,
    Pin,
    RemoveNode,
    Restate,
    SetPolarity,
    SetReport,
    SetRule,
    SetValue,
    Unpin,
    play,
)
from workbench.whatif.typed_values import TypedValue, parse_probability, parse_value

_SIDE = "(or Positive)"


def _read_probability(value: object) -> float:
    try:
        return parse_probability(value)
    except UsageError as error:
        raise ValueError(str(error)) from None


def _read_value(value: object) -> TypedValue:
    try:
        return parse_value(value)
    except UsageError as error:
        raise ValueError(str(error)) from None


def _read_weight(value: object) -> float:
    try:
        readable = (
            isinstance(value, int | float | str) and not isinstance(value, bool) and "_" not in str(value)
        )
        weight = float(value) if readable else inf  # type: ignore[arg-type]
    except ValueError:
        weight = inf
    # NaN fails the comparison, so it is refused by the same line.
    if not -1.0 <= weight <= 1.0:
        raise ValueError(f"a weight is a number from -1 to 1, not {value!r:.40}")
    return weight


def _read_rule(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text.startswith("{"):
        try:
            parse_formula(text)
        except FormulaError as error:
            raise ValueError(f"neither JSON nor a formula ({error})") from None
        return {"name": "logic", "formula": text, "assumption": None}
    try:
        return parse_json(text, "the rule")
    except InputRefused as error:
        raise ValueError(str(error)) from None


Node = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
_Statement = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]
_Side = Annotated[
    Polarity, BeforeValidator(lambda value: value.strip().capitalize() if isinstance(value, str) else value)
]
Probability = Annotated[
    float, BeforeValidator(_read_probability), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})
]
_Share: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
#: Read as a `TypedValue`; a caller of Python writes a number, a text or a pair.
_Value = Annotated[
    Any,
    PlainValidator(_read_value),
    WithJsonSchema(
        {
            "anyOf": [_Share, {"type": "array", "items": _Share, "minItems": 2, "maxItems": 2}],
            "description": "a probability, or [low, high]",
        }
    ),
]
_Weight = Annotated[
    float, BeforeValidator(_read_weight), WithJsonSchema({"type": "number", "minimum": -1, "maximum": 1})
]
_Rule = Annotated[dict[str, Any], BeforeValidator(_read_rule)]
# A lone "P1" is one proposition, and not "P" and "1".
_Nodes = Annotated[list[Node], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]


class _Part(BaseModel):
    # Built when the first one is read: a command that edits nothing does not wait for it.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Addition(_Part):
    """A proposition to be added below another: ``PARENT=STATEMENT``, ``(parent, statement)`` or these fields."""

    parent: Annotated[Node, Field(description="Id of the driver it is added to; P0 is the claim.")]
    statement: _Statement
    polarity: Annotated[_Side | None, Field(description="How it bears on its parent.")] = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, AddChild):
            return {"parent": value.node, "statement": value.statement, "polarity": value.polarity}
        if isinstance(value, str):
            parent, equals, statement = value.partition("=")
            node, comma, side = parent.partition(",")
            value = (node, statement, side.strip() or "?") if comma else (parent, statement)
            if not equals:
                raise ValueError("the statement is missing")
        if isinstance(value, list | tuple):
            if len(value) not in (2, 3):
                raise ValueError('write (PARENT, STATEMENT) or (PARENT, STATEMENT, "Negative")')
            return dict(zip(("parent", "statement", "polarity"), value, strict=False))
        return value


class ReportText(_Part):
    """A report that replaces a proposition's own: a text, ``(key factor, text)`` or these fields."""

    report: Annotated[str, StringConstraints(max_length=200_000)]
    key_factor: Annotated[str, StringConstraints(max_length=2000)] = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, str):
            first, _, rest = value.partition("\n")
            words, colon, factor = first.partition(":")
            if colon and words.strip().casefold() == "key factor":
                return {"key_factor": factor.strip(), "report": rest.strip()}
            return {"report": value.strip()}
        if isinstance(value, list | tuple) and len(value) == 2:
            return {"key_factor": value[0], "report": value[1]}
        return value


class EditRequest(Request):
    """The edits of one call, of every kind; every screen fills one in."""

    values: Annotated[
        dict[Node, _Value],
        Says(
            word="set",
            text="Probability of a driver, or a range; a driver with drivers below it is pinned. PA and P2.PA are assumptions of logic rules.",
            form="NODE=P with a probability or a range, for example P2.1=0.25, P2.1=25% or P2.1=20-40%",
        ),
    ] = {}
    add: Annotated[
        list[Addition],
        Says(
            text="A new driver below another; the same call can give it a weight and a probability.",
            form=f'PARENT=STATEMENT, or "PARENT, Negative=STATEMENT" {_SIDE} to say how it bears on the parent',
        ),
    ] = []
    remove: Annotated[_Nodes, Says(text="Leave a driver out, with what is below.", form="NODE")] = []
    pin: Annotated[_Nodes, Says(text="Hold a driver at the value it has now.", form="NODE")] = []
    unpin: Annotated[_Nodes, Says(text="Give a driver back to the model or its children.", form="NODE")] = []
    restate: Annotated[dict[Node, _Statement], Says(text="Other words for a driver.", form="NODE=TEXT")] = {}
    same_meaning: Annotated[bool, Says(text="Restated drivers keep their values.")] = False
    polarities: Annotated[
        dict[Node, _Side],
        Says(
            word="polarity",
            text="How a driver bears on its parent, whose rule turns with it.",
            form="NODE=Positive or NODE=Negative",
        ),
    ] = {}
    reports: Annotated[
        dict[Node, ReportText],
        Says(
            word="report",
            text="Another report in place of a driver's own; a first line `Key factor: ...` replaces that too.",
            form="NODE=FILE, a text file, for example P1=notes.md",
            file=True,
        ),
    ] = {}
    rules: Annotated[
        dict[Node, _Rule],
        Says(
            word="rule",
            text="Another rule for a driver with children: its JSON, or a formula with AND, OR, NOT.",
            form='NODE=JSON, for example P0=\'{"name": "linear", "intercept": 0.1, "weights": {"P1": 0.5}}\','
            ' or a formula, P0="P1 AND P2"',
        ),
    ] = {}
    weights: Annotated[
        dict[Node, _Weight],
        Says(
            word="weight",
            text="Weight of a driver in the rule of its parent, from -1 to 1.",
            form="NODE=W with a weight between -1 and 1, for example P2.1=0.4",
        ),
    ] = {}

    @property
    def has_edits(self) -> bool:
        """Whether any edit is asked for."""
        return any(getattr(self, field.name) for field in fields_of(EditRequest))

    def edits(self, tree: Tree, override: Override | None = None) -> tuple[Edit, ...]:
        """Return the edits in the order in which they are made: unpin, restate, add, remove, polarity, report, rule, weight, pin, set.

        So a pin holds the value of before the settings, and an added proposition can be given a weight and a value by the
        same call. ``tree`` is the one they are made on, for the rules that weights stand in.

        Raises `UsageError`: A rule that does not fit its node.
        """
        shape: tuple[Edit, ...] = (
            *(Unpin(node=node) for node in self.unpin),
            *(
                Restate(node=node, statement=text, keep_belief=self.same_meaning)
                for node, text in self.restate.items()
            ),
            *(
                AddChild(node=addition.parent, statement=addition.statement, polarity=addition.polarity)
                for addition in self.add
            ),
            *(RemoveNode(node=node) for node in self.remove),
            *(SetPolarity(node=node, polarity=polarity) for node, polarity in self.polarities.items()),
            *(
                SetReport(node=node, key_factor=text.key_factor, report=text.report)
                for node, text in self.reports.items()
            ),
        )
        assumed = {}
        for name, value in self.values.items():
            if (node := assumed_by(name)) is not None:
                if value.low is not None:
                    raise UsageError(f"{name} is an assumption: give it one probability, not a range")
                assumed[node] = value.p
        rules: tuple[Edit, ...] = ()
        if self.rules or self.weights or assumed:
            rules = _rule_edits(play(tree, shape).tree, self.rules, self.weights, assumed)
        return (
            *shape,
            *rules,
            *(Pin(node=node) for node in self.pin),
            *(
                SetValue(node=node, p=value.p, low=value.low, high=value.high, override=override)
                for node, value in self.values.items()
                if assumed_by(node) is None
            ),
        )


# A person may set what a model may not: a sign against the stated polarity, and any intercept.
_PERSON = RuleLimits(intercept_max=inf, overrule_polarity=True)


def _rule_edits(
    tree: Tree,
    rules: Mapping[NodeId, Mapping[str, Any]],
    weights: Mapping[NodeId, float],
    assumed: Mapping[NodeId, float],
) -> tuple[Edit, ...]:
    changed: dict[NodeId, dict[str, Any]] = {}
    for node, data in rules.items():
        if not tree[node].children:
            raise UsageError(f"{node} has no drivers below it: a rule needs them")
        changed[node] = dict(data)
    for node, weight in weights.items():
        parent = tree.parent(node)
        if parent is None:
            raise UsageError("the claim has no weight: only drivers have one")
        rule = tree[parent].rule
        whole = changed.setdefault(parent, rule.to_json() if rule is not None else {})
        data = rule_of_drivers(whole)
        # An inhibitor's weight stands in a list of its own (noisy-or).
        place = next(
            (
                key
                for key in ("weights", "inhibitors")
                if isinstance(data.get(key), Mapping) and node in data[key]
            ),
            None,
        )
        if place is None:
            raise UsageError(
                f"the {data.get('name', 'missing')} rule of {parent} gives {node} no weight: change the rule as a whole"
            )
        data[place] = {**data[place], node: float(weight)}
    for node, p in assumed.items():
        rule = tree[node].rule
        whole = changed.setdefault(node, rule.to_json() if rule is not None else {})
        data = rule_of_drivers(whole)
        data |= assume(data, node, p)
    for node, data in changed.items():
        rule = rule_from_json(data)
        children = tree[node].children
        if not rule.numeric:
            raise UsageError(f"a {rule.name} rule has no formula to compute {node} by: give one that has")
        rule.validate(children, tree[node].polarities, _PERSON)
        if stray := rule.unknown_children(children):
            raise UsageError(
                f"the rule of {node} names {', '.join(stray)}; its children are {', '.join(children)}"
            )
    return tuple(SetRule(node=node, rule=data) for node, data in changed.items())


def parse_override(author: str, reason: str, expires: str | None, *, now: str) -> Override | None:
    """Return author, reason and expiry of values set by hand, as of ``now`` (ISO 8601); None if none of them is given.

    ``expires`` is a date (start of that day in New York) or an instant. Raises ``UsageError`` when it is over already, or
    nobody answers for it.
    """
    if not (author or reason or expires):
        return None
    until = None
    if expires is not None:
        instant = Cutoff.parse(expires, now=datetime.fromisoformat(now)).instant
        if instant <= datetime.fromisoformat(now):
            raise UsageError(Option("expires", str(expires)), " lies in the past: give a later time")
        until = instant.isoformat()
    if not author:
        raise UsageError("a value with a reason or an expiry needs an author: add ", Option("author"))
    return Override(author=author, reason=reason, at=now, expires=until)
