"""Several runs together: as claims that must agree, as answers before and after, as options of one decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.errors import WANTING
from workbench.formatting import counted
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Remark, columns
from workbench.operations.fields import RunName


class Coherence(Operation):
    """Check the claims of several runs against each other: nested and exclusive claims, repeats and contraries.

    What belongs together is read from the statements; only runs with the same cutoff are compared.
    """

    places = ("runs",)

    runs: list[RunName] = []
    """Runs to compare; all finished ones without."""
    exclusive: list[Any] = []
    """RUN,RUN,...: the options of one question, of which exactly one comes true."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return ``findings`` with their ``gap``: by how much the probabilities, in [0, 1], are apart from what logic asks."""
        from workbench.whatif.run_coherence import check_runs

        groups = [
            [part.strip() for part in group.split(",") if part.strip()] if isinstance(group, str) else group
            for group in self.exclusive
        ]
        return check_runs(home.store, self.runs, groups)

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the claims and what does not fit."""
        yield from map(Remark, document["left_out"])
        if document["forecasts"]:
            yield columns(
                document["forecasts"], run="run_id", p="p %", cutoff="cutoff", statement="statement"
            )
        for finding in document["findings"]:
            yield f"{finding['kind']:10} {finding['message']}"
        count = len(document["findings"])
        yield f"not coherent: {counted(count, 'finding')}" if count else "coherent"

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 6 where something does not fit."""
        return WANTING if document["findings"] else 0


class Diff(Operation):
    """Split the change between two runs of a claim into the parts of each driver and of the rules.

    The parts sum to the change: each is the average of what it adds over the orders in which the parts change.
    """

    places = ("before", "after")

    before: str
    """The earlier run."""
    after: str
    """The later run of the same claim."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the change by parts; raises ``UsageError`` where the runs are of two claims or one has no answer."""
        # the forecaster's numerics load for whoever asks for a split
        from workbench.views.input_split import RunSplits
        from workbench.views.run_changes import run_changes
        from workbench.views.run_view import view_of

        first, second = (view_of(home.store, home.state(run)) for run in (self.before, self.after))
        return run_changes(first, second, RunSplits(home.store, first.state, second.state))

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the change, the largest part first."""
        from workbench.views.run_changes import change_lines

        yield from change_lines(document)
