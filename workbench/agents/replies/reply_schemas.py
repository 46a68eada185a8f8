"""The answers of each stage as JSON schemas, for models that take one; ``replies`` reads both these and the text shapes.

The schemas keep to what strict modes allow: every property required, nothing additional, no free keys. Cells have none: source
code inside a JSON string is escaped twice, and models write worse code so; their tags are read from text always.
"""

from collections.abc import Sequence
from typing import Any

from workbench.models.base import ReplySchema

_NOTE = "This reply is taken as one JSON object; it holds nothing that is not asked for. {fields}"
_PROSE = _NOTE.format(fields='The prose goes into "report", in Markdown.')
_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
# strict modes want every property, so what may be absent is null
_MAYBE = {"anyOf": [_NUMBER, {"type": "null"}]}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_schema(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _analysis(**more: Any) -> ReplySchema:
    return ReplySchema(
        name="analysis",
        schema=_object(
            expansions=_list_schema(
                _object(
                    parent=_TEXT,
                    children=_list_schema(
                        _object(
                            statement=_TEXT,
                            polarity={"type": "string", "enum": ["Positive", "Negative"]},
                            resolves_by=_TEXT,
                            reference_class=_TEXT,
                        )
                    ),
                    causality=_TEXT,
                    **more,
                )
            ),
            end={"type": "boolean"},
        ),
        note=_NOTE.format(
            fields='"expansions" has one entry per proposition that you expand, its "children" in order and without ids;'
            ' "end" is true, with no expansions, where nothing is left to expand.'
        ),
    )


ANALYSIS = _analysis()
#: The same where the analyzer may say how the children work together.
ANALYSIS_COMBINED = _analysis(combine={"type": "string", "enum": ["additive", "all needed", "any suffices"]})


def _with_prose(name: str, **fields: Any) -> ReplySchema:
    """The answer of a stage whose text form is prose and a block."""
    return ReplySchema(name=name, schema=_object(report=_TEXT, **fields), note=_PROSE)


#: A leaf's conclusion, and a vanilla synthesis.
CONCLUSION = _with_prose(
    "conclusion",
    cases=_list_schema(_object(case=_TEXT, source=_TEXT, came_true={"type": "boolean"})),
    base_rate=_MAYBE,
    n=_MAYBE,
    inside_view=_MAYBE,
    adjustments=_TEXT,
    if_nothing_changes=_TEXT,
    yes_if=_TEXT,
    no_if=_TEXT,
    p_true=_NUMBER,
    low=_MAYBE,
    high=_MAYBE,
    key_factor=_TEXT,
    would_change_my_mind=_TEXT,
)

LOGIC = _with_prose(
    "logic",
    formula=_TEXT,
    assumption={"anyOf": [_object(detail=_TEXT, probability=_NUMBER), {"type": "null"}]},
    key_factor=_TEXT,
)


def linear(children: Sequence[str]) -> ReplySchema:
    """Return the answer of a linear synthesis over these children."""
    beta = _object(beta_0=_NUMBER, **dict.fromkeys(children, _NUMBER))
    return _with_prose("linear", beta=beta, p_true=_NUMBER, key_factor=_TEXT)


def noisy_or(causes: Sequence[str], inhibitors: Sequence[str]) -> ReplySchema:
    """Return the answer of a noisy-or synthesis over these children."""
    return _with_prose(
        "noisy_or",
        leak=_NUMBER,
        weights=_object(**dict.fromkeys(causes, _NUMBER)),
        inhibitors=_object(**dict.fromkeys(inhibitors, _NUMBER)),
        p_true=_NUMBER,
        key_factor=_TEXT,
    )
