"""A scripted model: replies come off a queue, in order; running out is a failure, and so is a leftover."""

from collections.abc import Callable, Iterable

from tests.fakes.provider_rules import strictly
from workbench.models.base import ModelReply, ModelRequest, Usage

Scripted = str | ModelReply | BaseException | Callable[[ModelRequest], "str | ModelReply"]


class ScriptedModel:
    """Answers from a queue of texts, replies, exceptions to raise, or functions of the request.

    ``requests`` keeps what was asked. With ``by_stage`` each stage has its own queue, so that leaves grounded
    concurrently do not steal each other's replies; a key may also be ``(stage, node id)``, which goes first.
    """

    def __init__(
        self,
        replies: Iterable[Scripted] = (),
        *,
        by_stage: dict[str | tuple[str, str], list[Scripted]] | None = None,
        name: str = "scripted",
    ) -> None:
        self._name = name
        self._queue = list(replies)
        self._by_stage = {key: list(queue) for key, queue in (by_stage or {}).items()}
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        queue = self._queue_for(request)
        if not queue:
            raise AssertionError(
                f"the script ran out at request {len(self.requests)}: stage {request.stage!r}, "
                f"nodes {[node.id for node in request.nodes]}"
            )
        scripted = queue.pop(0)
        if isinstance(scripted, BaseException):
            raise scripted
        answer = scripted(request) if callable(scripted) else scripted
        if not isinstance(answer, ModelReply):
            answer = ModelReply(
                text=answer,
                model=self._name,
                usage=Usage(input_tokens=100, output_tokens=max(1, len(answer) // 4)),
            )
        return strictly(request, answer)

    def _queue_for(self, request: ModelRequest) -> list[Scripted]:
        for node in request.nodes[:1]:
            if (request.stage, node.id) in self._by_stage:
                return self._by_stage[request.stage, node.id]
        return self._by_stage.get(request.stage, self._queue)
