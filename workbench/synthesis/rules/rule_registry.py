"""Rules by name: built-in ones and those of other packages come through the same entry points, so nothing is special.

A package adds a rule with an entry point in the group ``analyst_workbench.rules``: its name is the rule's, its value the
class, which derives from ``workbench.synthesis.Rule``. docs/use/what-if.md shows one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NoReturn

from workbench.errors import UsageError
from workbench.formatting import single_line
from workbench.plug_points import RULES, AmbiguousPlugin, UnknownPlugin, load_plugin, package_of, plugin_names
from workbench.propositions import NodeId, Polarity, Rule, RuleLimits, Tree, TreeError
from workbench.synthesis.errors import RuleFormatError, UnknownChild, UnknownRule
from workbench.synthesis.rules.linear import INTERCEPT_MAX, check_unit

# A stored package name ends up in a command that people paste, so nothing but a package's name may pass.
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")

# Loading an entry point reads the metadata of every installed package (20 ms), reading a tree asks for thousands of rules.
# Only what was loaded stays here: a package that is installed meanwhile is seen at the next unknown name.
_loaded: dict[str, type[Rule]] = {}


def rule_names() -> tuple[str, ...]:
    """Return the names of the installed rules, sorted."""
    return plugin_names(RULES)


def rule_class(name: str) -> type[Rule]:
    """Return the class of an installed rule; an agent may ask before it builds one.

    Raises `UnknownRule`: None of this name is installed, or its package does not load. The message says what there is.
    """
    if name not in _loaded:
        _loaded[name] = _load(name)
    return _loaded[name]


def rule_from_json(data: Mapping[str, Any], *, missing: Literal["refuse", "keep"] = "refuse") -> Rule:
    """Read a rule as ``Rule.to_json`` writes it.

    Only the shape is checked here; whether it fits its node is for :func:`checked_value`.

    `missing`: What to do with a rule that is not installed: refuse, or give an :class:`UninstalledRule`, with which a stored run can be
    read and shown but not computed.

    Raises `UnknownRule`: No such rule is installed; the message names it and lists those there are. Raises `RuleFormatError`: A key
    missing, unknown, or of the wrong kind. Raises `RuleError`: Whatever the rule itself refuses: a weight out of its range, a formula that
    does not parse.

    >>> rule_from_json({"name": "linear", "intercept": 0, "weights": {"P1": 0.5}})
    LinearRule(intercept=0.0, weights={'P1': 0.5}, semantics='free')
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
        raise RuleFormatError("a rule is a JSON object with a name")
    name = data["name"]
    try:
        kind = rule_class(name)
    except UnknownRule as error:
        package = data.get("package")
        if isinstance(package, str) and _PACKAGE.fullmatch(package):
            error = UnknownRule(f"{error}; it comes with the package {package}: pip install {package}")
        if missing == "keep":
            return UninstalledRule(data, str(error))
        raise error from None
    try:
        return kind.from_json(data)
    except UnknownRule as error:  # of a rule that holds another one
        if missing == "keep":
            return UninstalledRule(data, str(error))
        raise
    except UsageError as error:
        # what pydantic and the tree's own checks call a format error is the rule's here
        raise (RuleFormatError(str(error)) if isinstance(error, TreeError) else error) from None
    except Exception as error:  # a stranger's from_json may raise anything; one run must not take others down
        raise RuleFormatError(
            single_line(f"the rule {name!r} cannot be read: {_error_words(error)}")
        ) from error


def tree_from_json(data: Mapping[str, Any], *, missing: Literal["refuse", "keep"] = "refuse") -> Tree:
    """Read a stored tree with its rules; ``missing`` as in :func:`rule_from_json`."""
    return Tree.from_json(data, rule_from_json=partial(rule_from_json, missing=missing))


@dataclass(frozen=True, slots=True)
class UninstalledRule(Rule):
    """A stored rule whose package is not installed: its JSON stays as it is, its node keeps the stored value.

    Nothing can be computed with it, and every attempt says why. Reading a run with ``missing="keep"`` gives these.
    """

    data: Mapping[str, Any]
    problem: str

    @property
    def name(self) -> str:
        """The stored name."""
        return str(self.data["name"])

    @property
    def numeric(self) -> bool:
        """False: there may be a function, but not in this installation."""
        return False

    def named_children(self) -> tuple[NodeId, ...]:
        """Return none: nobody can tell."""
        return ()

    def to_json(self) -> dict[str, Any]:
        """Return the stored JSON, untouched."""
        return dict(self.data)

    def equation(self) -> str:
        """Say that the rule is not installed."""
        return f"the rule {self.name} is not installed"

    def evaluate(self, p: Mapping[NodeId, float]) -> NoReturn:
        """Raise UnknownRule."""
        raise UnknownRule(self.problem)

    def derivative(self, p: Mapping[NodeId, float]) -> NoReturn:
        """Raise UnknownRule."""
        raise UnknownRule(self.problem)

    def without(self, child: NodeId) -> NoReturn:
        """Raise UnknownRule: which coefficients would go is not known."""
        raise UnknownRule(self.problem)

    def with_child(self, child: NodeId) -> NoReturn:
        """Raise UnknownRule."""
        raise UnknownRule(self.problem)

    def table_problem(self) -> str:
        """Say why it cannot be exported as a table."""
        return f"cannot be computed: {self.problem}"


def checked_value(
    rule: Rule,
    children: Sequence[NodeId],
    polarities: Mapping[NodeId, Polarity],
    p: Mapping[NodeId, float],
    *,
    intercept_max: float = INTERCEPT_MAX,
    require_pa: bool = False,
) -> float | None:
    """Compute the node's value by a rule that is checked against its node; None for a rule without a function.

    The synthesizers call this with a model's rule; the message of an error can go back to the model as it is.

    Raises `RuleError`: Of the kind that fits.
    """
    rule.validate(children, polarities, RuleLimits(intercept_max=intercept_max, require_pa=require_pa))
    # For every rule, because the default validate() of another package's rule checks nothing.
    if unknown := rule.unknown_children(children):
        raise UnknownChild(f"the rule names {', '.join(unknown)}; the children are {', '.join(children)}")
    return check_unit(rule.evaluate(p)) if rule.numeric else None


def _load(name: str) -> type[Rule]:
    try:
        kind = load_plugin(RULES, name)
    except UnknownPlugin:
        raise UnknownRule(
            f"no rule named {name[:60]!r} is installed; there are {', '.join(rule_names()) or 'none'}"
        ) from None
    except AmbiguousPlugin as error:
        raise UnknownRule(str(error)) from None
    except Exception as error:  # importing a stranger's module may raise anything
        raise UnknownRule(
            single_line(
                f"the rule {name!r} of the package {package_of(RULES, name)} does not load: {_error_words(error)}"
            )
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, Rule)):
        raise UnknownRule(
            f"the rule {name!r} of the package {package_of(RULES, name)} is no class derived from Rule"
        )
    return kind


def _error_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
