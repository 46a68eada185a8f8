"""An asker whose requests somebody changes or counts on their way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.prompts import PromptSet

if TYPE_CHECKING:
    from workbench.agents.base import Asker
    from workbench.models.base import ModelReply, ModelRequest


@dataclass(frozen=True, slots=True)
class Relayed:
    """Asks by ``send``, and carries the prompts of the run as the asker behind it does."""

    prompts: PromptSet
    send: Asker

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        """Return the reply that ``send`` gives."""
        return await self.send(request, stage=stage, step=step, retry=retry)
