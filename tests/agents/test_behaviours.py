"""Every behaviour of a server or a model that a review tried without kernels ends as its row says: right, or stopped and resumable."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.behaviours import BEHAVIOURS
from tests.fakes.persona_run import require_right, run
from tests.fakes.personas import Turn, Wire
from tests.models.test_account_errors import ACCOUNT
from workbench.agents.findings.check_table import RunKind
from workbench.agents.findings.statement_checks import findings_by_node
from workbench.engine.record.state import RunState

pytestmark = [
    pytest.mark.long,
    # the client silences it once, and a test begins without its filters
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
]

#: Printed by every leaf here: no kernel runs, so no data call is on record.
_NO_DATA = "asked for no data"


def findings(state: RunState) -> set[str]:
    """The checks that mark a leaf, a statement or a rule of a run."""
    of_leaves = {finding.check for trial in state.trials.values() for finding in trial.findings}
    last_day = state.parsed_cutoff().last_visible_day
    by_node = findings_by_node(state.tree, last_day, RunKind())
    of_tree = {finding.check for _, findings in by_node for finding in findings}
    return (of_leaves | of_tree) - {_NO_DATA}


@pytest.mark.parametrize("name", BEHAVIOURS)
async def test_a_behaviour_ends_as_its_row_says_and_is_resumed_once_its_server_behaves(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc")
    row = BEHAVIOURS[name]
    settings: dict[str, Any] = {} if row.tree else {"analyzer": "single"}
    ending, state, server = await run(
        "good", tmp_path, script=row.script, resume_well=True, note=None, **settings
    )
    assert (ending.kind, row.cause in ending.cause) == (row.end, True), ending
    assert state.finished and server.unread == []
    assert all(state.tree[leaf].p == pytest.approx(row.p) for leaf in state.tree.leaves())
    if row.root is not None:
        assert state.tree.root.p == pytest.approx(row.root, abs=0.001)
    if ending.kind == "right":
        assert findings(state) == set(row.findings)


SENT_AS_SUCCESS = [("any", 200, "Insufficient credits"), ("any", 200, "Not authenticated"), ("any", 200, "The model `p` does not exist")]  # fmt: skip


#: Whole runs for some; each sentence of ``ACCOUNT`` is told from a refused request in tests/models.
@pytest.mark.parametrize(("family", "status", "words"), [*ACCOUNT[::6], *SENT_AS_SUCCESS])
async def test_an_account_that_is_refused_stops_a_run_once_and_a_fallback_takes_over(
    family: str, status: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each family's words and status, in the middle of a whole run: without a fallback one stop, with one the right answer."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc")
    refusal = Wire(body={"error": {"message": words}}) if status == 200 else Wire(status=status, error={"message": words})  # fmt: skip

    def refused(turn: Turn, good: str) -> Wire | str:
        return refusal if turn.total >= 2 and turn.asked.body["model"] == "p" else good

    ending, state, server = await run("good", tmp_path / "alone", script=refused, note=None)
    assert ending.kind == "stop" and words.split(".")[0][:40] in ending.cause, ending
    # two leaves may be under way; nobody asks after that
    assert len(server.asked) <= 2 + len(state.tree.leaves())
    ending, state, server = await run("fallback", tmp_path / "team", script=refused, note=None)
    assert ending.kind == "right", ending
    require_right(state)
