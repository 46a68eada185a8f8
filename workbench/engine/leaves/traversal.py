"""All leaves side by side, and each inner node the moment its last child is ready."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import orjson

from proxies.errors import ProxyError
from workbench.agents.errors import AgentGaveUp
from workbench.agents.evidence.look_up import LookUp
from workbench.agents.synthesizers.root_prior import Prior, state_prior
from workbench.engine.access.web_access import LooksUp, look_up, write_look_up
from workbench.engine.leaves.grounding import Sitting, check_proofs, ground_claim, ground_leaf
from workbench.engine.rebuy import RebuyNeeded
from workbench.engine.record.recorder import Put
from workbench.errors import ProviderError, WorkbenchError, command, sentence
from workbench.models.base import NodeRef
from workbench.models.errors import AccountRefused, ModelError
from workbench.plug_points import RULES, package_of
from workbench.propositions import ROOT, Belief, NodeId, Rule
from workbench.resources import is_resource_error
from workbench.store import StoreFull
from workbench.store import events as ev
from workbench.synthesis import PooledRule, RuleError, evaluate


class LeavesLeft(WorkbenchError):
    """A sitting that was kept to some nodes has done them, and the claim still waits for others: resumable."""

    exit_code = 3


class TreeGrounding:
    """Grounds and combines the planned tree of one run and checks its proofs; with ``only`` these nodes and what follows above them."""

    def __init__(self, sitting: Sitting, *, only: Collection[NodeId] = ()) -> None:
        self._sitting = sitting
        self._only = frozenset(only)
        #: What this sitting may touch, where it is kept to some nodes.
        self._reached = self._only.union(*(sitting.state.tree.ancestors(node) for node in self._only))
        self._prior: asyncio.Task[Prior | Exception | None] | None = None
        self._direct: asyncio.Task[bool] | None = None

    async def ground(self) -> None:
        """Ground every leaf and combine every inner node that has no belief yet; returns when the root has one.

        Raises `ProviderError`: Some node failed for good; the others are kept. Raises `LeavesLeft`: None did, but this sitting was kept to
        some nodes and others have no value. Raises `RebuyNeeded`: A request has changed to which a reply is on record; leaves in work were
        brought to their next request.
        """
        tasks: dict[NodeId, asyncio.Task[bool]] = {}
        try:
            async with asyncio.TaskGroup() as group:
                if self._asks_prior():
                    self._prior = group.create_task(self._state_prior(), name="prior")
                if self._forecasts_directly():
                    self._direct = group.create_task(ground_claim(self._sitting, group), name="direct")
                # Children before parents, so that a parent finds its children's tasks: ids() is depth-first.
                for node in reversed(list(self._sitting.state.tree.ids())):
                    tasks[node] = group.create_task(self._watched(node, tasks, group), name=node)
        except BaseExceptionGroup as group:  # a leaf's failure is a value: what comes here stops the run
            raise first_error(group) from None
        if not tasks["P0"].result():
            if self._sitting.gateway.blocked is not None:
                raise self._sitting.gateway.blocked
            if self._only and (line := self._left_line()) is not None:
                raise LeavesLeft(line)
            raise ProviderError(self._failure_line())

    def _asks_prior(self) -> bool:
        """Whether the claim's own prior is asked for: not of the analyst that ships with the workbench, who has his base rate."""
        state = self._sitting.state
        return (
            state.settings.agent.root_prior
            and not state.settings.stays_here
            and getattr(self._sitting.synthesizer, "takes_prior", False)
            and self._sitting.gateway.prompts.has("prior")
            and bool(state.tree.root.children)
            and (state.tree.root.belief is None or bool(state.reopened))
            and (not self._only or "P0" in self._reached)
        )

    def _forecasts_directly(self) -> bool:
        """Whether the claim is to be forecast without its drivers too, and has not been: its rule holds what came of that."""
        state = self._sitting.state
        return (
            state.settings.direct > 0
            and bool(state.tree.root.children)
            and ROOT not in state.pooled
            and self._standing(ROOT) is None
            and (not self._only or ROOT in self._reached)
        )

    async def _state_prior(self) -> Prior | Exception | None:
        """Ask for the claim's own prior beside its leaves; what goes wrong is told to whoever waits for it.

        A model that gives no usable one leaves the claim without: nothing hangs on it but a second look.
        """
        state = self._sitting.state
        cutoff, root = state.parsed_cutoff(), state.tree.root
        ask = self._sitting.gateway.asker(
            run=state.run_id,
            node="P0",
            trial=0,
            attempt=1 + len(state.failures.get("P0", ())),
            role="synthesizer",
        )
        try:
            return await state_prior(
                NodeRef(id="P0", statement=root.statement),
                cutoff=cutoff,
                ask=ask,
                settings=state.settings.agent,
            )
        except AgentGaveUp:
            return None
        except (ModelError, RebuyNeeded) as error:
            return error

    async def _watched(
        self, node: NodeId, tasks: Mapping[NodeId, asyncio.Task[bool]], checks: asyncio.TaskGroup
    ) -> bool:
        """Bring one node to its belief; a machine that gives no more ends the asking of all, before they are cancelled."""
        try:
            return await self._node(node, tasks, checks)
        except BaseException as error:
            if isinstance(error, StoreFull) or is_resource_error(error):
                self._sitting.gateway.out_of_room = error
            raise

    async def _node(
        self, node: NodeId, tasks: Mapping[NodeId, asyncio.Task[bool]], checks: asyncio.TaskGroup
    ) -> bool:
        """Bring one node to its belief; True when it has one. Failures are on the log, not raised."""
        state = self._sitting.state
        proposition = state.tree[node]
        if self._only and node not in self._reached:
            return proposition.belief is not None
        if not proposition.children:
            if state.due(node):
                return await ground_leaf(self._sitting, node, checks)
            check_proofs(self._sitting, node, checks)
            return True
        renewed = [leaf for leaf in state.reopened if node in state.tree.ancestors(leaf)]
        if proposition.belief is not None and not renewed:
            return True
        # One after another is as fast as all at once: the children's tasks run already, this only collects them.
        ready = [await tasks[child] for child in proposition.children]
        if not all(ready):
            return False
        full = any(state.reopened[leaf] == "full" for leaf in renewed)
        if self._standing(node) is not None and proposition.rule is not None and not full:
            # Read anew: the children's values have moved while they were waited for.
            value = evaluate(self._sitting.state.tree).values.get(node)
            if value is not None:
                self._recompute(node, value)
                return True
        return await self._synthesize(node)

    def _standing(self, node: NodeId) -> Belief | None:
        state = self._sitting.state
        return state.tree[node].belief or (state.follows.beliefs.get(node) if state.follows else None)

    def _recompute(self, node: NodeId, value: float) -> None:
        """Let a node follow a leaf that was grounded again, by the rule that it has: no model is asked."""
        proposition = self._sitting.state.tree[node]
        belief, rule = self._standing(node), proposition.rule
        assert belief is not None and rule is not None
        if proposition.belief is not None and value == belief.p:
            return
        self._record_rule(node, rule, replace(belief, p=value))

    def _record_rule(
        self, node: NodeId, rule: Rule, belief: Belief, looked_up: LookUp | None = None, attempt: int = 0
    ) -> None:
        data = rule.to_json()

        def synthesized(put: Put) -> ev.NodeSynthesized:
            report, record = put(belief.report), None
            if looked_up is not None:
                body = put(orjson.dumps(looked_up.to_json(), option=orjson.OPT_SORT_KEYS))
                record = ev.LookUpRecord(attempt=attempt, body=body)
            return ev.NodeSynthesized(
                node=node,
                rule=data,
                package=package_of(RULES, str(data.get("name"))),
                p=belief.p,
                key_factor=belief.key_factor,
                report=report,
                looked_up=record,
            )

        self._sitting.recorder.record(synthesized)

    async def _synthesize(self, node: NodeId) -> bool:
        state = self._sitting.state
        # Each failure moves the attempt on, so a resumed run asks anew instead of replaying replies that were no use.
        attempt = 1 + len(state.failures.get(node, ()))
        # Leaves that a person had grounded again change what a node above is asked.
        ask = self._sitting.gateway.asker(
            run=state.run_id,
            node=node,
            trial=0,
            attempt=attempt,
            role="synthesizer",
            renewed=any(node in state.tree.ancestors(leaf) for leaf in state.reopened),
        )
        looked_up: LookUp | None = None
        try:
            more: dict[str, Any] = {}
            if node == "P0" and self._prior is not None:
                more["prior"] = prior = await self._prior
                if isinstance(prior, Exception):
                    raise prior
            synthesizer = self._sitting.synthesizer
            if isinstance(synthesizer, LooksUp) and synthesizer.looks_up:
                looked_up = more["looked_up"] = await look_up(self._sitting, synthesizer, node, attempt, ask)
            if node == ROOT and self._direct is not None and not await self._direct:
                return False
            rule, belief = await synthesizer.synthesize(
                state.tree[node],
                list(state.tree.children(node)),
                cutoff=state.parsed_cutoff(),
                ask=ask,
                **more,
            )
        except AgentGaveUp as error:
            self._sitting.recorder.record(ev.NodeFailed(node=node, reason=str(error)))
            return False
        except AccountRefused:
            raise  # nobody in this run will be answered: it stops once
        except (ModelError, ProxyError, RebuyNeeded) as error:
            # No fault of the replies: the next sitting asks at the same addresses, and those it has it need not buy again.
            self._sitting.recorder.record(ev.NodeWaiting(node=node, reason=str(error)[:1000]))
            return False
        if looked_up is not None:
            # Before the event that vouches for it: a kill between them leaves a file that is written again.
            await asyncio.to_thread(write_look_up, self._sitting, looked_up, node, attempt)
        direct = self._sitting.state.pooled.get(ROOT) if node == ROOT else None
        if direct is not None:
            pooled = PooledRule(rule, direct, state.settings.tree_weight)
            rule, belief = pooled, replace(belief, p=pooled.pooled(belief.p))
        try:
            self._record_rule(node, rule, belief, looked_up, attempt)
        except RuleError as error:
            # A synthesizer of another package may bring a rule that nobody registered: its result cannot be read back.
            reason = f"the {state.settings.rule} synthesizer's rule cannot be recorded: {error}"
            self._sitting.recorder.record(ev.NodeFailed(node=node, reason=reason))
            return False
        return True

    def _left_line(self) -> str | None:
        """Return which nodes were left out of this sitting; None where one of its own, or a node above, failed."""
        state = self._sitting.state
        failed = [node for node in state.tree.inner() if state.node_status(node) == "failed"]
        if not self._reached.isdisjoint(failed) or any(
            state.tree[node].belief is None for node in self._only
        ):
            return None
        left = [*(leaf for leaf in state.tree.leaves() if state.tree[leaf].belief is None), *failed]
        verb = "has its value" if len(self._only) == 1 else "have their values"
        return sentence(
            f"{', '.join(state.tree.in_order(self._only))} {verb}; {', '.join(left)} still without: ",
            command("resume", state.run_id),
            " does the rest",
        )

    def _failure_line(self) -> str:
        state = self._sitting.state
        leaves = [leaf for leaf in state.tree.leaves() if state.node_status(leaf) == "failed"]
        inner = [node for node in state.tree.inner() if state.node_status(node) == "failed"]
        first = next(
            (t.failure for (n, _), t in state.trials.items() if n in (*leaves, *inner) and t.failure),
            next((state.waiting.get(n) or state.failures[n][-1] for n in inner), "no reason on record"),
        )
        done = sum(1 for leaf in state.tree.leaves() if state.node_status(leaf) == "grounded")
        return sentence(
            f"{', '.join(leaves + inner)} failed for good ({first}); {done} of {len(list(state.tree.leaves()))} drivers have theirs: ",
            command("resume", state.run_id),
            " tries the rest again",
        )


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the one exception of a group that matters most: ours before a stranger's, each in the order raised."""
    flat: list[BaseException] = []
    pending = list(reversed(group.exceptions))
    while pending:
        error = pending.pop()
        if isinstance(error, BaseExceptionGroup):
            pending.extend(reversed(error.exceptions))
        else:
            flat.append(error)
    # min() returns the first of equals, so among errors of one kind the order raised decides.
    return min(flat, key=lambda error: not isinstance(error, WorkbenchError))
