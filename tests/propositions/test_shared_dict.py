"""A dictionary whose copies share their entries behaves like a plain one, and a copy of it is small."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.propositions.shared_dict import SharedDict

KEYS = st.integers(0, 60)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), KEYS, st.integers(0, 9)),
        st.tuples(st.just("delete"), KEYS, st.just(0)),
        st.tuples(st.just("copy"), KEYS, st.just(0)),
    ),
    max_size=120,
)


@given(st.dictionaries(KEYS, st.integers(0, 9)), STEPS)
def test_each_copy_is_what_a_plain_dictionary_would_be(
    first: dict[int, int], steps: list[tuple[str, int, int]]
) -> None:
    """Copies are changed in turn; each one is compared, with those before it, at the end."""
    versions = [(SharedDict(first), dict(first))]
    for kind, key, value in steps:
        shared, plain = versions[-1] if kind != "copy" else versions[key % len(versions)]
        if kind == "copy":
            versions.append((shared.copy(), plain.copy()))
        elif kind == "set":
            shared[key] = plain[key] = value
        elif key in plain:
            del shared[key], plain[key]
        else:
            with pytest.raises(KeyError):
                del shared[key]
    for shared, plain in versions:
        assert list(shared.items()) == list(plain.items())
        assert len(shared) == len(plain) and shared == plain
        assert all((key in shared) == (key in plain) for key in range(61))
        assert all(shared.get(key, "none") == plain.get(key, "none") for key in range(61))


def test_entries_may_be_set_anew_while_it_is_walked() -> None:
    shared = SharedDict({number: 0 for number in range(1000)})
    for number in range(1000, 1010):
        shared[number] = 0
    for number, value in shared.items():
        shared[number] = value + 1
    assert dict(shared) == {number: 1 for number in range(1010)}
