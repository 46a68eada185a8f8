"""The bytes behind stored hashes."""

from pathlib import Path

import orjson
from hypothesis import given
from hypothesis import strategies as st

from proxies.hashing import canonical_json, sha256_of, sha256_of_file

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
