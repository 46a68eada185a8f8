"""A model that answers by arithmetic on the words it is asked about; no network, the same answer every time."""

import hashlib

from workbench.models.base import ModelReply, ModelRequest, Usage
from workbench.models.errors import UnknownModel
from workbench.models.registry import ModelOptions

PROOF = """<markdown_cell>
# The last price
</markdown_cell>
<python_cell>
rows = CALL_API("stranger/prices", {"symbol": "X"})
print(len(rows), "price of", rows[-1]["day"], CALL_API.meta["as_of"])
</python_cell>"""
CONCLUSION = """The price that was known is the last one.

```json
{"p_true": 0.4, "key_factor": "the last price"}
```"""

#: The same for a dollar per million tokens.
PRICED = "stranger/priced"


class CountingModel:
    """``stranger/counting``: lists reasons, guesses from a hash of the statement, and proves from the package's own source."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, request: ModelRequest) -> ModelReply:
        statement = request.nodes[0].statement
        if request.stage == "stranger-reasons":
            text = "\n".join(f"Reason {number} for: {statement[:60]}" for number in range(1, 6))
        elif request.stage == "step":
            text = PROOF
        elif request.stage == "conclude":
            text = CONCLUSION
        else:
            text = f"{0.2 + 0.6 * int(hashlib.sha256(statement.encode()).hexdigest()[:4], 16) / 0xFFFF:.3f}"
        usage = Usage(input_tokens=len(request.messages[-1].content), output_tokens=len(text))
        cost = 1e-6 * (usage.input_tokens + usage.output_tokens) if self.name == PRICED else 0.0
        return ModelReply(text=text, model=self.name, usage=usage, cost_usd=cost)


def open_model(name: str, options: ModelOptions) -> CountingModel:
    if name not in ("stranger/counting", PRICED):
        raise UnknownModel(f"the package stranger brings stranger/counting, not {name}")
    return CountingModel(name)
