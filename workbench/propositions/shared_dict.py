"""A dictionary whose copies share their entries, for a value that is copied at every change of one entry.

A run's state and its tree are copied at every event. With plain dictionaries that is the number of leaves squared: half of
the processor time of 10,000 leaves, and 2 GB while events waited for the disk.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SharedDict(MutableMapping[K, V]):
    """A dictionary in order of insertion; ``copy`` and a change cost the square root of its length, a look-up two of ``dict``.

    The entries set last lie in a small dictionary of this copy alone, above a large one that no copy changes any more. The
    small one is merged into a new large one when it is as long as the square root of that.

    >>> first = SharedDict({"P1": 0.5})
    >>> second = first.copy()
    >>> second["P1"] = 0.7
    >>> dict(first), dict(second)
    ({'P1': 0.5}, {'P1': 0.7})
    """

    __slots__ = ("_above", "_added", "_below")

    _below: dict[K, V]
    _above: dict[K, V]
    _added: int

    def __init__(self, entries: Mapping[K, V] | None = None) -> None:
        self._below = dict(entries) if entries is not None else {}
        self._above = {}
        self._added = 0  # how many of those above are not below as well

    def copy(self) -> "SharedDict[K, V]":
        """Return a copy: a change of one is not seen in the other."""
        copy: SharedDict[K, V] = SharedDict.__new__(SharedDict)
        copy._below, copy._above, copy._added = self._below, self._above.copy(), self._added
        return copy

    def as_dict(self) -> Mapping[K, V]:
        """Return the entries for a walk over all of them, as fast as a plain dictionary's; they are not to be changed."""
        return self._below | self._above if self._above else self._below

    def __getitem__(self, key: K) -> V:
        return self._above[key] if key in self._above else self._below[key]

    def __setitem__(self, key: K, value: V) -> None:
        if key not in self._above and key not in self._below:
            self._added += 1
        self._above[key] = value
        if len(self._above) ** 2 > 256 + len(self._below):
            self._merge()

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        # Rare here, so it may cost a whole copy: an entry below cannot be taken out of what others share.
        self._merge()
        below = self._below.copy()
        del below[key]
        self._below = below

    def _merge(self) -> None:
        if self._above:
            self._below = self._below | self._above
            self._above, self._added = {}, 0

    def __contains__(self, key: object) -> bool:
        return key in self._above or key in self._below

    def __iter__(self) -> Iterator[K]:
        # Both as they are now: an entry that is set anew meanwhile may merge them.
        below, above = self._below, self._above
        yield from below
        for key in above:
            if key not in below:
                yield key

    def __len__(self) -> int:
        return len(self._below) + self._added

    def __repr__(self) -> str:
        return f"SharedDict({dict(self)!r})"
