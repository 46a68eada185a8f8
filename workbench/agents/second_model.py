"""One question to a model about work that is done or proposed: a critic, a judge, a red team, the run's own memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from workbench.agents.dialogue import Dialogue
from workbench.agents.relayed import relayed

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import AgentSettings
    from workbench.models.base import Asker, ModelRole, NodeRef


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondModel:
    """Whom to ask, and about what."""

    #: ``critic`` or ``judge``: a run may name a model of its own for each. None asks the model of the run.
    role: ModelRole | None
    #: Text of the system prompt.
    system: str
    #: The propositions that are asked about.
    nodes: Sequence[NodeRef]
    cutoff: Cutoff
    ask: Asker
    settings: AgentSettings
    #: How far its steps stand behind those of the same stage before it.
    later: int = 0

    async def answer(
        self, stage: str, prompt: str, parse: Callable[[str], T], *, propositions: str, reply_format: str
    ) -> T:
        """Return what ``parse`` makes of the reply; one that it refuses is sent back with the reason.

        Raises `AgentGaveUp`: No usable reply in the asks that are allowed. Raises `ModelError`: From the asker.
        """
        dialogue = Dialogue(
            system=self.system,
            nodes=list(self.nodes),
            cutoff=self.cutoff,
            ask=relayed(self.ask, role=self.role, later=self.later),
            settings=self.settings,
        )
        return await dialogue.exchange(
            stage, prompt, parse, propositions=propositions, reply_format=reply_format, choice="none"
        )
