"""Edits of a run by a person: a changed plan, and what-ifs, numeric or with the synthesizer asked again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Any, TypeVar

import orjson

from proxies.asof.clock import Cutoff
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import put_tree, write_atomically
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.propositions import EditConflict, NodeId, Polarity, RuleLimits, Tree, TreeError
from workbench.propositions.edits import (
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
)
from workbench.propositions.values import Override
from workbench.store import Store, StoredEvent
from workbench.store import events as ev
from workbench.synthesis import RuleError, WhatIf, rule_from_json, tree_from_json
from workbench.synthesis.sensitivity.assumptions import assume, assumed_by
from workbench.synthesis.whatif.apply_edits import play, play_until
from workbench.whatif.rule_changes import RuleChange, kept_edits
from workbench.whatif.tree_documents import override_rows

T = TypeVar("T")


def adopt_tree_file(store: Store, run_id: str) -> bool:
    """Take over what a person changed in ``tree.json`` of a run that was only planned; True when something was.

    Raises ``UsageError`` when the file is no valid tree.
    """
    state = load_state(store, run_id)
    path = store.folder(run_id) / "tree.json"
    if not state.planned or state.stopped is None or state.stopped.why != "plan-only" or not path.is_file():
        return False
    try:
        tree = tree_from_json(orjson.loads(path.read_bytes()))
    except (orjson.JSONDecodeError, TreeError, RuleError) as error:
        raise UsageError(
            f"{path} is not a tree ({error}): mend it, or restore the plan with `workbench show {run_id}`"
        ) from None
    if tree.to_json() == state.tree.to_json():
        return False

    # Checked inside the append's transaction: another process may resume the run after it was read above.
    def unchanged(events: list[StoredEvent]) -> None:
        if events[-1].seq != state.seq:
            raise EditConflict(f"run {run_id} went on meanwhile: try again")

    store.append(run_id, ev.TreeEdited(tree=put_tree(store, tree), base_seq=state.seq), guard=unchanged)
    return True


def edit_plan(store: Store, run_id: str, edits: Sequence[Edit]) -> None:
    """Make edits of the shape and the words of a planned tree part of the plan, so that they are what is grounded.

    Raises
    ------
    UsageError
        The run is past its plan, or an edit does not fit the tree.
    """
    with store.transaction():
        state = load_state(store, run_id)
        if state.phase != "planned":
            raise UsageError(
                f"run {run_id} is {state.phase}: only a plan that nothing was done on can be changed"
            )
        tree = play(state.tree, edits).tree
        store.append(run_id, ev.TreeEdited(tree=put_tree(store, tree), base_seq=state.seq))
        # Else `resume` would take the file of the plan as it was for a person's change of this one.
        write_atomically(store.folder(run_id) / "tree.json", tree.to_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRequest:
    """The edits of one call, of every kind; the command line and the Python API each fill one.

    Parameters
    ----------
    values : mapping
        Probability in [0, 1] by node; an inner node is pinned at it. ``PA`` and ``P2.PA`` are the assumptions of the logic
        rules of the claim and of P2.
    adds : sequence of AddChild
        New propositions; each gets the number after the last of its siblings, removed or not.
    removes, pins, unpins : sequence of str
        Nodes to leave out with what is below, to hold at the value they have, to give back to the model.
    restatements : mapping
        Other words by node; ``same_meaning`` keeps the values.
    weights : mapping
        Weight in [-1, 1] by node, in the rule of its parent, which must be one with weights.
    rules : mapping
        Rule as JSON by inner node.
    polarities : mapping
        Whether a node speaks for or against its parent, whose rule is turned where it says otherwise.
    reports : mapping
        Key factor and report by node, in place of what its grounding or synthesis said.
    """

    values: Mapping[NodeId, float] = field(default_factory=dict)
    adds: Sequence[AddChild] = ()
    removes: Sequence[NodeId] = ()
    pins: Sequence[NodeId] = ()
    unpins: Sequence[NodeId] = ()
    restatements: Mapping[NodeId, str] = field(default_factory=dict)
    same_meaning: bool = False
    weights: Mapping[NodeId, float] = field(default_factory=dict)
    rules: Mapping[NodeId, Mapping[str, Any]] = field(default_factory=dict)
    reports: Mapping[NodeId, tuple[str, str]] = field(default_factory=dict)
    polarities: Mapping[NodeId, Polarity] = field(default_factory=dict)

    def edits(self, tree: Tree, override: Override | None = None) -> tuple[Edit, ...]:
        """Return the edits in the order in which they are made: unpin, restate, add, remove, polarity, report, rule,
        weight, pin, set.

        So a pin holds the value of before the settings, and an added proposition can be given a weight and a value by the
        same call. ``tree`` is the one they are made on, for the rules that weights stand in.

        Raises
        ------
        UsageError
            A value or weight out of its range, or a rule that does not fit its node.
        """
        shape: tuple[Edit, ...] = (
            *(Unpin(node=node) for node in self.unpins),
            *(
                Restate(node=node, statement=text, keep_belief=self.same_meaning)
                for node, text in self.restatements.items()
            ),
            *self.adds,
            *(RemoveNode(node=node) for node in self.removes),
            *(SetPolarity(node=node, polarity=polarity) for node, polarity in self.polarities.items()),
            *(
                SetReport(node=node, key_factor=key_factor, report=report)
                for node, (key_factor, report) in self.reports.items()
            ),
        )
        assumed = {node: p for name, p in self.values.items() if (node := assumed_by(name)) is not None}
        rules: tuple[Edit, ...] = ()
        if self.rules or self.weights or assumed:
            rules = _rule_edits(play(tree, shape).tree, self.rules, self.weights, assumed)
        return (
            *shape,
            *rules,
            *(Pin(node=node) for node in self.pins),
            *(
                SetValue(node=node, p=p, override=override)
                for node, p in self.values.items()
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
            raise UsageError(f"{node} is a leaf: a rule needs children")
        changed[node] = dict(data)
    for node, weight in weights.items():
        parent = tree.parent(node)
        if parent is None:
            raise UsageError("the root has no weight: it stands in no rule")
        rule = tree[parent].rule
        data = changed.setdefault(parent, rule.to_json() if rule is not None else {})
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
        if not isinstance(weight, int | float) or not -1.0 <= weight <= 1.0:
            raise UsageError(f"a weight is a number from -1 to 1; for {node} it is {weight!r:.40}")
        data[place] = {**data[place], node: float(weight)}
    for node, p in assumed.items():
        rule = tree[node].rule
        changed[node] = assume(changed.get(node, rule.to_json() if rule is not None else {}), node, p)
    for node, data in changed.items():
        rule = rule_from_json(data)
        children = tree[node].children
        if not rule.numeric:
            raise UsageError(f"a {rule.name} rule has no formula to compute {node} by: give one that has")
        rule.validate(children, tree[node].polarities, _PERSON)
        stray = [child for child in rule.named_children() if child not in children]
        if stray:
            raise UsageError(
                f"the rule of {node} names {', '.join(stray)}; its children are {', '.join(children)}"
            )
    return tuple(SetRule(node=node, rule=data) for node, data in changed.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class EditTexts:
    """Edits as a person types them on the command line; :meth:`request` reads them."""

    settings: Sequence[str] = ()
    adds: Sequence[str] = ()
    removes: Sequence[str] = ()
    pins: Sequence[str] = ()
    unpins: Sequence[str] = ()
    restatements: Sequence[str] = ()
    same_meaning: bool = False
    weights: Sequence[str] = ()
    rules: Sequence[str] = ()
    polarities: Sequence[str] = ()

    def request(self) -> EditRequest:
        """Return the edits; raises ``UsageError`` for one that cannot be read."""
        return EditRequest(
            values=_numbers("--set", self.settings, low=0.0, example="P2.1=0.25 or P2.1=25%"),
            adds=[_added(pair) for pair in self.adds],
            removes=[node.strip() for node in self.removes],
            pins=[node.strip() for node in self.pins],
            unpins=[node.strip() for node in self.unpins],
            restatements=_once(
                "--restate", [_named("--restate", pair, "NODE=TEXT") for pair in self.restatements]
            ),
            same_meaning=self.same_meaning,
            weights=_numbers("--weight", self.weights, low=-1.0, example="P2.1=0.4"),
            rules=_once("--rule", [_ruled(pair) for pair in self.rules]),
            polarities=_once("--polarity", [_sided(pair) for pair in self.polarities]),
        )


def _numbers(option: str, pairs: Sequence[str], *, low: float, example: str) -> dict[NodeId, float]:
    read = []
    for pair in pairs:
        node, equals, text = pair.partition("=")
        percentage = low == 0.0 and text.strip().endswith("%")
        try:
            value = float(text.strip().removesuffix("%") if percentage else text) / (100 if percentage else 1)
        except ValueError:
            value = float("nan")
        # NaN fails the range check, so text that is no number and a typed "nan" are refused by the same line.
        if not equals or not node.strip() or not low <= value <= 1.0:
            what = (
                "P with a probability between 0 and 1" if low == 0.0 else "W with a weight between -1 and 1"
            )
            raise UsageError(f"{option} {pair!r}: write NODE={what}, for example {example}")
        read.append((node.strip(), value))
    return _once(option, read)


def _once(option: str, pairs: Sequence[tuple[NodeId, T]]) -> dict[NodeId, T]:
    nodes = [node for node, _ in pairs]
    for node in nodes:
        if nodes.count(node) > 1:
            raise UsageError(f"{option} names {node} twice")
    return dict(pairs)


def _ruled(pair: str) -> tuple[NodeId, dict[str, Any]]:
    form = 'NODE=JSON, for example P0=\'{"name": "linear", "intercept": 0.1, "weights": {"P1": 0.5}}\''
    node, text = _named("--rule", pair, form)
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"--rule {node}: no JSON ({error}): write {form}") from None
    if not isinstance(data, dict):
        raise UsageError(f"--rule {node}: a rule is a JSON object: write {form}")
    return node, data


def _sided(pair: str) -> tuple[NodeId, Polarity]:
    form = "NODE=Positive or NODE=Negative"
    node, word = _named("--polarity", pair, form)
    if word.capitalize() not in set(Polarity):
        raise UsageError(f"--polarity {pair!r}: write {form}")
    return node, Polarity(word.capitalize())


def _named(option: str, pair: str, form: str) -> tuple[str, str]:
    node, _, text = pair.partition("=")
    if not node.strip() or not text.strip():
        raise UsageError(f"{option} {pair!r}: write {form}")
    return node.strip(), text.strip()


def _added(pair: str) -> AddChild:
    form = 'PARENT=STATEMENT, or "PARENT, Negative=STATEMENT" (or Positive) to say how it bears on the parent'
    parent, text = _named("--add", pair, form)
    node, comma, word = (part.strip() for part in parent.partition(","))
    if not comma:
        return AddChild(node=node, statement=text)
    if not node or word.capitalize() not in set(Polarity):
        raise UsageError(f"--add {pair!r}: write {form}")
    return AddChild(node=node, statement=text, polarity=Polarity(word.capitalize()))


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
            raise UsageError(f"--expires {expires} is over already: name a time to come")
        until = instant.isoformat()
    if not author:
        raise UsageError("a value with a reason or an expiry needs somebody who answers for it: add --author")
    return Override(author=author, reason=reason, at=now, expires=until)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfResult:
    """What edits do to a run; ``after`` is None where a node on the path has no function to evaluate.

    ``asked_again`` is what a full resynthesis brought, children before parents; None for a what-if that asks no model.
    """

    whatif: WhatIf
    model_calls: int
    asked_again: tuple[RuleChange, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document of ``workbench whatif``."""
        document = {
            **self.whatif.to_json(),
            "overrides": override_rows(self.whatif.tree),
            "model_calls": self.model_calls,
        }
        if self.asked_again is not None:
            document["asked_again"] = [change.to_json() for change in self.asked_again]
        return document

    @property
    def answer_edits(self) -> tuple[Edit, ...]:
        """The edits that keep what the synthesizer said, its words and its rules; none where it was not asked."""
        return kept_edits(self.asked_again or ())

    @property
    def valueless(self) -> tuple[NodeId, ...]:
        """Leaves of the edited tree without a value that still holds: added ones, and those with other words."""
        return without_value(self.whatif.tree)


def without_value(tree: Tree) -> tuple[NodeId, ...]:
    """Return the leaves without a value, or with one that belongs to an earlier wording."""
    return tuple(leaf for leaf in tree.leaves() if tree[leaf].p is None)


def require_grounded(state: RunState) -> None:
    """Raise ``UsageError`` unless the run's root has a probability and all that it needs is installed."""
    state.require_installed()
    if state.tree.root.belief is None:
        state.require_model()  # of a tree file, `resume` would be the wrong advice
        raise UsageError(
            f"run {state.run_id} has no root probability yet: `workbench resume {state.run_id}` first"
        )


def what_if(state: RunState, edits: Sequence[Edit], *, now: str | None = None) -> WhatIfResult:
    """Recompute the ancestors of the edited nodes with the stored rules; no model is asked.

    With ``now`` (ISO 8601 with an offset) overrides that have expired by then are undone.
    """
    require_grounded(state)
    return WhatIfResult(whatif=play_until(state.tree, edits, now), model_calls=0)


def edits_on(
    state: RunState, request: EditRequest, scenario: str | None = None, override: Override | None = None
) -> tuple[tuple[Edit, ...], tuple[Edit, ...]]:
    """Return all edits to play and those among them that are new: the call's, on top of what its scenario holds already.

    Raises ``UsageError`` if nothing is edited, or an edit does not fit.
    """
    require_grounded(state)
    known = state.scenarios.scenarios.get(scenario) if scenario is not None else None
    held = tuple(known.edits) if known is not None else ()
    fresh = request.edits(play(state.tree, held).tree if held else state.tree, override)
    if not fresh and known is None:
        raise UsageError(
            "nothing is changed: set, add, remove, pin, unpin, restate, turn or weigh a proposition, or give it a rule"
        )
    return (*held, *fresh), fresh
