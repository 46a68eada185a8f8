"""Rules that combine a proposition's children into its soft truth value, and their consequences: pure functions of a tree."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.propositions import Rule, RuleLimits
    from workbench.synthesis.coherence.findings import (
        Finding,
        NestedClaims,
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
    from workbench.synthesis.exchange.bayes_net import BayesNet, Variable, bayes_net
    from workbench.synthesis.exchange.tree_formats import Export, export_tree, import_tree
    from workbench.synthesis.rules.ablations import AverageRule, RandomRule, average_rule, random_rule
    from workbench.synthesis.rules.linear import INTERCEPT_MAX, LinearRule, check_unit, greatest_gap, strict
    from workbench.synthesis.rules.logic import Assumption, LogicRule
    from workbench.synthesis.rules.noisy_or import NoisyOrRule
    from workbench.synthesis.rules.pooled import PooledRule
    from workbench.synthesis.rules.rule_registry import (
        UninstalledRule,
        checked_value,
        rule_class,
        rule_from_json,
        rule_names,
        tree_from_json,
    )
    from workbench.synthesis.rules.vanilla import VanillaRule
    from workbench.synthesis.sensitivity.information import InformationRow, ground_next, value_of_information
    from workbench.synthesis.sensitivity.leaf_noise import inject_noise, noisy_values
    from workbench.synthesis.sensitivity.paths import Swing, TornadoRow, path_weights, swings, tornado
    from workbench.synthesis.sensitivity.rule_refits import RefitSpread, refit_spread, weight_uncertainty
    from workbench.synthesis.sensitivity.uncertainty import (
        RootUncertainty,
        root_uncertainty,
        source_correlation,
        trial_moments,
    )
    from workbench.synthesis.whatif.apply_edits import FullPlan, full_plan, play, play_until, scenario_tree
    from workbench.synthesis.whatif.compare_scenarios import Mixture, compare, mix
    from workbench.synthesis.whatif.evaluation import Evaluation, evaluate, settle
    from workbench.synthesis.whatif.ranges import reachable_ranges
    from workbench.synthesis.whatif.resynthesis import Change, WhatIf, refresh, resynthesize

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
    "NestedClaims",
    "NoFunction",
    "NoisyOrRule",
    "NotRepresentable",
    "OutOfUnitInterval",
    "PolarityConflict",
    "PooledRule",
    "RandomRule",
    "RefitSpread",
    "RootUncertainty",
    "Rule",
    "RuleError",
    "RuleFormatError",
    "RuleLimits",
    "SensitivityError",
    "Swing",
    "TornadoRow",
    "UninstalledRule",
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
    "play_until",
    "random_rule",
    "reachable_ranges",
    "refit_spread",
    "refresh",
    "resynthesize",
    "root_uncertainty",
    "rule_class",
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

_HOMES = {
    "workbench.propositions": ["Rule", "RuleLimits"],
    "workbench.synthesis.coherence.findings": [
        "Finding",
        "NestedClaims",
        "check_exclusive",
        "check_forecasts",
        "check_nested",
        "check_tree",
    ],
    "workbench.synthesis.errors": [
        "FormulaError",
        "InterceptTooLarge",
        "MissingWeight",
        "NoFunction",
        "NotRepresentable",
        "OutOfUnitInterval",
        "PolarityConflict",
        "RuleError",
        "RuleFormatError",
        "SensitivityError",
        "UnknownChild",
        "UnknownRule",
        "WeightOutOfRange",
    ],
    "workbench.synthesis.exchange.bayes_net": ["BayesNet", "Variable", "bayes_net"],
    "workbench.synthesis.exchange.tree_formats": ["Export", "export_tree", "import_tree"],
    "workbench.synthesis.rules.ablations": ["AverageRule", "RandomRule", "average_rule", "random_rule"],
    "workbench.synthesis.rules.linear": [
        "INTERCEPT_MAX",
        "LinearRule",
        "check_unit",
        "greatest_gap",
        "strict",
    ],
    "workbench.synthesis.rules.logic": ["Assumption", "LogicRule"],
    "workbench.synthesis.rules.noisy_or": ["NoisyOrRule"],
    "workbench.synthesis.rules.pooled": ["PooledRule"],
    "workbench.synthesis.rules.rule_registry": [
        "UninstalledRule",
        "checked_value",
        "rule_class",
        "rule_from_json",
        "rule_names",
        "tree_from_json",
    ],
    "workbench.synthesis.rules.vanilla": ["VanillaRule"],
    "workbench.synthesis.sensitivity.information": ["InformationRow", "ground_next", "value_of_information"],
    "workbench.synthesis.sensitivity.leaf_noise": ["inject_noise", "noisy_values"],
    "workbench.synthesis.sensitivity.paths": ["Swing", "TornadoRow", "path_weights", "swings", "tornado"],
    "workbench.synthesis.sensitivity.rule_refits": ["RefitSpread", "refit_spread", "weight_uncertainty"],
    "workbench.synthesis.sensitivity.uncertainty": [
        "RootUncertainty",
        "root_uncertainty",
        "source_correlation",
        "trial_moments",
    ],
    "workbench.synthesis.whatif.apply_edits": [
        "FullPlan",
        "full_plan",
        "play",
        "play_until",
        "scenario_tree",
    ],
    "workbench.synthesis.whatif.compare_scenarios": ["Mixture", "compare", "mix"],
    "workbench.synthesis.whatif.evaluation": ["Evaluation", "evaluate", "settle"],
    "workbench.synthesis.whatif.ranges": ["reachable_ranges"],
    "workbench.synthesis.whatif.resynthesis": ["Change", "WhatIf", "refresh", "resynthesize"],
}


def __getattr__(name: str) -> Any:
    # Lazy: a list of runs needs one rule of all this, and no analysis.
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
