"""The form below a selected proposition: words, polarity, weight or assumption changed; hold, give back, remove, add below."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import ipywidgets

from workbench.errors import UsageError
from workbench.propositions import ROOT, NodeId, Polarity, Tree, natural_order, parent_of
from workbench.requests import RequestField, fields_of
from workbench.synthesis.sensitivity.assumptions import assumption_detail, assumption_id, assumption_of
from workbench.synthesis.whatif.edits import AddChild
from workbench.whatif.edit_request import EditRequest
from workbench.whatif.stored_reports import without_records
from workbench.whatif.typed_values import parse_probability
from workbench.widgets import panels
from workbench.widgets.edits.edit_session import WhatIfSession
from workbench.widgets.fields import action, box, choice, field, html, look, plain_widget, show_if, tried
from workbench.widgets.operation_form import tick
from workbench.widgets.panels import typed

#: What the fields of a kind of edit hold: lines of text, and whether a box is ticked.
Values = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of edit with a control: the field of the request, its button, and the fields beside that.

    `now`: what stands in the fields for a proposition; None where there is nothing to edit.

    `edits`: the arguments of the request for what was typed.
    """

    name: str
    button: str
    fields: Callable[[], Sequence[Any]] = list
    now: Callable[[Tree, NodeId], Values | None]
    edits: Callable[..., Mapping[str, Any]]


_SPEAKS = {"speaks for it": Polarity.POSITIVE, "speaks against it": Polarity.NEGATIVE}
_NOT_STATED = "not stated"


def _side_now(tree: Tree, node: NodeId) -> Values | None:
    parent = tree.parent(node)
    stated = None if parent is None else tree[parent].polarities.get(node)
    words = next((words for words, side in _SPEAKS.items() if side is stated), _NOT_STATED)
    return None if parent is None else (words,)


def _turned(tree: Tree, node: NodeId, side: str) -> dict[str, Any]:
    if side == _NOT_STATED:
        raise UsageError("choose whether the driver raises or lowers the statement above it")
    return {"polarities": {node: _SPEAKS[side]}}


def _weight_now(tree: Tree, node: NodeId) -> Values | None:
    parent = tree.parent(node)
    rule = None if parent is None else tree[parent].rule
    weight = None if rule is None else rule.to_json().get("weights", {}).get(node)
    return None if weight is None else (f"{weight:g}",)


def _number(name: str, text: str) -> float:
    try:
        return float(text.strip().replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        raise UsageError(f"{text.strip()!r:.30} is not {name}: type a number such as 0.2") from None


def _even(children: Sequence[NodeId]) -> dict[NodeId, float]:
    return {child: round(1 / len(children), 3) for child in children}


#: What to begin from when another kind of rule is chosen, by its name (docs/use/what-if.md has the forms).
RULE_FORMS: dict[str, Callable[[Sequence[NodeId]], dict[str, Any]]] = {
    "linear": lambda children: {"name": "linear", "intercept": 0.0, "weights": _even(children)},
    "logic": lambda children: {"name": "logic", "formula": " OR ".join(children), "assumption": None},
    "noisy-or": lambda children: {
        "name": "noisy-or",
        "leak": 0.0,
        "weights": _even(children),
        "inhibitors": {},
    },
    "average": lambda children: {"name": "average", "children": list(children)},
}


def _rule_text(tree: Tree, node: NodeId, name: str) -> str:
    rule, children = tree[node].rule, tree[node].children
    return json.dumps(
        rule.to_json() if rule is not None and rule.name == name else RULE_FORMS[name](children)
    )


def _rule_now(tree: Tree, node: NodeId) -> Values | None:
    if not tree[node].children:
        return None
    rule = tree[node].rule
    name = rule.name if rule is not None and rule.name in RULE_FORMS else "linear"
    return name, _rule_text(tree, node, name)


def _ruled(tree: Tree, node: NodeId, name: str, text: str) -> dict[str, Any]:
    try:
        form = json.loads(text)
    except ValueError as error:
        raise UsageError(f"the rule is no JSON: {error}") from None
    if not isinstance(form, dict):
        raise UsageError('a rule is an object such as {"name": "average"}')
    return {"rules": {node: form}}


def _report_now(tree: Tree, node: NodeId) -> Values | None:
    belief = tree[node].belief
    return None if belief is None else (belief.key_factor.strip(), without_records(belief.report).strip())


def _report_fields() -> Sequence[Any]:
    report = plain_widget(
        ipywidgets.Textarea, placeholder="report", description="report", continuous_update=False
    )
    report.add_class("wb-field")
    report.add_class("wb-report")
    return field("key factor", "wb-long"), report


def _added(tree: Tree, node: NodeId, words: str, side: str, weight: str, p: str) -> dict[str, Any]:
    polarity = _SPEAKS[side]
    grown = tree.add_child(node, words, polarity=polarity)[node].children
    child = natural_order(set(grown) - set(tree[node].children))[0]
    size = _number("a weight", weight) if weight else None
    if size is not None and polarity is Polarity.NEGATIVE:
        size = -abs(size)  # typed as a size beside "speaks against it", or with its sign: both mean the same
    return {
        "add": [AddChild(node=node, statement=words, polarity=polarity)],
        "weights": {} if size is None else {child: size},
        "values": {child: parse_probability(p)} if p else {},
    }


def _assumed_now(tree: Tree, node: NodeId) -> Values | None:
    p = assumption_of(tree, node)
    return None if p is None else (typed(p),)


def _can_hold(tree: Tree, node: NodeId) -> Values | None:
    return () if tree[node].p is not None and tree[node].children and not tree[node].pinned else None


def _can_release(tree: Tree, node: NodeId) -> Values | None:
    belief = tree[node].belief
    return () if tree[node].pinned or (belief is not None and belief.source == "analyst") else None


#: The tree's rows have the values.
KINDS = (
    Kind(
        name="restate",
        button="Reword",
        fields=lambda: (field("statement", "wb-long"), tick("means the same: keep the value")),
        now=lambda tree, node: (tree[node].statement, False),
        edits=lambda tree, node, words, same: {"restate": {node: words}, "same_meaning": same},
    ),
    Kind(
        name="polarities",
        button="Set polarity",
        fields=lambda: (choice([_NOT_STATED, *_SPEAKS], "how it bears on its parent"),),
        now=_side_now,
        edits=_turned,
    ),
    Kind(
        name="weights",
        button="Set weight",
        fields=lambda: (field("weight, from -1 to 1"),),
        now=_weight_now,
        edits=lambda tree, node, text: {"weights": {node: _number("a weight", text)}},
    ),
    Kind(
        name="rules",
        button="Set rule",
        fields=lambda: (choice(list(RULE_FORMS), "kind of rule"), field("the rule as JSON", "wb-long")),
        now=_rule_now,
        edits=_ruled,
    ),
    Kind(
        name="reports",
        button="Set report",
        fields=_report_fields,
        now=_report_now,
        edits=lambda tree, node, *report: {"reports": {node: report}},
    ),
    Kind(name="pin", button="Hold", now=_can_hold, edits=lambda tree, node: {"pin": [node]}),
    Kind(name="unpin", button="Give back", now=_can_release, edits=lambda tree, node: {"unpin": [node]}),
    Kind(
        name="remove",
        button="Remove",
        now=lambda tree, node: None if tree.parent(node) is None else (),
        edits=lambda tree, node: {"remove": [node]},
    ),
    Kind(
        name="add",
        button="Add",
        fields=lambda: (
            field("new driver below this one", "wb-long"),
            choice(list(_SPEAKS), "side it speaks for"),
            field("weight, such as 0.2"),
            field("probability"),
        ),
        now=lambda tree, node: ("", next(iter(_SPEAKS)), "", "") if tree[node].children else None,
        edits=_added,
    ),
)
#: The probability of what a logic rule assumes; it stands in sight.
ASSUMPTION = Kind(
    name="values",
    button="Set assumption",
    fields=lambda: (field("probability of the assumption", "wb-short"),),
    now=_assumed_now,
    edits=lambda tree, node, text: {"values": {assumption_id(node): parse_probability(text)}},
)


def _plain_kind(each: RequestField) -> Kind:
    """Return the control of a kind that an installed package brings."""
    label = each.word.replace("_", " ").capitalize()
    if each.shape == "list":
        return Kind(
            name=each.name,
            button=label,
            now=lambda tree, node: (),
            edits=lambda tree, node: {each.name: [node]},
        )
    return Kind(
        name=each.name,
        button=label,
        fields=lambda: (field(each.says.text, "wb-long"),),
        now=lambda tree, node: ("",),
        edits=lambda tree, node, text: {each.name: {node: text}},
    )


class EditingForm(ipywidgets.VBox):  # type: ignore[misc]
    """Changes of one proposition other than its value, each one step of undo."""

    def __init__(
        self,
        session: WhatIfSession,
        select: Callable[[NodeId], None],
        request: type[EditRequest] = EditRequest,
        kinds: Iterable[Kind] | None = None,
    ):
        self._session, self._select, self._request = session, select, request
        says = {each.name: each for each in fields_of(request)}
        if kinds is None:
            known = {"values", *(each.name for each in KINDS)}
            brought = (
                each for each in says.values() if each.name not in known and each.shape in ("list", "mapping")
            )
            kinds = (*KINDS, *map(_plain_kind, brought))
        self._kinds = {each.name: each for each in kinds}
        self._filled: dict[str, tuple[NodeId, Values | None]] = {}
        self.node: NodeId = ROOT
        self.line = html()
        #: By kind.
        self.inputs = {name: each.fields() for name, each in self._kinds.items()}
        self.buttons = {
            name: action(each.button, tried(partial(self._make, name), self._refuse))
            for name, each in self._kinds.items()
        }
        for name, button in self.buttons.items():
            button.tooltip = says[name].says.text
        self._rows = {
            name: box(ipywidgets.HBox, [*self.inputs[name], self.buttons[name]], "wb-form-row")
            for name in self._kinds
            if self.inputs[name]
        }
        bare = [self.buttons[name] for name in self._kinds if name not in self._rows]
        if "rules" in self.inputs:
            self.inputs["rules"][0].observe(lambda _change: self._propose_rule(), names=["value"])
        rows = [*self._rows.values(), *([box(ipywidgets.HBox, bare, "wb-form-row")] if bare else [])]
        super().__init__([*rows, self.line], layout=look(ipywidgets.Layout))
        self.add_class("wb-editing")

    def show(self, node: NodeId) -> None:
        """Fill the form in for a proposition of the edited tree; what a person is typing stays."""
        if node != self.node:
            self.line.value = ""
        self.node = node
        for name, kind in self._kinds.items():
            now = kind.now(self._session.tree, node)
            if name in self._rows:
                show_if(now is not None, self._rows[name])
            else:
                self.buttons[name].disabled = now is None
            if now is not None and self._filled.get(name) != (node, now):
                for widget, value in zip(self.inputs[name], now, strict=True):
                    widget.value = value
            self._filled[name] = (node, now)

    def _propose_rule(self) -> None:
        name, text = self.inputs["rules"]
        text.value = _rule_text(self._session.tree, self.node, str(name.value))

    def _make(self, name: str) -> None:
        values = tuple(
            widget.value.strip() if isinstance(widget.value, str) else widget.value
            for widget in self.inputs[name]
        )
        if values and values == self._filled[name][1] and values[0]:
            # A button pressed on a rounded weight is nobody's judgement.
            raise UsageError("nothing was changed: the new values equal the old ones")
        with self._session.lock:
            tree = self._session.tree
            request = self._request.read(self._kinds[name].edits(tree, self.node, *values))
            self._session.change(request.edits(tree, self._session.override()))
            new = set(self._session.tree.ids()) - set(tree.ids())
        self.line.value = ""
        if new:
            self._select(min(new, key=len))
        elif self.node not in self._session.tree:
            self._select(parent_of(self.node) or ROOT)

    def _refuse(self, why: str) -> None:
        self.line.value = panels.refusal(why)


class AssumptionForm(ipywidgets.VBox):  # type: ignore[misc]
    """What is assumed, and a field for its probability: an edit like any other, so it is undone and kept as they are."""

    children: tuple[Any, ...]

    def __init__(self, session: WhatIfSession, select: Callable[[NodeId], None]) -> None:
        self._session, self._select = session, select
        self.detail = html()
        super().__init__([self.detail], layout=look(ipywidgets.Layout))
        self.add_class("wb-assuming")

    @cached_property
    def form(self) -> EditingForm:
        """The field and its button; made for the first proposition that assumes something."""
        form = EditingForm(self._session, self._select, kinds=[ASSUMPTION])
        self.children = (*self.children, form)
        return form

    def show(self, node: NodeId) -> None:
        """Fill it in for a proposition of the edited tree; it is away where nothing is assumed."""
        tree = self._session.tree
        p, name = assumption_of(tree, node), assumption_id(node)
        show_if(p is not None, self)
        if p is not None:
            detail = assumption_detail(tree, name)
            self.detail.value = panels.rendered("assumption", name=name, detail=detail, p=p)
            self.form.show(node)
