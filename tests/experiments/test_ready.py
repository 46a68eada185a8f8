"""The studies that come with the workbench: each can be read, those without a model can be run as they are."""

from pathlib import Path

import pytest

from tests.command_line import run_cli
from workbench.errors import UsageError
from workbench.experiments.plan import plan_study
from workbench.experiments.ready_files import ready_studies, write_ready
from workbench.experiments.study import StudyError, read_study
from workbench.store import Store

#: What a person has to fill in.
HOLES = ("SET", "MODEL", "CONTEXTS.json", "EVENTS.csv")


def test_there_is_one_for_each_study_of_the_papers() -> None:
    assert set(ready_studies()) == {
        "calibration", "depth", "leaves", "models", "noise", "offline", "sources", "thoughts", "trials", "weights",
    }  # fmt: skip


@pytest.mark.parametrize("name", list(ready_studies()))
def test_each_is_a_study_and_lacks_only_what_it_says(name: str, tmp_path: Path) -> None:
    write_ready(name, tmp_path / "s.yaml")
    text = (tmp_path / "s.yaml").read_text()
    spec = read_study(tmp_path / "s.yaml")
    store = Store(tmp_path / "home")
    try:
        if not any(hole in text for hole in HOLES):
            assert len(plan_study(store, spec).exam) > 10 or name == "offline"
            return
        with pytest.raises(StudyError) as refusal:
            plan_study(store, spec)
        allowed = (
            "no set of questions 'SET'",
            "price of MODEL",
            "EVENTS.csv: cannot be read",
            "there is no file",
            "contexts: ",
        )
        assert all(any(word in line for word in allowed) for line in refusal.value.problems), (
            refusal.value.problems
        )
    finally:
        store.close()


def test_the_models_study_has_all_27_combinations(tmp_path: Path) -> None:
    write_ready("models", tmp_path / "m.yaml")
    assert (
        len({tuple(sorted(arm.settings["models"].items())) for arm in read_study(tmp_path / "m.yaml").arms})
        == 27
    )


def test_the_command_lists_and_writes_them(tmp_path: Path) -> None:
    assert "paper A, Table 13" in run_cli(tmp_path, "experiment", "ready").stdout
    done = run_cli(tmp_path, "experiment", "ready", "offline", "-o", "mine.yaml")
    assert done.returncode == 0 and (tmp_path / "offline.csv").is_file()
    planned = run_cli(tmp_path, "experiment", "run", "mine.yaml", "--plan-only")
    assert planned.returncode == 0 and "84 forecasts of 12 events by 7 arms" in planned.stderr
    with pytest.raises(UsageError, match="no ready study 'luck'"):
        write_ready("luck", tmp_path / "x.yaml")
