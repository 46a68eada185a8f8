"""Two trees of the net: what the scripted model answers, and one that is imported, with a node of every rule."""

from typing import Any

SP500 = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"

PLAN = {
    "P0": {
        "P1": ("The S&P 500 closes above 2700 on 2018-09-28", "Positive"),
        "P2": ("The VIX closes above 20 on 2018-12-31", "Negative"),
    },
    "P1": {
        "P1.1": ("The S&P 500 closes above 2650 on 2018-08-31", "Positive"),
        "P1.2": ("The NASDAQ Composite closes above 7300 on 2018-09-28", "Positive"),
    },
}


def _node(node: str, p: float | None = None, rule: dict[str, Any] | None = None) -> dict[str, Any]:
    belief = None if p is None else {"p": p, "key_factor": f"key of {node}", "report": f"Report on {node}."}
    return {"id": node, "statement": f"Proposition {node} comes true", "belief": belief, "rule": rule}


#: The p of the inner nodes are recomputed by hand: 1 - 0.95 x 0.8 x 0.55 = 0.582, spared 1 - 0.2 x 0.3; and so on.
NOISY_OR = (1 - (1 - 0.05) * (1 - 0.5 * 0.4) * (1 - 0.5 * 0.9)) * (1 - 0.2 * 0.3)
LOGIC = 1 - (1 - 0.7 * (1 - 0.2)) * (1 - 0.25)
AVERAGE = (0.6 + 0.1) / 2
RANDOM = 0.375 * 0.8 + 0.625 * 0.5
STRICT = 0.1 + 0.4 * 0.9 + 0.5 * 0.2
RULES: dict[str, Any] = {
    "nodes": [
        _node(
            "P0",
            0.1 * NOISY_OR + 0.2 * LOGIC + 0.2 * AVERAGE + 0.2 * RANDOM + 0.1 * STRICT + 0.2 * 0.55,
            {
                "name": "linear",
                "intercept": 0.0,
                "weights": {"P1": 0.1, "P2": 0.2, "P3": 0.2, "P4": 0.2, "P5": 0.1, "P6": 0.2},
            },
        ),
        _node(
            "P1",
            NOISY_OR,
            {
                "name": "noisy-or",
                "leak": 0.05,
                "weights": {"P1.1": 0.5, "P1.2": 0.5},
                "inhibitors": {"P1.3": 0.2},
            },
        ),
        _node("P1.1", 0.4),
        _node("P1.2", 0.9),
        _node("P1.3", 0.3),
        _node(
            "P2",
            LOGIC,
            {
                "name": "logic",
                "formula": "(P2.1 AND NOT P2.2) OR PA",
                "assumption": {"detail": "what the children leave out", "probability": 0.25},
            },
        ),
        _node("P2.1", 0.7),
        _node("P2.2", 0.2),
        _node("P3", AVERAGE, {"name": "average", "children": ["P3.1", "P3.2"], "negated": ["P3.2"]}),
        _node("P3.1", 0.6),
        _node("P3.2", 0.9),
        _node("P4", RANDOM, {"name": "random", "weights": {"P4.1": 0.375, "P4.2": 0.625}, "seed": 7}),
        _node("P4.1", 0.8),
        _node("P4.2", 0.5),
        _node(
            "P5",
            STRICT,
            {
                "name": "linear",
                "intercept": 0.1,
                "weights": {"P5.1": 0.4, "P5.2": 0.5},
                "semantics": "strict",
            },
        ),
        _node("P5.1", 0.9),
        _node("P5.2", 0.2),
        _node("P6", 0.55, {"name": "vanilla"}),
        _node("P6.1", 0.5),
        _node("P6.2", 0.6),
    ]
}
