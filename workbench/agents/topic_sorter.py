"""A model sorts questions into a fixed list of topics, many in one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from workbench.agents.base import AgentSettings
from workbench.agents.conversation import ask_once
from workbench.agents.errors import MalformedReply
from workbench.agents.replies.stage_replies import ReplyShape
from workbench.models.base import Asker, NodeRef
from workbench.prompts import prompts_of

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff

#: Questions of one request.
BATCH = 25


class _TopicsShape(ReplyShape):
    topics: dict[str, str]


async def classify_questions(
    titles: Sequence[str], topics: Sequence[str], *, cutoff: Cutoff, ask: Asker
) -> list[str]:
    """Return the topic of each question, at most `BATCH` of them; raises ``AgentGaveUp`` and ``ModelError``."""

    def parse(text: str) -> list[str]:
        reply: Mapping[str, str] = _TopicsShape.read(text).topics
        wanted = [str(number) for number in range(1, len(titles) + 1)]
        if lacking := [number for number in wanted if number not in reply]:
            raise MalformedReply(f"question {lacking[0]} has no topic")
        if strange := [reply[number] for number in wanted if reply[number] not in topics]:
            raise MalformedReply(f"{strange[0][:60]!r} is no topic of the list")
        return [reply[number] for number in wanted]

    marks = prompts_of(ask).marks
    shown = "\n\n".join(marks.quoted(title, f"question {number}") for number, title in enumerate(titles, 1))
    return await ask_once(
        ask,
        "topics",
        parse,
        about=shown,
        nodes=[NodeRef(id="-", statement="topics of questions")],
        cutoff=cutoff,
        settings=AgentSettings(temperature=0.0),
        topics=", ".join(topics),
        questions=shown,
    )
