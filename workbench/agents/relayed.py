"""An asker whose requests somebody changes or counts on their way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.prompts import PromptSet, prompts_of

if TYPE_CHECKING:
    from workbench.agents.base import Asker
    from workbench.models.base import ModelReply, ModelRequest, ModelRole


@dataclass(frozen=True, slots=True)
class Relayed:
    """Asks by ``send``, and carries the prompts of the run as the asker behind it does."""

    prompts: PromptSet
    send: Asker

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        """Return the reply that ``send`` gives."""
        return await self.send(request, stage=stage, step=step, retry=retry)


def relayed(ask: Asker, *, role: ModelRole | None = None, later: int = 0) -> Asker:
    """Return an asker for another role of the run, or one whose steps stand ``later`` in the ledger."""

    async def send(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        mine = request if role is None else replace(request, role=role)
        return await ask(mine, stage=stage, step=step + later, retry=retry)

    return Relayed(prompts_of(ask), send)
