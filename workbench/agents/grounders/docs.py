"""The documentation desk: answers ``retrieve_api_doc`` calls (Analytica, App. C.4.3)."""

from collections.abc import Callable

from proxies.errors import ProxyError
from workbench.models.base import ToolCall, ToolSpec

TOOL = "retrieve_api_doc"
MAX_PATHS = 25

_SPEC = ToolSpec(
    name=TOOL,
    description=(
        "Documentation of data endpoints: what they return, their parameters, and one runnable example each. "
        "Read it before the first call of an endpoint. Ask for several endpoints at once."
    ),
    parameters={
        "type": "object",
        "properties": {
            "full_paths": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": MAX_PATHS,
                "description": "Full paths of the endpoints, as the map of the data sources spells them.",
            }
        },
        "required": ["full_paths"],
        "additionalProperties": False,
    },
)


class DocDesk:
    """Looks documentation up; whatever is wrong with a call is answered in words the model can act on.

    Parameters
    ----------
    api_doc : callable
        Markdown documentation of 1 to 25 paths; raises ``ProxyError`` for one it does not know.
    """

    tools: tuple[ToolSpec, ...] = (_SPEC,)

    def __init__(self, api_doc: Callable[[list[str]], str]) -> None:
        self._api_doc = api_doc

    def answer(self, call: ToolCall) -> str:
        """Documentation, or what to do differently."""
        if call.name != TOOL:
            return f"There is no tool {call.name!r}; the only one is {TOOL}."
        paths = call.arguments.get("full_paths")
        if (
            set(call.arguments) != {"full_paths"}
            or not isinstance(paths, list)
            or not all(isinstance(path, str) for path in paths)
        ):
            return f'{TOOL} takes one argument, "full_paths": a list of 1 to {MAX_PATHS} paths.'
        wanted = list(dict.fromkeys(paths))
        if not 1 <= len(wanted) <= MAX_PATHS:
            return f"{TOOL} takes 1 to {MAX_PATHS} paths in one call, not {len(wanted)}."
        try:
            return self._api_doc(wanted)
        except ProxyError as error:
            return f"No documentation: {error}"
