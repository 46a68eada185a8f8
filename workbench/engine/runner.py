"""The main job: a statement becomes a tree, its leaves are grounded side by side, every parent follows its last child.

All that happens goes through ``_tell``: it is appended to the log and only then shown. A leaf that fails is a value; its
siblings go on. What stops a run for good (no isolation, no model, a used-up budget, Ctrl-C) leaves it resumable.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from proxies.asof.clock import Cutoff
from proxies.broker import Broker, BrokerSession
from proxies.catalogue import Catalogue, api_doc, api_map, api_search
from proxies.ledger import Address, Answer
from sandbox import Limits, Sandbox, SessionSpec
from sandbox.errors import KernelStartFailed
from workbench.agents.base import Grounding, GroundingFailure, LeafTask
from workbench.agents.errors import AgentGaveUp
from workbench.agents.registry import open_analyzer, open_grounder, open_synthesizer
from workbench.engine.asking import Budget, ModelDesk
from workbench.engine.files import write_files
from workbench.engine.report import write_report
from workbench.engine.settings import RunSettings
from workbench.engine.state import RunState, apply, load_state, notebook_name, put_tree
from workbench.engine.verification import verify_trial
from workbench.errors import BudgetStop, ProviderError, UsageError, WorkbenchError
from workbench.forecasting.pooling import pool_logit_mean
from workbench.models.base import Model, NodeRef
from workbench.models.errors import ModelError
from workbench.propositions import NodeId, Tree
from workbench.propositions.growth import next_leaf, recursion_round
from workbench.store import ApiLedger, ModelLedger, Store, StoredEvent
from workbench.store import events as ev
from workbench.store.database import utc_now

Listener = Callable[[RunState, StoredEvent], None]

#: Longest statement that is taken: a claim is a sentence, not a document.
MAX_STATEMENT = 600


@runtime_checkable
class Preflight(Protocol):
    """A model that can say, before a run is opened, that it will not treat a claim."""

    async def preflight(self, statement: str, cutoff: str, *, rule: str) -> None:
        """Return if the claim can be treated by this rule; raise a ``UsageError`` with one sentence if not."""
        ...


def check_statement(statement: str) -> str:
    """Return the statement with its white space folded; raises ``UsageError`` when it is empty or overlong."""
    text = " ".join(statement.split())
    if not text:
        raise UsageError("the statement is empty: write a proposition that will turn out true or false")
    if len(text) > MAX_STATEMENT:
        raise UsageError(
            f"the statement has {len(text)} characters, at most {MAX_STATEMENT} are taken: state one claim"
        )
    return text


def new_run(store: Store, statement: str, cutoff: Cutoff, settings: RunSettings) -> str:
    """Open a run in the log and return its id; nothing is asked of anybody yet.

    Raises ``UsageError`` for an empty or overlong statement.
    """
    text = check_statement(statement)
    run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    store.append(
        run_id,
        ev.RunStarted(
            statement=text,
            cutoff=cutoff.text,
            cutoff_instant=cutoff.instant.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            settings=settings.to_json(),
        ),
    )
    return run_id


class Engine:
    """Works on runs of one store with one broker, one sandbox and one model.

    Parameters
    ----------
    store : Store
    broker : Broker
        The only way to data; every session of a run reads through it at the run's cutoff.
    catalogue : Catalogue
        What the broker can be asked, for the prompts.
    sandbox : Sandbox
        Where notebooks run.
    model : Model
    listener : callable, optional
        Told of every event after it is on disk.
    limits : Limits, optional
        Bounds of a kernel session.
    """

    def __init__(
        self,
        store: Store,
        *,
        broker: Broker,
        catalogue: Catalogue,
        sandbox: Sandbox,
        model: Model,
        listener: Listener | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._store = store
        self._broker = broker
        self._catalogue = catalogue
        self._sandbox = sandbox
        self._model = model
        self._listener = listener or (lambda state, event: None)
        self._limits = limits or Limits()
        self._api_ledger = ApiLedger(store)

    async def check(self, statement: str, cutoff: Cutoff, settings: RunSettings) -> None:
        """Refuse a claim before a run is opened for it: by its form, by the names it uses, by what the model can treat.

        Raises ``UsageError``.
        """
        text = check_statement(statement)
        open_grounder(settings.grounder, settings.agent)
        open_synthesizer(settings.rule, settings.agent)
        if isinstance(self._model, Preflight):
            await self._model.preflight(text, cutoff.text, rule=settings.rule)

    async def work(self, run_id: str, *, plan_only: bool = False) -> RunState:
        """Bring a run as far as it goes and return its state.

        Raises
        ------
        ProviderError
            A leaf, a synthesis or the analyzer failed for good; all else is kept, the run can be resumed.
        BudgetStop
            The budget is used up.
        IsolationUnavailable
            The sandbox cannot be made at the level the run asks for.
        """
        job = _Job(self, load_state(self._store, run_id))
        return await job.work(plan_only=plan_only)


class _Job:
    """One sitting of work on one run."""

    def __init__(self, engine: Engine, state: RunState) -> None:
        self._e = engine
        self._s = state
        settings = state.settings
        self._cutoff = Cutoff.parse(state.cutoff, now=_instant(state.cutoff_instant))
        ledger = ModelLedger(engine._store)
        self._desk = ModelDesk(
            engine._model, ledger, Budget(settings.budget_usd, ledger.cost(state.run_id) or 0.0)
        )
        self._analyzer = open_analyzer("rounds", settings.agent)
        self._grounder = open_grounder(settings.grounder, settings.agent)
        self._synthesizer = open_synthesizer(settings.rule, settings.agent)
        self._api_map = api_map(engine._catalogue)
        self._kernels = asyncio.Semaphore(settings.concurrency)

    def _tell(self, event: Any) -> None:
        run_id = self._s.run_id
        seq = self._e._store.append(run_id, event)
        stored = StoredEvent(seq, run_id, utc_now(), event)
        apply(self._e._store, self._s, stored)
        write_files(self._e._store, self._s, event)
        self._e._listener(self._s, stored)

    async def work(self, *, plan_only: bool) -> RunState:
        state = self._s
        if state.finished:
            return state
        if state.stopped is not None or state.planned:
            self._tell(ev.RunResumed())
        try:
            if not state.planned:
                await self._plan()
            if plan_only:
                self._tell(
                    ev.RunStopped(why="plan-only", detail="the tree stands; `workbench resume` grounds it")
                )
                return state
            await self._seal()
            await self._ground_and_synthesize()
        except UsageError as error:
            self._tell(ev.RunStopped(why="refused", detail=str(error)))
            raise
        except BudgetStop as error:
            self._tell(ev.RunStopped(why="budget", detail=str(error)))
            raise
        except ProviderError as error:
            self._tell(ev.RunStopped(why="failure", detail=str(error)))
            raise
        except (asyncio.CancelledError, KeyboardInterrupt):
            self._tell(ev.RunStopped(why="interrupt", detail="stopped by hand"))
            raise
        root = state.tree.root
        assert root.belief is not None
        self._tell(ev.RunFinished(p=root.belief.p))
        write_report(self._e._store, state)
        return state

    # -- the tree

    async def _plan(self) -> None:
        """Let the analyzer build the tree, then deepen it: n - 1 more rounds over all leaves, or leaf by leaf to a target.

        Depth is Analytica^n (paper A, section 4.4), the target its leaf scaling (section 5.3). Each further analysis sees one
        proposition as its root and answers in local ids; a leaf that cannot be broken down further stays a leaf.
        """
        settings = self._s.settings
        try:
            tree = await self._analyze(Tree.root_only(self._s.statement), "P0")
        except AgentGaveUp as error:
            self._tell(ev.NodeFailed(node="P0", reason=str(error)))
            raise
        tried: set[NodeId] = set()
        for _ in range(1, settings.depth):
            for leaf in recursion_round(tree, tried):
                tried.add(leaf)
                tree = await self._deepen(tree, leaf)
        if settings.leaf_target is not None:
            while (following := next_leaf(tree, settings.leaf_target, tried)) is not None:
                tried.add(following)
                tree = await self._deepen(tree, following)
        self._tell(ev.TreePlanned(tree=put_tree(self._e._store, tree)))

    async def _deepen(self, tree: Tree, leaf: NodeId) -> Tree:
        """Return the tree with a leaf analyzed as the root of its own analysis, or as it was where that is refused."""
        try:
            return await self._analyze(Tree.root_only(tree[leaf].statement), leaf, onto=tree)
        except (AgentGaveUp, UsageError) as error:
            # A model may know no more of an elementary proposition, or repeat one that the tree holds already.
            self._tell(ev.LeafKept(node=leaf, reason=str(error)))
            return tree

    async def _analyze(self, local: Tree, at: NodeId, *, onto: Tree | None = None) -> Tree:
        rounds = 0

        def whole(tree: Tree) -> Tree:
            return tree if onto is None else onto.graft(at, tree)

        async def on_round(tree: Tree) -> None:
            nonlocal rounds
            rounds += 1
            self._tell(ev.TreeExpanded(node=at, tree=put_tree(self._e._store, whole(tree)), round=rounds))

        ask = self._desk.at(
            run=self._s.run_id, node=at, trial=0, attempt=1 + len(self._s.failures.get("P0", ()))
        )
        return whole(await self._analyzer.analyze(local, cutoff=self._cutoff, ask=ask, on_round=on_round))

    # -- leaves and parents

    async def _seal(self) -> None:
        """Find out, by trying, that kernels can be sealed at the asked level; fail closed."""
        asked = self._s.settings.isolation
        report = await self._e._sandbox.probe()
        report.require(asked)
        self._tell(ev.RunSealed(isolation=asked, refused=tuple(report.refused)))

    async def _ground_and_synthesize(self) -> None:
        tree = self._s.tree
        tasks: dict[NodeId, asyncio.Task[bool]] = {}
        try:
            async with asyncio.TaskGroup() as group:
                # Children before parents, so that a parent finds its children's tasks: ids() is depth-first.
                for node in reversed(list(tree.ids())):
                    tasks[node] = group.create_task(self._node(node, tasks), name=node)
        except BaseExceptionGroup as group:  # a leaf's failure is a value: what comes here stops the run
            raise first_error(group) from None
        if not tasks["P0"].result():
            raise ProviderError(self._failure_line())

    async def _node(self, node: NodeId, tasks: Mapping[NodeId, asyncio.Task[bool]]) -> bool:
        """Bring one node to its belief; True when it has one. Failures are on the log, not raised."""
        if self._s.tree[node].belief is not None:
            return True
        children = self._s.tree[node].children
        if not children:
            return await self._leaf(node)
        ready = [await tasks[child] for child in children]
        return all(ready) and await self._synthesize(node)

    async def _synthesize(self, node: NodeId) -> bool:
        tree = self._s.tree
        ask = self._desk.at(
            run=self._s.run_id, node=node, trial=0, attempt=1 + len(self._s.failures.get(node, ()))
        )
        try:
            rule, belief = await self._synthesizer.synthesize(
                tree[node], [tree[child] for child in tree[node].children], cutoff=self._cutoff, ask=ask
            )
        except (AgentGaveUp, ModelError) as error:
            self._tell(ev.NodeFailed(node=node, reason=str(error)))
            return False
        self._tell(
            ev.NodeSynthesized(
                node=node,
                rule=rule.to_json(),
                p=belief.p,
                key_factor=belief.key_factor,
                report=self._e._store.put_body(belief.report),
            )
        )
        return True

    async def _leaf(self, node: NodeId) -> bool:
        trials = range(1, self._s.settings.trials + 1)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._trial(node, trial), name=f"{node}.{trial}") for trial in trials]
        if not all(task.result() for task in tasks):
            return False
        beliefs = [self._s.trial(node, trial).belief for trial in trials]
        values = [belief.p for belief in beliefs if belief is not None]
        first = beliefs[0]
        assert first is not None
        report = (
            first.report
            if len(values) == 1
            else "\n\n".join(
                f"Trial {trial}: p = {belief.p:.4f}\n\n{belief.report}"
                for trial, belief in zip(trials, beliefs, strict=True)
                if belief
            )
        )
        self._tell(
            ev.LeafPooled(
                node=node,
                p=pooled(values),
                key_factor=first.key_factor,
                report=self._e._store.put_body(report),
                trials=tuple(values),
            )
        )
        return True

    async def _trial(self, node: NodeId, trial: int) -> bool:
        """Ground a leaf once, in as many attempts as it takes and is allowed."""
        known = self._s.trial(node, trial)
        if known.belief is not None:
            return True
        attempt = known.attempt if known.open else known.attempt + 1
        last = attempt + self._s.settings.max_proof_retries - 1
        while True:
            async with self._kernels:
                outcome = await self._attempt(node, trial, attempt)
            if isinstance(outcome, Grounding):
                self._tell(
                    ev.LeafGrounded(
                        node=node,
                        trial=trial,
                        attempt=attempt,
                        p=outcome.belief.p,
                        key_factor=outcome.belief.key_factor,
                        report=self._e._store.put_body(outcome.belief.report),
                        steps=outcome.steps,
                        failed_cells=outcome.failed_cells,
                    )
                )
                await self._verify(node, trial)
                return True
            final = attempt >= last or not outcome.retryable
            self._tell(
                ev.LeafFailed(node=node, trial=trial, attempt=attempt, reason=outcome.reason, final=final)
            )
            if final:
                return False
            attempt += 1

    async def _verify(self, node: NodeId, trial: int) -> None:
        """Re-run a concluded proof from the ledger and put on record whether it shows the same."""
        async with self._kernels:
            found = await verify_trial(
                self._e._store, self._s, node, trial, sandbox=self._e._sandbox, limits=self._e._limits
            )
        lines = tuple(f"{item.check} {item.cell or ''}: {item.what}"[:300] for item in found.differing)
        self._tell(ev.LeafVerified(node=node, trial=trial, verified=found.verified, differing=lines))

    async def _attempt(self, node: NodeId, trial: int, attempt: int) -> Grounding | GroundingFailure:
        state = self._s
        if not state.trial(node, trial).open:
            self._tell(ev.LeafStarted(node=node, trial=trial, attempt=attempt))
        folder = self._e._store.folder(state.run_id)
        statement = state.tree[node].statement
        spec = SessionSpec(
            name=f"{node}.{trial}.{attempt}",
            journal=folder / "sessions" / f"{node}.{trial}.{attempt}.jsonl",
            notebook=folder / "proofs" / notebook_name(node, trial),
            isolation=state.isolation or state.settings.isolation,
            limits=self._e._limits,
            title=f"{node}: {statement}",
            metadata={
                "run": state.run_id,
                "node": node,
                "trial": trial,
                "attempt": attempt,
                "cutoff": state.cutoff,
            },
        )
        data = self._e._broker.session(self._cutoff, self._e._api_ledger, strict=state.settings.strict)
        call_api = _CellCaller(data, state.run_id, node, trial, attempt)
        try:
            session = await self._e._sandbox.open(spec, call_api)
        except KernelStartFailed as error:
            return GroundingFailure(reason=str(error), retryable=True)
        try:
            return await self._grounder.ground(
                LeafTask(
                    node=NodeRef(id=node, statement=statement),
                    cutoff=self._cutoff,
                    ask=self._desk.at(run=state.run_id, node=node, trial=trial, attempt=attempt),
                    session=session,
                    api_doc=lambda paths: api_doc(self._e._catalogue, paths),
                    api_search=lambda words: api_search(self._e._catalogue, words),
                    api_map=self._api_map,
                    settings=state.settings.agent,
                )
            )
        except ModelError as error:
            return GroundingFailure(reason=str(error), retryable=False)
        finally:
            await session.close()

    def _failure_line(self) -> str:
        state = self._s
        leaves = [leaf for leaf in state.tree.leaves() if state.node_status(leaf) == "failed"]
        inner = [node for node in state.tree.inner() if state.node_status(node) == "failed"]
        first = next(
            (t.failure for (n, _), t in state.trials.items() if n in leaves and t.failure),
            next((state.failures[n][-1] for n in inner), "no reason on record"),
        )
        done = sum(1 for leaf in state.tree.leaves() if state.node_status(leaf) == "grounded")
        return (
            f"{', '.join(leaves + inner)} failed for good ({first}); {done} of {len(list(state.tree.leaves()))} leaves are kept:"
            f" `workbench resume {state.run_id}` tries the rest again"
        )


class _CellCaller:
    """What the wire server calls for one session: adds the address and passes on to the broker."""

    def __init__(self, data: BrokerSession, run: str, node: str, trial: int, attempt: int) -> None:
        self._data = data
        self._place = (run, node, trial, attempt)

    async def __call__(self, path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Answer:
        run, node, trial, attempt = self._place
        address = Address(
            run=run, node=node, trial=trial, attempt=attempt, stage="cell", step=cell, retry=nth
        )
        return await self._data.call(path, params, address)


def pooled(values: list[float]) -> float:
    """Return what trials of a leaf count as: their logit mean; a single trial comes back unchanged, to the last bit."""
    return values[0] if len(values) == 1 else float(pool_logit_mean([values])[0])


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


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
    return min(flat, key=lambda error: not isinstance(error, WorkbenchError))
