"""Shell completion: commands, options, and the runs of this home."""

from pathlib import Path

from tests.command_line import run_process
from tests.fakes.screens import RUN, make_run


def offered(home: Path, *words: str) -> list[str]:
    done = run_process(
        home,
        _WORKBENCH_COMPLETE="complete_bash",
        COMP_WORDS=" ".join(("workbench", *words)),
        COMP_CWORD=str(len(words)),
    )
    return done.stdout.split()


def test_tab_offers_commands_and_runs(tmp_path: Path) -> None:
    """S3: No shell completion."""
    assert set(offered(tmp_path, "re")) == {"read", "resume", "refit", "reground", "review"}, (
        "not the names from before the groups"
    )
    assert offered(tmp_path, "show", "") == [] and not (tmp_path / "home").exists(), "Tab makes no home"
    make_run(tmp_path / "home")
    assert offered(tmp_path, "show", "2018") == [RUN]
