"""A package says who signed it, a wrong signature is found, and trust is a label and nothing else."""

import base64
import json
import os
import re
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sandbox.kernels import probe
from sandbox.kernels.view import build_view
from tests.command_line import run_cli, run_ok
from tests.engine.test_packages import snapshot
from tests.fakes.hostile_packages import members_of, pack, with_sql
from tests.fakes.small_run import RUN, make_small_run

CONFIG = Path(".config") / "analyst-workbench"
FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")


def ok(place: Path, *words: str) -> str:
    done = run_ok(place, *words)
    return done


def line_of(done: Any) -> str:
    (line,) = done.stderr.splitlines()
    return str(line)


@pytest.fixture
def sender(tmp_path: Path) -> Path:
    """A person with a run and a key."""
    place = tmp_path / "sender"
    make_small_run(place / "home")
    ok(place, "keys", "new")
    return place


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    """A person with a data folder and nothing else."""
    place = tmp_path / "reader"
    make_small_run(place / "home", "20180101-000000-feed")
    return place


def public_key(place: Path) -> str:
    return str(json.loads(ok(place, "keys", "show", "--json"))["own"]["key"])


def signed(sender: Path) -> bytes:
    ok(sender, "export", RUN, "-o", "x.zip", "--to", "zip", "--sign")
    return (sender / "x.zip").read_bytes()


def take_in(reader: Path, package: bytes, *options: str) -> Any:
    (reader / "x.zip").write_bytes(package)
    return run_cli(reader, "import", "x.zip", *options)


def in_log(place: Path, *statements: str) -> None:
    """Change rows of a home as somebody would who can write the file."""
    with closing(sqlite3.connect(place / "home" / "workbench.db")) as db:
        db.executescript("DROP TRIGGER events_keep; DROP TRIGGER events_stay;" + ";".join(statements))


def test_a_new_key_is_its_owners_alone_and_stays(tmp_path: Path) -> None:
    printed = ok(tmp_path, "keys", "new")
    folder = tmp_path / CONFIG
    secret = (folder / "signing_key").read_bytes()
    assert stat.S_IMODE((folder / "signing_key").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    body = secret.split(b"-----")[2].split()[2]
    assert body.decode() not in printed
    again = run_cli(tmp_path, "keys", "new")
    assert again.returncode == 2 and "already" in line_of(again)
    assert (folder / "signing_key").read_bytes() == secret


def test_the_fingerprint_is_the_one_that_openssh_prints(tmp_path: Path) -> None:
    fingerprint = FINGERPRINT.search(ok(tmp_path, "keys", "new"))
    assert fingerprint is not None
    try:
        listed = subprocess.run(
            ["ssh-keygen", "-lf", str(tmp_path / CONFIG / "signing_key.pub")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("OpenSSH is not installed")
    assert fingerprint.group() in listed.stdout


def test_a_signed_package_names_its_signer_on_every_screen(sender: Path, reader: Path) -> None:
    package, key = signed(sender), public_key(sender)
    took = take_in(reader, package)
    assert took.returncode == 0, took.stderr
    unknown = "signed by an unknown key (SHA256:"
    assert unknown in took.stdout

    def screens() -> list[str]:
        return [
            ok(reader, *words)
            for words in (("runs",), ("show", RUN), ("audit", RUN), ("export", RUN, "--to", "html"))
        ]

    assert all(unknown in screen for screen in screens())
    before = json.loads(ok(reader, "verify", RUN, "P1", "--json"))
    assert before["signed"]["name"] is None and FINGERPRINT.fullmatch(before["signed"]["fingerprint"])
    ok(reader, "keys", "trust", "alice@example.org", key)
    assert all("signed by alice@example.org" in screen for screen in screens())
    after = json.loads(ok(reader, "verify", RUN, "P1", "--json"))
    assert after["signed"]["name"] == "alice@example.org"
    # a label, and nothing else
    assert before["isolation"] == after["isolation"] == probe.probed().level != "none"
    assert "signed by alice@example.org" in ok(reader, "verify", RUN, "P1")
    # what this home adds later was not signed, and does not have to be
    ok(reader, "whatif", RUN, "--set", "P1=0.1", "--scenario", "later")
    run_ok(reader, "verify", RUN, "P1")


def test_nobody_signs_without_being_asked(sender: Path, reader: Path) -> None:
    ok(sender, "export", RUN, "-o", "x.zip", "--to", "zip")
    package = (sender / "x.zip").read_bytes()
    assert "signature.json" not in members_of(package)
    assert "unsigned" in take_in(reader, package).stdout
    assert json.loads(ok(reader, "verify", RUN, "P1", "--json"))["signed"] is None
    assert "unsigned" in ok(reader, "verify", RUN, "P1")


def other_signature(package: bytes, tmp_path: Path) -> dict[str, bytes]:
    other = tmp_path / "other"
    make_small_run(other / "home", "20180101-000000-beef")
    ok(other, "keys", "new")
    ok(other, "export", "last", "-o", "x.zip", "--to", "zip", "--sign")
    return {"signature.json": members_of((other / "x.zip").read_bytes())["signature.json"]}


def other_key(package: bytes, tmp_path: Path) -> dict[str, bytes]:
    ok(tmp_path, "keys", "new")
    signature = json.loads(members_of(package)["signature.json"])
    return {"signature.json": json.dumps(signature | {"key": public_key(tmp_path)}).encode()}


def manifest(package: bytes, tmp_path: Path) -> dict[str, bytes]:
    document = json.loads(members_of(package)["run/manifest.json"])
    return {"run/manifest.json": json.dumps(document | {"packages": {"numpy": "0.1"}}).encode()}


def log(package: bytes, tmp_path: Path) -> dict[str, bytes]:
    change = "UPDATE events SET at_utc = '2020-01-01T00:00:00Z' WHERE kind = 'run.finished'"
    return with_sql(members_of(package), change)


@pytest.mark.parametrize("change", [other_signature, other_key, manifest, log])
def test_a_wrong_signature_is_exit_6_and_changes_nothing(
    sender: Path, reader: Path, tmp_path: Path, change: Any
) -> None:
    package = signed(sender)
    changed = pack({**members_of(package), **change(package, tmp_path)})
    before = snapshot(reader)
    took = take_in(reader, changed)
    assert took.returncode == 6 and "signature" in took.stdout and snapshot(reader) == before
    # the control: without its signature nothing else is amiss with it
    plain = {name: data for name, data in members_of(changed).items() if name != "signature.json"}
    assert take_in(reader, pack(plain)).returncode == 0
    assert "unsigned" in ok(reader, "show", RUN)


def test_a_point_that_is_no_key_is_a_wrong_signature(sender: Path, reader: Path) -> None:
    package = members_of(signed(sender))
    signature = json.loads(package["signature.json"])
    blob = base64.b64decode(signature["key"].split()[1])
    for point in (bytes(32), b"\xff" * 32):
        signature["key"] = "ssh-ed25519 " + base64.b64encode(blob[:-32] + point).decode()
        took = take_in(reader, pack({**package, "signature.json": json.dumps(signature).encode()}))
        assert took.returncode == 6, took.stderr


def test_a_log_that_is_changed_after_the_import_no_longer_fits_the_signature(
    sender: Path, reader: Path
) -> None:
    change = (
        "UPDATE events SET data = json_set(data, '$.key_factor', 'another') WHERE kind = 'node.synthesized'"
    )
    assert take_in(reader, signed(sender)).returncode == 0
    in_log(reader, change)
    done = run_cli(reader, "verify", RUN, "P1", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 6 and document["isolation"] is None
    assert [row["check"] for row in document["differing"]] == ["signature"]
    assert "differs   run signature" in run_cli(reader, "verify", RUN, "P1").stdout


def test_only_a_package_can_be_signed_and_only_with_a_key_of_ones_own(sender: Path, reader: Path) -> None:
    assert "only a package" in line_of(run_cli(sender, "export", RUN, "--to", "json", "--sign"))
    without = run_cli(reader, "export", "last", "--to", "zip", "-o", "y.zip", "--sign")
    assert without.returncode == 2 and "keys new" in line_of(without) and not (reader / "y.zip").exists()
    key = sender / CONFIG / "signing_key"
    secret = key.read_text()
    key.chmod(0o644)
    open_to_others = run_cli(sender, "export", RUN, "--to", "zip", "-o", "y.zip", "--sign")
    assert open_to_others.returncode == 2 and "others can read" in line_of(open_to_others)
    key.chmod(0o600)
    key.write_text(secret[:80])
    damaged = run_cli(sender, "export", RUN, "--to", "zip", "-o", "y.zip", "--sign")
    assert damaged.returncode == 2 and secret.split()[5][:20] not in damaged.stderr


def test_a_trusted_name_stands_for_one_key(sender: Path, reader: Path, tmp_path: Path) -> None:
    key = public_key(sender)
    ok(tmp_path, "keys", "new")
    other = public_key(tmp_path)
    ok(reader, "keys", "trust", "alice", str(sender / CONFIG / "signing_key.pub"))
    ok(reader, "keys", "trust", "alice", key + " a comment")
    for words in (
        ("alice", other),
        ("mallory", key),
        ("no\x1bname", other),
        ("", other),
        ("x", "ssh-rsa AAAA"),
    ):
        assert run_cli(reader, "keys", "trust", *words).returncode == 2
    assert json.loads(ok(reader, "keys", "show", "--json"))["trusted"] == [
        {"name": "alice", "key": key, "fingerprint": FINGERPRINT.search(ok(sender, "keys", "show")).group()}  # type: ignore[union-attr]
    ]
    assert stat.S_IMODE((reader / CONFIG).stat().st_mode) == 0o700
    (reader / CONFIG / "trusted_keys").write_text(f"# a comment\n\nalice {key[:-3]}\n")
    assert "line 3" in line_of(run_cli(reader, "keys", "show"))


def test_the_view_of_a_kernel_binds_nothing_above_the_config_folder() -> None:
    from workbench.environment import config_folder

    folder = config_folder().resolve()
    bound = [Path(operation[1]) for operation in build_view().operations if operation[0] in ("bind", "copy")]
    assert bound and os.sep not in map(str, bound)
    assert not [path for path in bound if folder == path.resolve() or path.resolve() in folder.parents]
