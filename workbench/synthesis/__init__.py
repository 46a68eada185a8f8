"""Rules that combine a proposition's children into its soft truth value, and their consequences: pure functions of a tree.

Here are the rules, their errors, and what edits do to a tree. Formats, coherence and sensitivity are in rooms of their own, since
a list of runs needs none of them.
"""

from workbench.propositions import Rule, RuleLimits
from workbench.synthesis.errors import (
    FormulaError,
    InterceptTooLarge,
    MissingWeight,
    NoFunction,
    NotRepresentable,
    OutOfUnitInterval,
    PolarityConflict,
    RuleError,
    RuleFormatError,
    SensitivityError,
    UnknownChild,
    UnknownRule,
    WeightOutOfRange,
)
from workbench.synthesis.rules.ablations import AverageRule, RandomRule, average_rule, random_rule
from workbench.synthesis.rules.linear import LinearRule
from workbench.synthesis.rules.logic import Assumption, LogicRule
from workbench.synthesis.rules.noisy_or import NoisyOrRule
from workbench.synthesis.rules.pooled import PooledRule
from workbench.synthesis.rules.rule_registry import (
    UninstalledRule,
    checked_value,
    rule_from_json,
    rule_names,
    tree_from_json,
)
from workbench.synthesis.rules.vanilla import VanillaRule
from workbench.synthesis.whatif.edits import WhatIf, play, resynthesize
from workbench.synthesis.whatif.evaluation import evaluate, settle

__all__ = [
    "Assumption",
    "AverageRule",
    "FormulaError",
    "InterceptTooLarge",
    "LinearRule",
    "LogicRule",
    "MissingWeight",
    "NoFunction",
    "NoisyOrRule",
    "NotRepresentable",
    "OutOfUnitInterval",
    "PolarityConflict",
    "PooledRule",
    "RandomRule",
    "Rule",
    "RuleError",
    "RuleFormatError",
    "RuleLimits",
    "SensitivityError",
    "UninstalledRule",
    "UnknownChild",
    "UnknownRule",
    "VanillaRule",
    "WeightOutOfRange",
    "WhatIf",
    "average_rule",
    "checked_value",
    "evaluate",
    "play",
    "random_rule",
    "resynthesize",
    "rule_from_json",
    "rule_names",
    "settle",
    "tree_from_json",
]
