"""Homes, files and configuration folders that are no such thing: one line and exit 2, and what stood there stays."""

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from proxies.atomic import replace_file
from tests.command_line import run_cli, run_process
from tests.engine.test_signatures import CONFIG
from tests.fakes.small_run import RUN, make_small_run
from workbench.signing_keys import public_key_of, trusted_names

LONG = "x" * 300


def refused(done: Any) -> str:
    assert done.returncode == 2, (done.returncode, done.stderr)
    (line,) = done.stderr.splitlines()
    assert line.startswith("workbench: ") and len(line) < 700
    return str(line)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    make_small_run(tmp_path / "home")
    return tmp_path


def test_an_export_goes_through_a_link_and_into_a_device_and_replaces_neither(place: Path) -> None:
    """By links of this test's own: were the guard off, the links would be lost and no device."""
    for name, target in (("device", "/dev/null"), ("elsewhere", "other/tree.json"), ("full", "/dev/full")):
        (place / name).symlink_to(target)
    for name in ("device", "elsewhere"):
        done = run_cli(place, "export", RUN, "--to", "json", "-o", name)
        assert done.returncode == 0, done.stderr
        assert (place / name).is_symlink(), name
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert (place / "other" / "tree.json").read_text().startswith("{")
    full = run_cli(place, "export", RUN, "--to", "json", "-o", "full")
    assert full.returncode == 3 and "disk is full" in full.stderr and (place / "full").is_symlink()


def test_a_reader_at_the_other_end_of_a_pipe_gets_the_export(place: Path) -> None:
    os.mkfifo(place / "pipe")
    texts: list[bytes] = []
    reader = threading.Thread(target=lambda: texts.append((place / "pipe").read_bytes()), daemon=True)
    reader.start()
    assert run_cli(place, "export", RUN, "--to", "json", "-o", "pipe").returncode == 0
    reader.join(60)
    assert texts[0].startswith(b"{") and stat.S_ISFIFO((place / "pipe").stat().st_mode)


def test_what_lies_in_the_data_folder_is_replaced_and_never_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "tree.json").symlink_to(victim)
    replace_file(tmp_path / "tree.json", b"new", private=True)
    assert victim.read_text() == "mine" and (tmp_path / "tree.json").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["folder", LONG, "file/below", "loop"])
def test_an_export_to_what_is_no_file_is_one_line_and_leaves_nothing(place: Path, name: str) -> None:
    (place / "folder").mkdir()
    (place / "file").write_text("x")
    (place / "loop").symlink_to("loop")
    before = sorted(os.listdir(place))
    assert "cannot write" in refused(run_cli(place, "export", RUN, "--to", "json", "-o", name))
    assert sorted(os.listdir(place)) == before


def test_a_file_with_too_long_a_name_is_no_file_to_import(place: Path) -> None:
    assert "no file" in refused(run_cli(place, "import", LONG))


@pytest.mark.parametrize("home", [LONG, "/".join(["y" * 200] * 25), "loop", "file", "pipe", "file/below"])
def test_a_home_that_can_be_none_is_one_line(tmp_path: Path, home: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    for words in (("runs",), ("show", "last"), ("import", "file")):
        refused(run_cli(tmp_path, *words, WORKBENCH_HOME=str(tmp_path / home)))


def test_a_home_by_a_link_is_the_home_and_no_home_at_all_is_the_persons_own(place: Path) -> None:
    (place / "link").symlink_to("home")
    assert RUN in run_cli(place, "runs", WORKBENCH_HOME="link").stdout
    assert run_cli(place, "runs", WORKBENCH_HOME="", XDG_DATA_HOME=str(place / "data")).returncode == 0
    assert (place / "data" / "analyst-workbench" / "workbench.db").is_file()


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("runs"), lambda path: path.write_text("x")])
def test_a_home_whose_runs_are_no_folder_is_one_line(tmp_path: Path, make: Any) -> None:
    (tmp_path / "home").mkdir()
    make(tmp_path / "home" / "runs")
    words = ("analyze", "The VIX closes above 20 on 2018-12-31", "--cutoff", "2018-11-01", "--plan-only")
    assert "is not a folder" in refused(run_cli(tmp_path, *words))


@pytest.mark.long
def test_a_home_whose_name_is_no_text_has_its_documents(tmp_path: Path) -> None:
    home = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    done = run_process(tmp_path, "doctor", "--json", WORKBENCH_HOME=home)
    assert done.returncode == 0 and '"home"' in done.stdout, done.stderr[-500:]


@pytest.mark.parametrize("what", ["file", "link to nothing", "name too long"])
def test_keys_where_no_folder_can_be_are_one_line(tmp_path: Path, what: str) -> None:
    home = tmp_path / (LONG if what == "name too long" else "person")
    if what != "name too long":
        home.mkdir()
        (home / ".config").symlink_to("nowhere") if "link" in what else (home / ".config").write_text("x")
    for words in (
        ("keys", "new"),
        ("keys", "trust", "alice", f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{'A' * 43}"),
    ):
        assert "folder of your keys" in refused(run_cli(tmp_path, *words, HOME=str(home)))


def test_names_that_differ_in_capitals_alone_are_not_both_trusted(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    first, second = (public_key_of(Ed25519PrivateKey.generate()) for _ in range(2))
    assert run_cli(tmp_path, "keys", "trust", "alice", first).returncode == 0
    for name in ("Alice", "ALICE", "alice"):
        assert "already" in refused(run_cli(tmp_path, "keys", "trust", name, second))


@pytest.mark.long
def test_keys_that_are_trusted_at_once_are_all_on_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    keys = {f"person{n}": public_key_of(Ed25519PrivateKey.generate()) for n in range(4)}
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda item: run_process(tmp_path, "keys", "trust", *item), keys.items()))
    assert [one.returncode for one in done] == [0] * 4
    monkeypatch.setattr("workbench.signing_keys.config_folder", lambda: tmp_path / CONFIG)
    assert {name: key for key, name in trusted_names().items()} == keys
