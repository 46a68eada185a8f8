"""From a leaf to its belief: its trials side by side or one after another, and the one probability that they give."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from sandbox.record.journal import read_journal
from sandbox.record.notebook import render_notebook
from workbench.engine.run.aggregation import Aggregation
from workbench.engine.run.files import write_notebook
from workbench.engine.run.proof_names import journal_name, notebook_name
from workbench.engine.run.recorder import Recorder
from workbench.engine.run.trial_grounding import TrialGrounding
from workbench.propositions import Belief, NodeId
from workbench.store import events as ev


class LeafGrounding:
    """Grounds the leaves of one run: ``trials`` does each trial, and what they say becomes one belief here."""

    def __init__(self, recorder: Recorder, trials: TrialGrounding) -> None:
        self._recorder = recorder
        self._trials = trials

    async def leaf(self, node: NodeId) -> bool:
        """Run the trials of a leaf and record its pooled belief; called once per leaf by ``TreeGrounding``.

        A trial that failed for good is a dead trial: the leaf counts by the others. Returns False if all are dead, or if one
        waits for another sitting: the reason is on the log, nothing is raised, other leaves go on.
        """
        aggregation = self._recorder.state.settings.aggregation
        trials: Sequence[int] = range(1, self._recorder.state.settings.trials + 1)
        if aggregation.stop_spread is None:
            async with asyncio.TaskGroup() as group:
                for trial in trials:
                    group.create_task(self._trials.ground(node, trial), name=f"{node}.{trial}")
        else:
            trials = await self._until_agreed(node, trials, aggregation)
        ended = [self._recorder.state.trial(node, trial) for trial in trials]
        beliefs = [trial.belief for trial in ended if trial.belief is not None and not trial.again]
        if any(trial.open for trial in ended):
            return False
        if not beliefs:
            return await self._keep_earlier(node)
        values = [belief.p for belief in beliefs]
        self._recorder.record(
            lambda put: ev.LeafPooled(
                node=node,
                p=aggregation.combine(values, dead=len(ended) - len(beliefs)),
                key_factor=beliefs[0].key_factor,
                report=put(_pooled_report(beliefs)),
                trials=tuple(values),
                dead=len(ended) - len(beliefs),
            )
        )
        return True

    async def _until_agreed(
        self, node: NodeId, trials: Sequence[int], aggregation: Aggregation
    ) -> Sequence[int]:
        """Run trials one after another until those concluded agree; return the numbers of those that were run.

        One that waits for another sitting ends it for this one: whether a further trial is due depends on its belief.
        """
        values: list[float] = []
        for count, trial in enumerate(trials, 1):
            await self._trials.ground(node, trial)
            ended = self._recorder.state.trial(node, trial)
            if ended.open:
                return trials[:count]
            if ended.belief is not None and not ended.again:
                values.append(ended.belief.p)
            if aggregation.enough(values):
                return trials[:count]
        return trials

    async def _keep_earlier(self, node: NodeId) -> bool:
        """Let what a leaf concluded before stand, where grounding it again came to nothing; False if there is no such."""
        store, state = self._recorder.store, self._recorder.state
        if state.tree[node].belief is None:
            return False
        for trial in range(1, state.settings.trials + 1):
            proof = state.trial(node, trial)
            if proof.belief is None or proof.journal_head is None:
                continue
            # The attempt that failed has written its own notebook in the place of this one.
            journal = store.folder(state.run_id) / "sessions" / journal_name(node, trial, proof.concluded)
            notebook = store.folder(state.run_id) / "proofs" / notebook_name(node, trial)
            await asyncio.to_thread(
                _write_from_journal, journal, notebook, f"{node}: {state.tree[node].statement}"
            )
        return True


def _write_from_journal(journal: Path, notebook: Path, title: str) -> None:
    write_notebook(notebook, render_notebook(read_journal(journal), title=title))


def _pooled_report(beliefs: list[Belief]) -> str:
    if len(beliefs) == 1:
        return beliefs[0].report
    return "\n\n".join(
        f"Trial {trial}: p = {belief.p:.4f}\n\n{belief.report}" for trial, belief in enumerate(beliefs, 1)
    )
