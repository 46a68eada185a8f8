"""Filter results by a model (layer 2): it reads them in batches and names those with facts of after the cutoff.

A verdict can only remove, and every doubt removes: a result that is not named, is named both ways, or whose batch got no readable
reply is dropped. The agent that searched sees neither reasons nor counts.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proxies.asof.asof_text import as_of
from proxies.hashing import content_hash
from workbench.models.base import (
    Asker,
    Message,
    ModelReply,
    ModelRequest,
    NodeRef,
)
from workbench.models.thoughts import without_thoughts
from workbench.prompts import TODAY, PromptSet
from workbench.quoting import Marks

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
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
    """A verdict on a result, its reason, and the model ("" if its reply was unreadable)."""

    keep: bool
    reason: str
    model: str = ""


@dataclass(slots=True)
class Verdicts:
    """Verdicts by content, cutoff, question, prompt and model, so that nothing is judged twice. One of these serves all leaves of a run.

    ``model`` is the name of the model that judges, which a leaf does not know of itself. Trials run side by side: what one of them
    is having judged, the others wait for. ``prompts`` are those of the run.
    """

    model: str = ""
    prompts: PromptSet = TODAY
    _known: dict[str, Verdict] = field(default_factory=dict)
    _under_way: dict[str, asyncio.Event] = field(default_factory=dict)

    def key(self, text: str, question: str, cutoff: Cutoff) -> str:
        """Return the key of a verdict; ``text`` is the result as the model sees it (`shown_text`)."""
        prompts = [self.prompts.template(name).sha256 for name in ("leak_filter_system", "leak_filter")]
        return content_hash([text, cutoff.instant.isoformat(), question, prompts, self.model])

    def find(self, key: str) -> Verdict | None:
        """Return a stored verdict, or None."""
        return self._known.get(key)

    def keep(self, key: str, verdict: Verdict) -> None:
        """Store a verdict, unless no readable reply gave it: the next ask may be answered."""
        if verdict.model:
            self._known[key] = verdict

    def since(self, count: int) -> list[tuple[str, Verdict]]:
        """Return the verdicts after the first ``count`` with their keys, for another process."""
        return list(itertools.islice(self._known.items(), count, None))

    def keep_recorded(self, request: str, reply: ModelReply, *, question: str, cutoff: Cutoff) -> None:
        """Store the verdicts of a recorded reply, unless it is unreadable or was cut off.

        ``request`` is the message that held the results. For whoever sees asks and replies of a filter that ran elsewhere.
        """
        texts = recorded_texts(request, self.prompts.marks)
        judged = read_verdicts(reply.text, len(texts), model=reply.model)
        if judged is None or reply.finish != "complete":
            return
        for text, verdict in zip(texts, judged, strict=True):
            self.keep(self.key(text, question, cutoff), verdict)

    @contextmanager
    def judging(self, keys: Sequence[str]) -> Iterator[list[str]]:
        """Claim the keys that nobody is having judged, and yield them; the claim ends with the block."""
        mine = [key for key in keys if key not in self._under_way]
        for key in mine:
            self._under_way[key] = asyncio.Event()
        try:
            yield mine
        finally:
            for key in mine:
                self._under_way.pop(key).set()

    async def judged(self, key: str) -> None:
        """Wait until a key that is being judged is done; returns at once if it is not."""
        if (under_way := self._under_way.get(key)) is not None:
            await under_way.wait()


class LeakFilter:
    """Judges results for one question."""

    def __init__(self, ask: Asker, *, node: NodeRef, cutoff: Cutoff, verdicts: Verdicts) -> None:
        self._ask = ask
        self._node = node
        self._cutoff = cutoff
        self._verdicts = verdicts

    async def judge(self, hits: Sequence[Hit], *, step: int, retry: int) -> list[Verdict]:
        """Return a verdict for every result, in their order.

        Raises `ModelError`: The model failed for good.
        """
        rendered = [shown_text(hit, self._verdicts.prompts.marks) for hit in hits]
        keys = [self._verdicts.key(text, self._node.statement, self._cutoff) for text in rendered]
        texts = dict(zip(keys, rendered, strict=True))
        verdicts: dict[str, Verdict] = {}
        asks = itertools.count(retry * 1000)
        while True:
            for key in texts:
                if key not in verdicts and (stored := self._verdicts.find(key)) is not None:
                    verdicts[key] = stored
            pending = [key for key in texts if key not in verdicts]
            if not pending:
                return [verdicts[key] for key in keys]
            with self._verdicts.judging(pending) as mine:
                for batch in _batches([(key, texts[key]) for key in mine]):
                    judged = await self._batch(
                        [text for _, text in batch], step=step, retry=next(asks) * ASKS
                    )
                    for (key, _), verdict in zip(batch, judged, strict=True):
                        verdicts[key] = verdict
                        self._verdicts.keep(key, verdict)
            if not mine:  # nothing of one's own is held while another's is waited for
                await self._verdicts.judged(pending[0])

    async def _batch(self, texts: Sequence[str], *, step: int, retry: int) -> list[Verdict]:
        request = filter_request(texts, node=self._node, cutoff=self._cutoff, prompts=self._verdicts.prompts)
        for again in range(ASKS):
            reply = await self._ask(request, stage=STAGE, step=step, retry=retry + again)
            verdicts = read_verdicts(reply.text, len(texts), model=reply.model)
            if verdicts is not None and reply.finish == "complete":
                return verdicts
        return [Verdict(keep=False, reason="no readable verdict") for _ in texts]


def shown_text(hit: Hit, marks: Marks = TODAY.marks) -> str:
    """Write a result as the filter's model sees it."""
    return marks.clean(f"{hit.title}\n{hit.url}\n{hit.text}")


def filter_request(
    texts: Sequence[str], *, node: NodeRef, cutoff: Cutoff, prompts: PromptSet = TODAY
) -> ModelRequest:
    """Build the request for a batch, without the engines' dates: the texts alone are to be judged."""
    results = "\n\n".join(
        prompts.marks.quoted(text, f"result {number}") for number, text in enumerate(texts, 1)
    )
    text = prompts.render(
        "leak_filter",
        question=as_of(node.statement, cutoff, kind="title"),
        cutoff=cutoff.shown,
        results=results,
        count=len(texts),
    )
    return ModelRequest(
        messages=(
            Message(role="system", content=prompts.render("leak_filter_system")),
            Message(role="user", content=text),
        ),
        stage=STAGE,
        cutoff=cutoff.shown,
        nodes=(node,),
        temperature=0.0,
        role="filter",
    )


def read_verdicts(text: str, count: int, *, model: str = "") -> list[Verdict] | None:
    r"""Parse a reply into one verdict for each of ``count`` results, or None if it has no verdict.

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


def recorded_texts(prompt: str, marks: Marks = TODAY.marks) -> list[str]:
    """Extract the results from a recorded request to the filter; ``marks`` are those of its run."""
    texts: list[str] = []
    while (text := marks.unquoted(prompt, f"result {len(texts) + 1}")) is not None:
        texts.append(text)
    return texts


def recorded_verdicts(
    prompt: str, reply: str, *, marks: Marks, model: str = ""
) -> list[tuple[str, str, Verdict]]:
    """Return title, address and verdict of each result in a recorded request to the filter."""
    texts = recorded_texts(prompt, marks)
    verdicts = read_verdicts(reply, len(texts), model=model)
    if verdicts is None:
        verdicts = [Verdict(keep=False, reason="no readable verdict", model=model) for _ in texts]
    rows = []
    for text, verdict in zip(texts, verdicts, strict=True):
        title, _, remainder = text.partition("\n")
        rows.append((title, remainder.partition("\n")[0], verdict))
    return rows


def _batches(results: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    batches: list[list[tuple[str, str]]] = []
    size = 0
    for key, text in results:
        if not batches or len(batches[-1]) == BATCH or size + len(text) > BATCH_CHARACTERS:
            batches.append([])
            size = 0
        batches[-1].append((key, text))
        size += len(text)
    return batches
