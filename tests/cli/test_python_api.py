"""What a notebook uses on a run: its proofs, and the magics."""

import pytest

import workbench as wb
from tests.conftest import FinishedRun
from workbench.errors import UsageError
from workbench.magics import load_ipython_extension


@pytest.fixture
def analysis(demo: FinishedRun, monkeypatch: pytest.MonkeyPatch) -> "wb.Analysis":
    monkeypatch.setenv("WORKBENCH_HOME", str(demo.home / "home"))
    return wb.open_run(demo.run_id)


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
