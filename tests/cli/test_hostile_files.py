"""Files that strangers made, given to every command that reads one: a line and exit 2 in seconds, or they are read as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.file_readers import COMMANDS
from tests.fakes.hostile_files import hostile_texts, special_files

ROOT = Path(__file__).resolve().parents[2]


def tried(folder: Path, first: int, step: int) -> tuple[list[str], int]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fakes.file_readers", str(folder), f"{first},{step}"],
        cwd=ROOT, capture_output=True, text=True, timeout=3000, check=True,
    )  # fmt: skip
    *wrong, number = done.stdout.splitlines()
    return wrong, int(number)


def test_the_corpus_has_300_files_and_no_two_are_the_same(tmp_path: Path) -> None:
    made = {
        (kind, name): data
        for kind in ("yaml", "toml", "json", "csv", "text")
        for name, data in hostile_texts(kind)
    }
    odd = dict(special_files(tmp_path))
    assert len(made) + len(odd) >= 300 and len({*made.values()}) >= 180
    assert len(COMMANDS) * 60 > 1_500  # every command meets all of its kind


@pytest.mark.long
def test_a_sample_stops_no_command(tmp_path: Path) -> None:
    wrong, count = tried(tmp_path, 11, 157)
    assert wrong == [] and count >= 10


@pytest.mark.soak
def test_none_of_them_stops_any_command(tmp_path: Path) -> None:
    wrong, count = tried(tmp_path, 0, 1)
    assert wrong == [] and count >= 1_600
