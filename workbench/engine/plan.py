"""From a claim to a planned tree: the analyzer's rounds and its further analyses of leaves."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from workbench.agents.base import Analyzer, Brief
from workbench.agents.errors import AgentGaveUp
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.leaves.traversal import first_error
from workbench.engine.rebuy import RebuyNeeded
from workbench.engine.record.recorder import Recorder
from workbench.engine.record.run_files import tree_body
from workbench.errors import UsageError
from workbench.propositions import NodeId, Tree
from workbench.propositions.growth import next_leaves, recursion_round
from workbench.store import events as ev


@dataclass(frozen=True, slots=True)
class Planning:
    """Plans the tree of one run."""

    recorder: Recorder
    analyzer: Analyzer
    gateway: ModelGateway
    brief: Brief

    async def plan(self) -> None:
        """Let the analyzer build the tree, then deepen it: n - 1 more rounds over all leaves, or leaf by leaf to a target.

        Depth is Analytica^n (paper A, section 4.4), the target its leaf scaling (section 5.3). Each further analysis sees
        one proposition as its root and answers in local ids; a leaf that cannot be broken down further stays a leaf.

        Raises `AgentGaveUp`: The analyzer gave no usable tree for the claim itself.
        """
        state = self.recorder.state
        if (
            state.follows is not None
        ):  # a review asks about the drivers of the run before, so that the two can be compared
            planned = tree_body(state.follows.tree)
            self.recorder.record(lambda put: ev.TreePlanned(tree=put(planned)))
            return
        try:
            tree = await self._analyze(Tree.root_only(state.statement), "P0")
        except AgentGaveUp as error:
            self.recorder.record(ev.NodeFailed(node="P0", reason=str(error)))
            raise
        analyzed: set[NodeId] = set()
        for _ in range(1, state.settings.depth):
            leaves = list(recursion_round(tree, analyzed))
            analyzed.update(leaves)
            tree = await self._deepen(tree, leaves)
        if state.settings.leaf_target is not None:
            # The tree is that of one after another; side by side go those whose turn comes whatever the others give.
            most = state.settings.agent.max_leaves
            while following := next_leaves(tree, state.settings.leaf_target, most, analyzed):
                analyzed.update(following)
                tree = await self._deepen(tree, following)
        self.recorder.record(lambda put: ev.TreePlanned(tree=put(tree_body(tree))))

    async def _deepen(self, tree: Tree, leaves: Sequence[NodeId]) -> Tree:
        """Return the tree with these leaves analyzed side by side, each as the root of its own analysis.

        They are grafted in the order of the leaves, whichever is ready first: a resumed run must come to the same tree. A leaf
        whose analysis is refused, or repeats what the tree holds already, stays a leaf.
        """
        growing = _Growing(tree)
        outcomes: dict[NodeId, Tree | str] = {}

        async def analyze(leaf: NodeId) -> None:
            try:
                grown = await self._analyze(Tree.root_only(tree[leaf].statement), leaf, growing=growing)
                outcomes[leaf] = grown if grown.root.children else grown.root.analysis
            except RebuyNeeded:
                raise
            except (AgentGaveUp, UsageError) as error:
                # A model may know no more of an elementary proposition.
                growing.parts.pop(leaf, None)
                outcomes[leaf] = str(error)

        try:
            async with asyncio.TaskGroup() as group:
                for leaf in leaves:
                    group.create_task(analyze(leaf), name=leaf)
        except BaseExceptionGroup as failures:
            raise first_error(failures) from None
        for leaf in leaves:
            outcome = outcomes[leaf]
            if isinstance(outcome, Tree):
                try:
                    tree = tree.graft(leaf, outcome)
                    continue
                except UsageError as error:  # it repeats a proposition that an earlier leaf has got
                    outcome = str(error)
            self.recorder.record(ev.LeafKept(node=leaf, reason=outcome))
        return tree

    async def _analyze(self, local: Tree, node: NodeId, *, growing: "_Growing | None" = None) -> Tree:
        rounds = 0

        async def on_round(tree: Tree) -> None:
            nonlocal rounds
            rounds += 1
            body = tree_body(tree if growing is None else growing.with_part(node, tree))
            await asyncio.sleep(
                0
            )  # to write a tree of a thousand leaves as text takes 15 ms, to read it back 40
            number = rounds  # of this round, whenever the event is made
            self.recorder.record(lambda put: ev.TreeExpanded(node=node, tree=put(body), round=number))
            await asyncio.sleep(0)

        state = self.recorder.state
        # The attempt counts the failures of the claim itself: they alone end the planning, and the next sitting asks anew.
        # Further analyses of leaves use the same number.
        ask = self.gateway.asker(
            run=state.run_id,
            node=node,
            trial=0,
            attempt=1 + len(state.failures.get("P0", ())),
            role="analyzer",
        )
        more = {}
        if getattr(self.analyzer, "takes_brief", False):
            more["brief"] = self.brief
        return await self.analyzer.analyze(
            local, cutoff=state.parsed_cutoff(), ask=ask, on_round=on_round, **more
        )


class _Growing:
    """A tree whose leaves are being analyzed side by side, for the event after each round."""

    def __init__(self, base: Tree) -> None:
        self._base = base
        self._whole = base
        self.parts: dict[NodeId, Tree] = {}

    def with_part(self, node: NodeId, part: Tree) -> Tree:
        self._base.graft(node, part)  # raises for a part that can never stand
        again = node in self.parts
        self.parts[node] = part
        # Most leaves are analyzed in one round: the part is added, and the whole is not built anew for each of a thousand.
        if again:
            self._whole = self._base
        for leaf, tree in self.parts.items() if again else [(node, part)]:
            with suppress(UsageError):  # two repeat each other: only one will stand in the end
                self._whole = self._whole.graft(leaf, tree)
        return self._whole
