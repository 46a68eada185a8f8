"""The form below a selected proposition: words, polarity, weight or assumption changed; hold, give back, remove, add below."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets

from workbench.errors import UsageError
from workbench.propositions import ROOT, NodeId, Polarity, natural_order, parent_of
from workbench.propositions.edits import AddChild
from workbench.requests import RequestField, fields_of
from workbench.synthesis.sensitivity.assumptions import assumption_detail, assumption_id, assumption_of
from workbench.whatif.edit_request import EditRequest
from workbench.whatif.stored_reports import without_records
from workbench.whatif.typed_values import parse_probability
from workbench.widgets import panels
from workbench.widgets.edits.edit_session import WhatIfSession
from workbench.widgets.fields import action, box, choice, field, html, look, plain_widget, show_if
from workbench.widgets.panels import is_shown, typed


class AssumptionForm(ipywidgets.VBox):  # type: ignore[misc]
    """What is assumed, and a field for its probability: an edit like any other, so it is undone and kept as they are."""

    def __init__(self, session: WhatIfSession) -> None:
        self._session = session
        self.node: NodeId = ROOT
        self._shown: tuple[NodeId, float] | None = None
        self.detail = html()
        self.line = html()
        self.probability = field("probability of the assumption", "wb-short")
        self.assume = action("Set assumption", self._assume, tooltip="recomputes this driver and those above")
        super().__init__(
            [self.detail, box(ipywidgets.HBox, [self.probability, self.assume], "wb-form-row"), self.line],
            layout=look(ipywidgets.Layout),
        )
        self.add_class("wb-assuming")

    def show(self, node: NodeId) -> None:
        """Fill it in for a proposition of the edited tree; it is away where nothing is assumed."""
        if node != self.node:
            self.line.value = ""
        self.node = node
        tree = self._session.tree
        p = assumption_of(tree, node)
        show_if(p is not None, self)
        if p is None or (node, p) == self._shown:
            return  # what a person is typing stays
        self._shown = (node, p)
        name = assumption_id(node)
        self.detail.value = panels.rendered(
            "assumption", name=name, detail=assumption_detail(tree, name), p=p
        )
        self.probability.value = typed(p)

    def _assume(self) -> None:
        self.line.value = ""
        try:
            p = parse_probability(self.probability.value)
            with self._session.lock:
                shown = assumption_of(self._session.tree, self.node)
                refuse_unchanged(is_shown(shown, p, self.probability.value))
                request = EditRequest.read({"values": {assumption_id(self.node): p}})
                self._session.change(request.edits(self._session.tree, self._session.override()))
        # An exception in a widget's callback is seen by nobody.
        except UsageError as error:
            self.line.value = panels.refusal(str(error))


_SPEAKS = {"speaks for it": Polarity.POSITIVE, "speaks against it": Polarity.NEGATIVE}


def _even(children: Sequence[NodeId]) -> dict[NodeId, float]:
    return {child: round(1 / len(children), 3) for child in children}


#: What to begin from when another kind of rule is chosen, by its name (docs/reasoning.md has the forms).
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


#: Kinds of edit with a control that knows more than their value: what stands now, which children there are. The tree's rows have
#: the values.
_OWN_CONTROL = {
    "values", "restate", "polarities", "weights", "rules", "reports", "pin", "unpin", "remove", "add",
}  # fmt: skip


class EditingForm(ipywidgets.VBox):  # type: ignore[misc]
    """Changes of one proposition other than its value, each one step of undo."""

    def __init__(
        self,
        session: WhatIfSession,
        select: Callable[[NodeId], None],
        request: type[EditRequest] = EditRequest,
    ):
        self._session, self._select, self._request = session, select, request
        self._kinds = {each.name: each for each in fields_of(request)}
        self.node: NodeId = ROOT
        self._stated: tuple[NodeId, object] | None = None
        self._filled: tuple[NodeId, object, object] | None = None
        self.line = html()
        self.words = field("statement", "wb-long")
        self.same = plain_widget(
            ipywidgets.Checkbox, description="means the same: keep the value", value=False, indent=False
        )
        self.reword = self._button("Reword", "restate", self._reword)
        self.weight = field("weight, from -1 to 1")
        self.weigh = self._button("Set weight", "weights", self._weigh)
        self.side = choice(list(_SPEAKS), "how it bears on its parent")
        self.turn = self._button("Set polarity", "polarities", self._turn)
        self._side_row = _form_row(self.side, self.turn)
        self.rule = choice(list(RULE_FORMS), "kind of rule")
        self.rule.observe(lambda _change: self._propose_rule(), names=["value"])
        self.rule_text = field("the rule as JSON", "wb-long")
        self.set_rule = self._button("Set rule", "rules", self._set_rule)
        self._rule_row = _form_row(self.rule, self.rule_text, self.set_rule)
        self.key_factor = field("key factor", "wb-long")
        self.report = plain_widget(
            ipywidgets.Textarea, placeholder="report", description="report", continuous_update=False
        )
        self.report.add_class("wb-field")
        self.report.add_class("wb-report")
        self.set_report = self._button("Set report", "reports", self._set_report)
        self._report_row = _form_row(self.key_factor, self.report, self.set_report)
        self.hold = self._button("Hold", "pin", lambda: self._make(pin=[self.node]))
        self.release = self._button("Give back", "unpin", lambda: self._make(unpin=[self.node]))
        self.remove = self._button("Remove", "remove", self._remove)
        self.new_words = field("new driver below this one", "wb-long")
        self.new_side = choice(list(_SPEAKS), "side it speaks for")
        self.new_weight = field("weight, such as 0.2")
        self.new_p = field("probability")
        self.add = self._button("Add", "add", self._add)
        self._weight_row = _form_row(self.weight, self.weigh)
        rows = [
            _form_row(self.words, self.reword, self.same),
            self._side_row,
            self._weight_row,
            self._rule_row,
            self._report_row,
            _form_row(self.hold, self.release, self.remove),
            _form_row(self.new_words, self.new_side, self.new_weight, self.new_p, self.add),
            *(
                self._plain_row(each)
                for each in self._kinds.values()
                if each.name not in _OWN_CONTROL and each.shape in ("list", "mapping")
            ),
            self.line,
        ]
        super().__init__(rows, layout=look(ipywidgets.Layout))
        self.add_class("wb-editing")

    def show(self, node: NodeId) -> None:
        """Fill the form in for a proposition of the edited tree."""
        tree = self._session.tree
        proposition = tree[node]
        if node != self.node:
            self.line.value = ""
        self.node = node
        self.words.value = proposition.statement
        parent = tree.parent(node)
        weights = self._weights()
        show_if(node in weights, self._weight_row)
        self.weight.value = _weight_text(weights.get(node))
        show_if(parent is not None, self._side_row)
        stated = None if parent is None else tree[parent].polarities.get(node)
        if (node, stated) != self._stated:  # what a person is choosing stays
            self._stated = (node, stated)
            self.side.value = next(
                (words for words, side in _SPEAKS.items() if side is stated), next(iter(_SPEAKS))
            )
        show_if(bool(proposition.children), self._rule_row)
        show_if(proposition.belief is not None, self._report_row)
        if (node, proposition.rule, proposition.belief) != self._filled:
            # Only where something else is shown: what a person is typing stays.
            self._filled = (node, proposition.rule, proposition.belief)
            belief = proposition.belief
            self.key_factor.value = belief.key_factor if belief is not None else ""
            self.report.value = without_records(belief.report) if belief is not None else ""
            name = proposition.rule.name if proposition.rule is not None else ""
            self.rule.value = name if name in RULE_FORMS else "linear"
            self._propose_rule()
        held = self._session.rows[node]["edited"]
        self.hold.disabled = proposition.p is None or proposition.pinned or not proposition.children
        self.release.disabled = not (held or proposition.pinned)
        self.remove.disabled = parent is None
        self.add.disabled = not proposition.children

    def _weights(self) -> dict[NodeId, float]:
        parent = self._session.tree.parent(self.node)
        rule = None if parent is None else self._session.tree[parent].rule
        return {} if rule is None else dict(rule.to_json().get("weights", {}))

    def _reword(self) -> None:
        words = self.words.value.strip()
        refuse_unchanged(words == self._session.tree[self.node].statement)
        self._make(restate={self.node: words}, same_meaning=self.same.value)

    def _turn(self) -> None:
        side = _SPEAKS[self.side.value]
        refuse_unchanged((self.node, side) == self._stated)
        self._make(polarities={self.node: side})

    def _weigh(self) -> None:
        weight = _typed_number("a weight", self.weight.value)
        shown = self._weights().get(self.node)
        refuse_unchanged(shown is not None and weight in (shown, float(_weight_text(shown))))
        self._make(weights={self.node: weight})

    def _propose_rule(self) -> None:
        proposition = self._session.tree[self.node]
        rule = proposition.rule
        if rule is not None and rule.name == self.rule.value:
            form = rule.to_json()
        else:
            form = RULE_FORMS[str(self.rule.value)](proposition.children)
        self.rule_text.value = json.dumps(form)

    def _set_rule(self) -> None:
        try:
            form = json.loads(self.rule_text.value)
        except ValueError as error:
            raise UsageError(f"the rule is no JSON: {error}") from None
        if not isinstance(form, dict):
            raise UsageError('a rule is an object such as {"name": "average"}')
        rule = self._session.tree[self.node].rule
        refuse_unchanged(rule is not None and form == json.loads(json.dumps(rule.to_json())))
        self._make(rules={self.node: form})

    def _set_report(self) -> None:
        report = (self.key_factor.value.strip(), self.report.value.strip())
        belief = self._session.tree[self.node].belief
        refuse_unchanged(
            belief is not None
            and report == (belief.key_factor.strip(), without_records(belief.report).strip())
        )
        self._make(reports={self.node: report})

    def _remove(self) -> None:
        parent = parent_of(self.node)
        self._make(remove=[self.node])
        self._select(parent or ROOT)

    def _add(self) -> None:
        tree = self._session.tree
        side = _SPEAKS[self.new_side.value]
        addition = AddChild(node=self.node, statement=self.new_words.value.strip(), polarity=side)
        child = natural_order(
            set(tree.add_child(self.node, addition.statement, polarity=side)[self.node].children)
            - set(tree[self.node].children)
        )[0]
        weights, values = {}, {}
        if self.new_weight.value.strip():
            size = _typed_number("a weight", self.new_weight.value)
            # Typed as a size beside "speaks against it", or with its sign: both mean the same.
            weights[child] = -abs(size) if side is Polarity.NEGATIVE else size
        if self.new_p.value.strip():
            values[child] = parse_probability(self.new_p.value)
        self._make(add=[addition], weights=weights, values=values)
        for entry in (self.new_words, self.new_weight, self.new_p):
            entry.value = ""
        self._select(child)

    def _make(self, **edits: Any) -> None:
        request = self._request.read(edits)
        with self._session.lock:
            self._session.change(request.edits(self._session.tree, self._session.override()))

    def _plain_row(self, each: RequestField) -> Any:
        label = each.word.replace("_", " ").capitalize()
        if each.shape == "list":
            return _form_row(self._button(label, each.name, lambda: self._make(**{each.name: [self.node]})))
        text = field(each.says.text, "wb-long")
        return _form_row(
            text,
            self._button(
                label, each.name, lambda: self._make(**{each.name: {self.node: text.value.strip()}})
            ),
        )

    def _button(self, label: str, kind: str, act: Callable[[], None]) -> ipywidgets.Button:
        def clicked(_button: Any) -> None:
            # An exception in a widget's callback is seen by nobody.
            try:
                act()
            except UsageError as error:
                self.line.value = panels.refusal(str(error))
            else:
                self.line.value = ""

        button = plain_widget(ipywidgets.Button, description=label, tooltip=self._kinds[kind].says.text)
        button.add_class("wb-action")
        button.on_click(clicked)
        return button


def refuse_unchanged(unchanged: bool) -> None:
    """Refuse an edit that says what the form shows already: a button pressed on a rounded weight is nobody's judgement."""
    if unchanged:
        raise UsageError("nothing was changed: that is what stands here already")


def _weight_text(weight: float | None) -> str:
    return "" if weight is None else f"{weight:g}"


def _typed_number(name: str, text: str) -> float:
    try:
        return float(text.strip().replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        raise UsageError(f"{text.strip()!r:.30} is not {name}: type a number such as 0.2") from None


def _form_row(*children: ipywidgets.Widget) -> Any:
    return box(ipywidgets.HBox, list(children), "wb-form-row")
