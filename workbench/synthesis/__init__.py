"""How a proposition's soft truth value follows from its children's, and what that implies: pure functions of a tree."""

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
from workbench.synthesis.linear import INTERCEPT_MAX, LinearRule, check_unit
from workbench.synthesis.paths import Swing, TornadoRow, path_weights, swings, tornado
from workbench.synthesis.registry import rule_from_json, rule_names, tree_from_json
from workbench.synthesis.resynthesis import Change, WhatIf, refresh, resynthesize

__all__ = [
    "INTERCEPT_MAX",
    "Change",
    "Evaluation",
    "FormulaError",
    "InterceptTooLarge",
    "LinearRule",
    "MissingWeight",
    "NoFunction",
    "NotRepresentable",
    "OutOfUnitInterval",
    "PolarityConflict",
    "RuleError",
    "RuleFormatError",
    "SensitivityError",
    "Swing",
    "TornadoRow",
    "UnknownChild",
    "UnknownRule",
    "WeightOutOfRange",
    "WhatIf",
    "check_unit",
    "evaluate",
    "path_weights",
    "refresh",
    "resynthesize",
    "rule_from_json",
    "rule_names",
    "settle",
    "swings",
    "tornado",
    "tree_from_json",
]
