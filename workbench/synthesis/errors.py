"""What can be wrong with a synthesis rule or a question put to it; all of it the caller's (or the model's) mistake.

RuleError(UsageError, ValueError)
├── RuleFormatError       a stored or stated rule that cannot be read; UnknownRule where its name is not known
├── InterceptTooLarge     |intercept| above its bound
├── WeightOutOfRange      a coefficient outside its range
├── PolarityConflict      a weight whose sign contradicts the child's polarity
├── MissingWeight         a child without a weight, or a formula that leaves a child out
├── UnknownChild          a weight or a variable for something that is not a child
├── OutOfUnitInterval     a value at creation that leaves [0, 1]
├── FormulaError          a formula that does not parse; the message shows where
├── NoFunction            a rule that cannot be evaluated (vanilla), asked for a number
├── NotRepresentable      a tree that is no Bayes net as it stands; the message names the way out
└── SensitivityError      an analysis that the tree or its inputs do not allow
"""

from __future__ import annotations

from workbench.errors import UsageError


class RuleError(UsageError, ValueError):
    """Something about a rule is not as it must be."""


class RuleFormatError(RuleError):
    """A rule that cannot be read."""


class UnknownRule(RuleFormatError):
    """No rule of this name."""


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
    """A rule without a function, asked for a number."""


class NotRepresentable(RuleError):
    """A tree that cannot be written in the asked form without changing it."""


class SensitivityError(RuleError):
    """An analysis that the tree or its inputs do not allow."""
