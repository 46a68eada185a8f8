"""The tests' own way to run a command shows what a process shows."""

from pathlib import Path

import pytest

from tests.command_line import run_cli, run_process
from tests.fakes.screens import RUN, make_run


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("analyze", "The moon is made of cheese", "--cutoff", "2018-06-30"),
        ("whatif", RUN, "--set", "P2.1=0.0", "--add", "P2=It rains", "--json"),
        ("export", RUN, "--to", "csv"),
    ],
    ids=lambda words: words[0],
)
def test_in_this_process_or_in_one_of_its_own(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    make_run(tmp_path / "home")
    here, there = run_cli(tmp_path, *arguments), run_process(tmp_path, *arguments)
    assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)
    assert here.stdout or here.stderr


def test_a_command_does_not_see_the_variables_and_the_folder_of_the_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", "/nowhere")
    monkeypatch.setenv("FRED_API_KEY", "of-this-machine")
    (tmp_path / ".env").write_text("BRAVE_API_KEY=abcdefghijklmnop0123456789abcdef\n")
    before = Path.cwd()
    report = run_cli(tmp_path, "doctor", "--json").stdout
    assert (
        "FRED_API_KEY" not in report.partition("keys_set")[2].partition("]")[0] and "BRAVE_API_KEY" in report
    )
    assert str(tmp_path / "home") in report
    assert Path.cwd() == before


def test_a_bug_of_ours_ends_in_a_traceback_and_exit_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("workbench.store.Store.run_ids", broken)
    done = run_cli(tmp_path, "runs")
    assert done.returncode == 1 and "Traceback" in done.stderr and "ZeroDivisionError: ours" in done.stderr
