"""What a notebook uses: the public names, on the demo run."""

import pytest

import workbench as wb
from tests.conftest import FinishedRun
from workbench.blocking import run_blocking
from workbench.errors import UsageError
from workbench.magics import load_ipython_extension


@pytest.fixture
def analysis(demo: FinishedRun, monkeypatch: pytest.MonkeyPatch) -> "wb.Analysis":
    monkeypatch.setenv("WORKBENCH_HOME", str(demo.home / "home"))
    return wb.open_run(demo.run_id)


def test_an_earlier_run_opens_by_its_id_or_as_the_last(analysis: "wb.Analysis", demo: FinishedRun) -> None:
    assert analysis.run_id == demo.run_id == wb.open_run("last").run_id
    assert analysis.p == demo.document["root"]["p"]
    assert analysis.base_rate == demo.document["base_rate"]
    assert demo.document["statement"] in repr(analysis)
    html = analysis._repr_html_()
    assert "S&amp;P 500" in html and "<script" not in html


def test_a_leaf_has_a_proof_and_the_root_has_none(analysis: "wb.Analysis", demo: FinishedRun) -> None:
    proof = analysis.proof(demo.leaves[0]["id"])
    assert proof.path.is_file() and proof.notebook().cells
    assert "<script" not in proof._repr_html_()
    with pytest.raises(LookupError, match="no proof notebook"):
        analysis.proof("P0")
    with pytest.raises(UsageError):
        analysis.proof("P99")


class _Shell:
    """The part of IPython's shell that an extension meets."""

    def __init__(self) -> None:
        self.user_ns: dict[str, object] = {}
        self.magics: dict[str, object] = {}

    def register_magic_function(self, function: object, kind: str, name: str) -> None:
        self.magics[name] = function


def test_the_magics_open_a_run_and_refuse_a_cell_without_a_cutoff(
    analysis: "wb.Analysis", demo: FinishedRun
) -> None:
    shell = _Shell()
    load_ipython_extension(shell)
    found = shell.magics["run_of"](demo.run_id)  # type: ignore[operator]
    assert shell.user_ns["analysis"] is found
    with pytest.raises(UsageError, match="--cutoff"):
        shell.magics["proposition"]("", "It rains")  # type: ignore[operator]
    with pytest.raises(UsageError, match="real model"):
        shell.magics["proposition"]("--cutoff 2018-06-30", "The moon is made of cheese")  # type: ignore[operator]


async def test_blocking_work_runs_while_the_callers_loop_is_busy() -> None:
    async def work() -> int:
        return 42

    assert run_blocking(work()) == 42
