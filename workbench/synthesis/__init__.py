"""How a proposition's soft truth value follows from its children's, and what that implies: pure functions of a tree."""

from workbench.synthesis.ablations import AverageRule, RandomRule, average_rule, random_rule
from workbench.synthesis.bayes_net import BayesNet, Variable, bayes_net
from workbench.synthesis.coherence import (
    Finding,
    Nested,
    check_exclusive,
    check_forecasts,
    check_nested,
    check_tree,
)
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
from workbench.synthesis.information import InformationRow, ground_next, value_of_information
from workbench.synthesis.linear import INTERCEPT_MAX, LinearRule, check_unit
from workbench.synthesis.logic import Assumption, LogicRule
from workbench.synthesis.noise import inject_noise, noisy_values
from workbench.synthesis.noisy_or import NoisyOrRule
from workbench.synthesis.normalise import greatest_gap, strict
from workbench.synthesis.paths import Swing, TornadoRow, path_weights, swings, tornado
from workbench.synthesis.ranges import reachable_ranges
from workbench.synthesis.refits import RefitSpread, refit_spread, weight_uncertainty
from workbench.synthesis.registry import checked_value, rule_from_json, rule_names, tree_from_json
from workbench.synthesis.resynthesis import Change, WhatIf, refresh, resynthesize
from workbench.synthesis.scenarios import (
    FullPlan,
    Mixture,
    compare,
    expire_overrides,
    full_plan,
    mix,
    play,
    scenario_tree,
)
from workbench.synthesis.uncertainty import (
    RootUncertainty,
    root_uncertainty,
    source_correlation,
    trial_moments,
)
from workbench.synthesis.vanilla import VanillaRule

__all__ = [
    "INTERCEPT_MAX",
    "Assumption",
    "AverageRule",
    "BayesNet",
    "Change",
    "Evaluation",
    "Export",
    "Finding",
    "FormulaError",
    "FullPlan",
    "InformationRow",
    "InterceptTooLarge",
    "LinearRule",
    "LogicRule",
    "MissingWeight",
    "Mixture",
    "Nested",
    "NoFunction",
    "NoisyOrRule",
    "NotRepresentable",
    "OutOfUnitInterval",
    "PolarityConflict",
    "RandomRule",
    "RefitSpread",
    "RootUncertainty",
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
    "check_exclusive",
    "check_forecasts",
    "check_nested",
    "check_tree",
    "check_unit",
    "checked_value",
    "compare",
    "evaluate",
    "expire_overrides",
    "export_tree",
    "full_plan",
    "greatest_gap",
    "ground_next",
    "import_tree",
    "inject_noise",
    "mix",
    "noisy_values",
    "path_weights",
    "play",
    "random_rule",
    "reachable_ranges",
    "refit_spread",
    "refresh",
    "resynthesize",
    "root_uncertainty",
    "rule_from_json",
    "rule_names",
    "scenario_tree",
    "settle",
    "source_correlation",
    "strict",
    "swings",
    "tornado",
    "tree_from_json",
    "trial_moments",
    "value_of_information",
    "weight_uncertainty",
]
