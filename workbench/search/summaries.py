"""Summarise a long page for a question by the reader's model, to keep an agent's context small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxies.asof.asof_text import as_of
from workbench.models.base import (
    Asker,
    Message,
    ModelRequest,
    NodeRef,
)
from workbench.models.thoughts import without_thoughts
from workbench.prompts import prompts_of
from workbench.quoting import seen

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff

STAGE = "summary"
#: Longest notes that are passed on, in characters.
MOST_CHARACTERS = 6000


async def page_summary(text: str, *, node: NodeRef, cutoff: Cutoff, ask: Asker, step: int, retry: int) -> str:
    """Ask for notes on a page with a proposition in mind; "" if the model gave none.

    Raises `ModelError`: The model failed for good.
    """
    prompts = prompts_of(ask)
    render = prompts.render
    prompt = render(
        "page_summary",
        question=as_of(node.statement, cutoff, kind="title"),
        cutoff=cutoff.shown,
        page=prompts.marks.quoted(text, "page"),
    ).text
    request = ModelRequest(
        messages=(
            Message(role="system", content=render("page_summary_system").text),
            Message(role="user", content=prompt),
        ),
        stage=STAGE,
        cutoff=cutoff.shown,
        nodes=(node,),
        role="reader",
    )
    reply = await ask(request, stage=STAGE, step=step, retry=retry)
    return (
        seen(without_thoughts(reply.text)).strip()[:MOST_CHARACTERS]
        if reply.finish in ("complete", "truncated")
        else ""
    )
