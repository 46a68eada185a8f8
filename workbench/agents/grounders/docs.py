"""The documentation desk: answers ``retrieve_api_doc`` calls (Analytica, App. C.4.3), by path or by words."""

from collections.abc import Callable
from typing import Any

from proxies.errors import ProxyError
from workbench.models.base import ToolCall, ToolSpec

TOOL = "retrieve_api_doc"
MAX_PATHS = 25
MAX_WORDS = 200
_FORMS = (
    f'{TOOL} takes "full_paths", a list of 1 to {MAX_PATHS} paths, or "search", words in a text of at most '
    f"{MAX_WORDS} characters, or both."
)

_SPEC = ToolSpec(
    name=TOOL,
    description=(
        "Data endpoints: search them by words, which lists those that match with a sentence each, and read the "
        "documentation of full paths: what they return, their parameters, and one runnable example each. Read it before "
        "the first call of an endpoint. Ask for several endpoints at once."
    ),
    parameters={
        "type": "object",
        "properties": {
            "search": {
                "type": "string",
                "maxLength": MAX_WORDS,
                "description": "Two or three words to find endpoints by, such as: treasury yields.",
            },
            "full_paths": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": MAX_PATHS,
                "description": "Full paths of the endpoints to document, as a search or the map of the sources spells them.",
            },
        },
        "additionalProperties": False,
    },
)


class DocDesk:
    """Looks documentation up; whatever is wrong with a call is answered in words the model can act on.

    Parameters
    ----------
    api_doc : callable
        Markdown documentation of 1 to 25 paths; raises ``ProxyError`` for one it does not know.
    api_search : callable
        The endpoints that match some words, as lines; raises ``ProxyError`` for no words.
    """

    tools: tuple[ToolSpec, ...] = (_SPEC,)

    def __init__(self, api_doc: Callable[[list[str]], str], api_search: Callable[[str], str]) -> None:
        self._api_doc, self._api_search = api_doc, api_search

    def answer(self, call: ToolCall) -> str:
        """What was found, documentation, or what to do differently."""
        if call.name != TOOL:
            return f"There is no tool {call.name!r}; the only one is {TOOL}."
        asked = call.arguments
        if not asked or not set(asked) <= {"full_paths", "search"}:
            return _FORMS
        parts = []
        if "search" in asked:
            parts.append(self._found(asked["search"]))
        if "full_paths" in asked:
            parts.append(self._documented(asked["full_paths"]))
        return "\n".join(parts)

    def _found(self, words: Any) -> str:
        if not isinstance(words, str) or len(words) > MAX_WORDS:
            return _FORMS
        try:
            return self._api_search(words)
        except ProxyError as error:
            return f"Nothing found: {error}"

    def _documented(self, paths: Any) -> str:
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            return _FORMS
        wanted = list(dict.fromkeys(paths))
        if not 1 <= len(wanted) <= MAX_PATHS:
            return f"{TOOL} takes 1 to {MAX_PATHS} paths in one call, not {len(wanted)}."
        try:
            return self._api_doc(wanted)
        except ProxyError as error:
            return f"No documentation: {error}"
