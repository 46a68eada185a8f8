"""The bytes behind stored hashes do not change: what the homes of November 2026 are filed under is what we hash today."""

import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.hashing import canonical_json, sha256_of, sha256_of_file
from sandbox.record.journal import read_lines, seal_line

FIXTURE = Path(__file__).parents[1] / "fixtures" / "home-2026-11.tar.xz"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hashes")
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "home"


def test_every_stored_body_has_the_hash_it_is_filed_under(home: Path) -> None:
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        bodies = db.execute("SELECT hash, data FROM bodies").fetchall()
    assert bodies and all(sha256_of(data) == digest for digest, data in bodies)


def test_every_stored_answer_has_the_content_hash_that_was_stated(home: Path) -> None:
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        query = "SELECT data, meta FROM api_calls JOIN bodies ON hash = answer"
        answers = db.execute(query).fetchall()
    assert answers
    for body, meta in answers:
        assert sha256_of(canonical_json(orjson.loads(body))) == orjson.loads(meta)["content_hash"]


def test_every_stored_journal_is_sealed_by_the_same_bytes(home: Path) -> None:
    lines = [line for path in sorted(home.rglob("*.jsonl")) for line in read_lines(path)]
    assert lines and all(seal_line(line) == line["hash"] for line in lines)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_equal_values_have_equal_bytes_whatever_the_order_of_their_keys(value: dict[str, object]) -> None:
    backwards = dict(reversed(value.items()))
    assert canonical_json(backwards) == canonical_json(value)
    assert orjson.loads(canonical_json(value)) == orjson.loads(orjson.dumps(value))


def test_a_file_has_the_hash_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc" * 100_000)
    assert sha256_of_file(tmp_path / "x") == sha256_of(b"abc" * 100_000)
