"""Layer 2 by a model: it reads results in batches and names those that hold anything of after the cutoff.

A verdict can only remove, and every doubt removes: a result that is not named, is named both ways, or whose batch got no readable
reply is dropped. The agent that searched sees neither reasons nor counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proxies.hashing import content_hash
from workbench.agents.thoughts import without_thoughts
from workbench.models.base import Message, ModelRequest, NodeRef
from workbench.prompts import render
from workbench.prompts.loader import load
from workbench.search.quoting import quoted, unquoted

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.agents.base import Asker
    from workbench.search.engines import Hit

STAGE = "filter"
#: Results, and characters of their texts, in one request.
BATCH, BATCH_CHARACTERS = 10, 24_000
#: Asks for one batch: a reply that cannot be read is asked for once more.
ASKS = 2
_LINE = re.compile(
    r"^[\s>*#-]*\**(\d{1,3})\**\s*[.:)]\s*\**\s*(KEEP|DROP)\b\**(?:\s*[-–—:]+\s*(.*))?\s*$", re.IGNORECASE
)
_MOST_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a result stays, why, and which model said so ("" where it gave no readable word)."""

    keep: bool
    reason: str
    model: str = ""


@dataclass(slots=True)
class Verdicts:
    """Verdicts by content, cutoff, question, prompt and model, so that nothing is judged twice. One of these serves all leaves of a run.

    ``model`` is the name of the model that judges, which a leaf does not know of itself.
    """

    model: str = ""
    _known: dict[str, Verdict] = field(default_factory=dict)

    def find(self, hit: Hit, question: str, cutoff: Cutoff) -> Verdict | None:
        """Return the verdict on a result, or None."""
        return self._known.get(self._key(hit, question, cutoff))

    def keep(self, hit: Hit, question: str, cutoff: Cutoff, verdict: Verdict) -> None:
        """Remember a verdict. One that no readable reply gave is not remembered: the next ask may be answered."""
        if verdict.model:
            self._known[self._key(hit, question, cutoff)] = verdict

    def _key(self, hit: Hit, question: str, cutoff: Cutoff) -> str:
        prompts = [load(name).sha256 for name in ("leak_filter_system", "leak_filter")]
        content = [hit.url, hit.title, hit.text]
        return content_hash([content, cutoff.instant.isoformat(), question, prompts, self.model])


class LeakFilter:
    """Judges results for one question.

    Parameters
    ----------
    ask : Asker
        The way to the model; requests carry the role ``filter``.
    node : NodeRef
        The proposition that is researched.
    cutoff : Cutoff
    verdicts : Verdicts
        Shared by the leaves of a run, or of this filter alone.
    """

    def __init__(self, ask: Asker, *, node: NodeRef, cutoff: Cutoff, verdicts: Verdicts) -> None:
        self._ask = ask
        self._node = node
        self._cutoff = cutoff
        self._verdicts = verdicts

    async def judge(self, hits: Sequence[Hit], *, step: int, retry: int) -> list[Verdict]:
        """Return a verdict for every result, in their order.

        Raises
        ------
        workbench.models.errors.ModelError
            The model failed for good.
        """
        known = [self._verdicts.find(hit, self._node.statement, self._cutoff) for hit in hits]
        open_hits = [hit for hit, verdict in zip(hits, known, strict=True) if verdict is None]
        fresh: list[Verdict] = []
        for number, batch in enumerate(_batches(open_hits)):
            fresh += await self._batch(batch, step=step, retry=(retry * 1000 + number) * ASKS)
        for hit, verdict in zip(open_hits, fresh, strict=True):
            self._verdicts.keep(hit, self._node.statement, self._cutoff, verdict)
        pending = iter(fresh)
        return [verdict or next(pending) for verdict in known]

    async def _batch(self, hits: Sequence[Hit], *, step: int, retry: int) -> list[Verdict]:
        request = filter_request(hits, node=self._node, cutoff=self._cutoff)
        for again in range(ASKS):
            reply = await self._ask(request, stage=STAGE, step=step, retry=retry + again)
            verdicts = read_verdicts(reply.text, len(hits), model=reply.model)
            if verdicts is not None and reply.finish == "complete":
                return verdicts
        return [Verdict(keep=False, reason="no readable verdict") for _ in hits]


def filter_request(hits: Sequence[Hit], *, node: NodeRef, cutoff: Cutoff) -> ModelRequest:
    """Return the request for a batch. Dates that engines gave are left out: the texts alone are to be judged."""
    shown = "\n\n".join(
        quoted(f"{hit.title}\n{hit.url}\n{hit.text}", f"result {number}")
        for number, hit in enumerate(hits, 1)
    )
    text = render(
        "leak_filter", question=node.statement, cutoff=cutoff.text, results=shown, count=len(hits)
    ).text
    return ModelRequest(
        messages=(
            Message(role="system", content=render("leak_filter_system").text),
            Message(role="user", content=text),
        ),
        stage=STAGE,
        cutoff=cutoff.text,
        nodes=(node,),
        temperature=0.0,
        role="filter",
    )


def read_verdicts(text: str, count: int, *, model: str = "") -> list[Verdict] | None:
    r"""Return the verdicts of a reply, one for each of ``count`` results, or None if no line of it is one.

    Examples
    --------
    >>> [v.keep for v in read_verdicts("1: KEEP - old\n3: DROP - later", 3)]
    [True, False, False]
    """
    lines: dict[int, list[tuple[bool, str]]] = {}
    for line in without_thoughts(text).splitlines():
        match = _LINE.match(line)
        if match:
            word = (match[2].upper() == "KEEP", (match[3] or "").strip()[:_MOST_REASON])
            lines.setdefault(int(match[1]), []).append(word)
    if not any(1 <= number <= count for number in lines):
        return None
    verdicts = []
    for number in range(1, count + 1):
        words = lines.get(number, [])
        if not words:
            verdicts.append(Verdict(keep=False, reason="not named in the reply", model=model))
        elif len({keep for keep, _ in words}) > 1:
            verdicts.append(Verdict(keep=False, reason="named both ways", model=model))
        else:
            verdicts.append(Verdict(keep=words[0][0], reason=words[0][1], model=model))
    return verdicts


def recorded_verdicts(prompt: str, reply: str, *, model: str = "") -> list[tuple[str, str, Verdict]]:
    """Return title, address and verdict of each result in a recorded request to the filter, as they were judged."""
    results: list[tuple[str, str]] = []
    while (text := unquoted(prompt, f"result {len(results) + 1}")) is not None:
        title, _, rest = text.partition("\n")
        results.append((title, rest.partition("\n")[0]))
    verdicts = read_verdicts(reply, len(results), model=model)
    if verdicts is None:
        verdicts = [Verdict(keep=False, reason="no readable verdict", model=model) for _ in results]
    return [(*result, verdict) for result, verdict in zip(results, verdicts, strict=True)]


def _batches(hits: Sequence[Hit]) -> list[list[Hit]]:
    batches: list[list[Hit]] = []
    size = 0
    for hit in hits:
        length = len(hit.title) + len(hit.url) + len(hit.text)
        if not batches or len(batches[-1]) == BATCH or size + length > BATCH_CHARACTERS:
            batches.append([])
            size = 0
        batches[-1].append(hit)
        size += length
    return batches
