"""A leaf's task around any session, as the engine makes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proxies.asof.clock import Cutoff
from workbench.agents.base import AgentSettings, DataGuide, LeafTask
from workbench.models.base import NodeRef


@dataclass(frozen=True)
class FakeGuide:
    """Documentation that says what it was asked for."""

    overview: str = "- embedded: seven daily and monthly series"

    def document(self, paths: list[str]) -> str:
        return f"docs of {', '.join(paths)}"

    def search(self, words: str) -> str:
        return f"endpoints for {words}"


async def no_data(path: str, params: Mapping[str, Any], *, step: int, retry: int = 0) -> Any:
    raise AssertionError(f"no data is called here: {path}")


def make_leaf_task(
    node: NodeRef,
    *,
    cutoff: Cutoff,
    ask: Any,
    session: Any,
    data: DataGuide | None = None,
    settings: AgentSettings | None = None,
) -> LeafTask:
    async def open_notebook() -> Any:
        return session

    return LeafTask(
        node=node,
        cutoff=cutoff,
        ask=ask,
        open_notebook=open_notebook,
        call_api=no_data,
        data=data or FakeGuide(),
        settings=settings or AgentSettings(),
    )
