"""Errors of rules and analyses: each is the caller's or the model's mistake, and its one line says how to mend it.

RuleError(UsageError, ValueError)
├── RuleFormatError       a stored or stated rule that cannot be read; UnknownRule if none of its name is installed
├── InterceptTooLarge     |intercept| above its bound
├── WeightOutOfRange      a coefficient outside its range
├── PolarityConflict      a weight whose sign contradicts the child's polarity
├── MissingWeight         a child without a weight, or a formula that leaves a child out
├── UnknownChild          a weight or a variable for something that is not a child
├── OutOfUnitInterval     a value at creation that leaves [0, 1]
├── FormulaError          a formula that does not parse; the message shows where
├── NoFunction            a number is wanted from a rule that cannot be evaluated (vanilla)
├── NotRepresentable      a tree that is no Bayes net as it stands; the message names the way out
└── SensitivityError      an analysis that the tree or its inputs do not allow
"""

from __future__ import annotations

from workbench.errors import UsageError


class RuleError(UsageError, ValueError):
    """The base of this room's errors: agents send the line back to the model, the command line prints it."""


class RuleFormatError(RuleError):
    """A rule that cannot be read."""


class UnknownRule(RuleFormatError):
    """No rule of this name is installed, or its package does not load."""


class InterceptTooLarge(RuleError):
    """The intercept outweighs what the children are meant to say."""


class WeightOutOfRange(RuleError):
    """A coefficient outside its range."""


class PolarityConflict(RuleError):
    """A weight that contradicts the stated polarity."""


class MissingWeight(RuleError):
    """A child that the rule leaves out."""


class UnknownChild(RuleError):
    """A coefficient or variable for something that is not a child."""


class OutOfUnitInterval(RuleError):
    """A value outside [0, 1] at creation."""


class FormulaError(RuleError):
    """A formula that does not parse."""


class NoFunction(RuleError):
    """A number is wanted from a rule without a function."""


class NotRepresentable(RuleError):
    """A tree that an export format cannot hold without a change; the line names the option that allows it."""


class SensitivityError(RuleError):
    """An analysis that the tree or its inputs do not allow."""
