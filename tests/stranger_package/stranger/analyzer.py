"""An analyzer that asks once for reasons and hangs each under the claim."""

from workbench.agents.registry import no_options
from workbench.models.base import Message, ModelRequest, NodeRef
from workbench.propositions import Polarity


class FanAnalyzer:
    def __init__(self, settings, options):
        self.reasons = int(options.pop("reasons", 5))
        no_options("stranger-fan", options)

    async def analyze(self, tree, *, cutoff, ask, on_round):
        root = tree.root
        request = ModelRequest(
            messages=(Message(role="user", content=f"Reasons for: {root.statement}"),),
            stage="stranger-reasons",
            cutoff=cutoff.text,
            nodes=(NodeRef(id=root.id, statement=root.statement),),
        )
        reply = await ask(request, stage="stranger-reasons", step=0, retry=0)
        children = {
            f"P{number}": line for number, line in enumerate(reply.text.splitlines()[: self.reasons], 1)
        }
        tree = tree.expand(
            "P0", children, dict.fromkeys(children, Polarity.POSITIVE), causality="each one counts"
        )
        await on_round(tree)
        return tree
