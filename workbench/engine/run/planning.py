"""From a claim to a planned tree: the analyzer's rounds, and its further analyses of leaves."""

import asyncio

from workbench.agents.base import Analyzer
from workbench.agents.errors import AgentGaveUp
from workbench.engine.run.asking import ModelGateway
from workbench.engine.run.recorder import Recorder
from workbench.engine.run.state import put_tree
from workbench.errors import UsageError
from workbench.propositions import NodeId, Tree
from workbench.propositions.growth import next_leaf, recursion_round
from workbench.store import events as ev


class Planning:
    """Plans the tree of one run."""

    def __init__(self, recorder: Recorder, analyzer: Analyzer, gateway: ModelGateway) -> None:
        self._recorder = recorder
        self._analyzer = analyzer
        self._gateway = gateway

    async def plan(self) -> None:
        """Let the analyzer build the tree, then deepen it: n - 1 more rounds over all leaves, or leaf by leaf to a target.

        Depth is Analytica^n (paper A, section 4.4), the target its leaf scaling (section 5.3). Each further analysis sees
        one proposition as its root and answers in local ids; a leaf that cannot be broken down further stays a leaf.

        Raises
        ------
        AgentGaveUp
            The analyzer gave no usable tree for the claim itself.
        """
        state = self._recorder.state
        try:
            tree = await self._analyze(Tree.root_only(state.statement), "P0")
        except AgentGaveUp as error:
            self._recorder.record(ev.NodeFailed(node="P0", reason=str(error)))
            raise
        analyzed: set[NodeId] = set()
        for _ in range(1, state.settings.depth):
            for leaf in recursion_round(tree, analyzed):
                analyzed.add(leaf)
                tree = await self._deepen(tree, leaf)
        if state.settings.leaf_target is not None:
            while (following := next_leaf(tree, state.settings.leaf_target, analyzed)) is not None:
                analyzed.add(following)
                tree = await self._deepen(tree, following)
        self._recorder.record(ev.TreePlanned(tree=put_tree(self._recorder.store, tree)))

    async def _deepen(self, tree: Tree, leaf: NodeId) -> Tree:
        """Return the tree with a leaf analyzed as the root of its own analysis, or unchanged if that is refused."""
        try:
            return await self._analyze(Tree.root_only(tree[leaf].statement), leaf, onto=tree)
        except (AgentGaveUp, UsageError) as error:
            # A model may know no more of an elementary proposition, or repeat one that the tree holds already.
            self._recorder.record(ev.LeafKept(node=leaf, reason=str(error)))
            return tree

    async def _analyze(self, local: Tree, node: NodeId, *, onto: Tree | None = None) -> Tree:
        rounds = 0

        def whole(tree: Tree) -> Tree:
            return tree if onto is None else onto.graft(node, tree)

        async def on_round(tree: Tree) -> None:
            nonlocal rounds
            rounds += 1
            digest = put_tree(self._recorder.store, whole(tree))
            await asyncio.sleep(0)  # to file a tree of a thousand leaves takes 15 ms, to read it back 40
            self._recorder.record(ev.TreeExpanded(node=node, tree=digest, round=rounds))
            await asyncio.sleep(0)

        state = self._recorder.state
        # The attempt counts the failures of the claim itself: they alone end the planning, and the next sitting asks anew.
        # Further analyses of leaves use the same number.
        ask = self._gateway.asker(
            run=state.run_id, node=node, trial=0, attempt=1 + len(state.failures.get("P0", ()))
        )
        return whole(
            await self._analyzer.analyze(local, cutoff=state.parsed_cutoff(), ask=ask, on_round=on_round)
        )
