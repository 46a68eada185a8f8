"""The documentation tool: answers ``retrieve_api_doc`` calls (Analytica, App. C.4.3), by path or by words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proxies.errors import ProxyError
from workbench.agents.loop.tool_box import tool_spec
from workbench.models.base import ToolCall, ToolSpec

if TYPE_CHECKING:
    from workbench.agents.base import DataGuide

TOOL = "retrieve_api_doc"
MAX_PATHS = 25
MAX_WORDS = 200
_FORMS = (
    f'{TOOL} takes "full_paths", a list of 1 to {MAX_PATHS} paths, or "search", words in a text of at most '
    f"{MAX_WORDS} characters, or both."
)


class DocumentationTool:
    """Looks documentation up; whatever is wrong with a call is answered in words the model can act on."""

    specs: tuple[ToolSpec, ...] = (tool_spec(TOOL),)

    def __init__(self, data: DataGuide) -> None:
        self._data = data

    def answer(self, call: ToolCall) -> str:
        """Return matches, documentation, or what to do differently."""
        if call.name != TOOL:
            return f"There is no tool {call.name!r}; the only one is {TOOL}."
        arguments = call.arguments
        if not arguments or not set(arguments) <= {"full_paths", "search"}:
            return _FORMS
        parts = []
        if "search" in arguments:
            parts.append(self._matches(arguments["search"]))
        if "full_paths" in arguments:
            parts.append(self._documented(arguments["full_paths"]))
        return "\n".join(parts)

    def _matches(self, words: Any) -> str:
        if not isinstance(words, str) or len(words) > MAX_WORDS:
            return _FORMS
        try:
            return self._data.search(words)
        except ProxyError as error:
            return f"Nothing found: {error}"

    def _documented(self, paths: Any) -> str:
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            return _FORMS
        wanted = list(dict.fromkeys(paths))
        if not 1 <= len(wanted) <= MAX_PATHS:
            return f"{TOOL} takes 1 to {MAX_PATHS} paths in one call, not {len(wanted)}."
        try:
            return self._data.document(wanted)
        except ProxyError as error:
            return f"No documentation: {error}"
