"""How a proposition's soft truth value follows from its children's, and what that implies: pure functions of a tree."""

from workbench.synthesis.ablations import AverageRule, RandomRule, average_rule, random_rule
from workbench.synthesis.bayes_net import BayesNet, Variable, bayes_net
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
from workbench.synthesis.evaluation import Evaluation, evaluate, settle
from workbench.synthesis.export import Export, export_tree, import_tree
from workbench.synthesis.linear import INTERCEPT_MAX, LinearRule, check_unit
from workbench.synthesis.logic import Assumption, LogicRule
from workbench.synthesis.noisy_or import NoisyOrRule
from workbench.synthesis.normalise import greatest_gap, strict
from workbench.synthesis.paths import Swing, TornadoRow, path_weights, swings, tornado
from workbench.synthesis.registry import checked_value, rule_from_json, rule_names, tree_from_json
from workbench.synthesis.resynthesis import Change, WhatIf, refresh, resynthesize
from workbench.synthesis.vanilla import VanillaRule

__all__ = [
    "INTERCEPT_MAX",
    "Assumption",
    "AverageRule",
    "BayesNet",
    "Change",
    "Evaluation",
    "Export",
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
    "RandomRule",
    "RuleError",
    "RuleFormatError",
    "SensitivityError",
    "Swing",
    "TornadoRow",
    "UnknownChild",
    "UnknownRule",
    "VanillaRule",
    "Variable",
    "WeightOutOfRange",
    "WhatIf",
    "average_rule",
    "bayes_net",
    "check_unit",
    "checked_value",
    "evaluate",
    "export_tree",
    "greatest_gap",
    "import_tree",
    "path_weights",
    "random_rule",
    "refresh",
    "resynthesize",
    "rule_from_json",
    "rule_names",
    "settle",
    "strict",
    "swings",
    "tornado",
    "tree_from_json",
]
