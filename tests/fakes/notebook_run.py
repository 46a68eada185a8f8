"""A run whose leaves compute in sealed kernels: the real engine, sandbox, broker and grounder around a provider in a can."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from tests.fakes.asking_run import FixedTree, Provider, belief_of, open_run
from workbench.agents.base import AgentSettings
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.engine import flow as engine_module
from workbench.engine.assembly import open_engine
from workbench.engine.new_run import Agents
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.models.base import ModelReply, ModelRequest, Usage
from workbench.reports.note_page import write_report
from workbench.store import Store

PROOF = """<markdown_cell>
# The last price of {node}
</markdown_cell>
<python_cell>
import pandas
rows = CALL_API("embedded/series/observations", {{"series_id": "SP500", "start": "2018-01-01"}})
closes = pandas.Series([row["value"] for row in rows])
print({step}, len(closes), closes.iloc[-1], closes.pct_change().std())
</python_cell>"""
CONCLUSION = """The price that was known is the last one.

```json
{{"p_true": {p:.3f}, "key_factor": "the last price"}}
```"""


class NotebookProvider(Provider):
    """Writes a cell at every step and concludes with a probability that its leaf's words decide."""

    def answer(self, request: ModelRequest, text: str = "", usage: Usage | None = None) -> ModelReply:
        node = request.nodes[0]
        if request.stage == "conclude":
            text = CONCLUSION.format(p=belief_of(node.statement))
        else:
            text = PROOF.format(node=node.id, step=len(request.messages))
        return super().answer(request, text, usage)


def open_notebook_run(store: Store, *, cells: int = 2, **settings: Any) -> str:
    """Open a run whose leaves take so many cells and a conclusion."""
    return open_run(store, agent=AgentSettings(max_proof_steps=cells), **settings)


async def work_in_kernels(store: Store, run_id: str, provider: Provider, *, leaves: int) -> RunState:
    """One sitting of such a run."""
    settings = load_state(store, run_id).settings
    agents = SimpleNamespace(
        analyzer=FixedTree(leaves),
        grounder=NotebookGrounder(),
        synthesizer=Agents(settings).synthesizer,
    )
    async with open_engine(store, settings, environ={}, model=provider, note=write_report) as engine:
        with patch.object(engine_module, "Agents", lambda _: agents):
            return await engine.work(run_id)
