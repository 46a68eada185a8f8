"""A model that answers by arithmetic on the words it is asked about; no network, the same answer every time."""

import hashlib

from workbench.models.base import ModelReply, ModelRequest, Usage
from workbench.models.errors import UnknownModel
from workbench.models.registry import ModelOptions


class CountingModel:
    """``stranger/counting``: lists reasons, and guesses a probability from a hash of the statement."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, request: ModelRequest) -> ModelReply:
        statement = request.nodes[0].statement
        if request.stage == "stranger-reasons":
            text = "\n".join(f"Reason {number} for: {statement[:60]}" for number in range(1, 6))
        else:
            text = f"{0.2 + 0.6 * int(hashlib.sha256(statement.encode()).hexdigest()[:4], 16) / 0xFFFF:.3f}"
        usage = Usage(input_tokens=len(request.messages[-1].content), output_tokens=len(text))
        return ModelReply(text=text, model=self.name, usage=usage, cost_usd=0.0)


def open_model(name: str, options: ModelOptions) -> CountingModel:
    if name != "stranger/counting":
        raise UnknownModel(f"the package stranger brings stranger/counting, not {name}")
    return CountingModel(name)
