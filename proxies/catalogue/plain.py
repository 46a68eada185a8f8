"""Reading the catalogue's YAML: plain data straight from the parser's events, several times as fast as `yaml.load`.

The catalogue is read by every process that starts, and most of PyYAML's time goes into resolving and building node
after node. The same words occur thousands of times here, so each is resolved once. Values are those of
`yaml.safe_load`; tags and keys that occur twice are errors rather than surprises.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import yaml

_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str) -> Any:
    """The one document of a YAML text as dicts, lists and scalars; None where it is empty.

    Raises
    ------
    yaml.YAMLError
        No YAML, several documents, a tag, a key that occurs twice in one mapping, an alias of nothing.

    Examples
    --------
    >>> read_yaml("a: {b: [1, '2', null, yes]}")
    {'a': {'b': [1, '2', None, True]}}
    """
    events = iter(yaml.parse(text, Loader=_PARSER))
    next(events)  # the stream's start
    if isinstance(next(events), yaml.StreamEndEvent):
        return None
    value = _Reader(events.__next__).value(next(events))
    next(events)  # the document's end
    if not isinstance(next(events), yaml.StreamEndEvent):
        raise yaml.YAMLError("there are several documents in the text")
    return value


class _Reader:
    """Builds values from the events that follow."""

    def __init__(self, following: Callable[[], Any]) -> None:
        self._following = following
        self._named: dict[str, Any] = {}

    def value(self, event: Any) -> Any:
        """The value that begins with an event."""
        kind = type(event)
        if kind is yaml.AliasEvent:
            if event.anchor not in self._named:
                raise yaml.YAMLError(f"*{event.anchor} stands for nothing{_where(event)}")
            return self._named[event.anchor]
        # a tag of its own ("!x", "!!set") is not plain data; "!" alone marks a text
        if event.tag not in (None, "!"):
            raise yaml.YAMLError(f"tags are not read{_where(event)}")
        if kind is yaml.ScalarEvent:
            out = _scalar(event.value) if event.implicit[0] else event.value
        elif kind is yaml.SequenceStartEvent:
            out = list(self._until(yaml.SequenceEndEvent))
        else:
            out = self._mapping(event)
        if event.anchor is not None:
            self._named[event.anchor] = out
        return out

    def _mapping(self, event: Any) -> dict[Any, Any]:
        items = self._until(yaml.MappingEndEvent)
        out: dict[Any, Any] = {}
        for name in items:
            if name in out:
                raise yaml.YAMLError(f"the key {name!r} occurs twice{_where(event)}")
            out[name] = next(items)
        return out

    def _until(self, end: type) -> Iterator[Any]:
        while type(event := self._following()) is not end:
            yield self.value(event)


@functools.cache
def _scalar(text: str) -> Any:
    """What an unquoted text means."""
    loader: Any = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, text, (True, False))
    return loader.construct_object(yaml.ScalarNode(tag, text))


def _where(event: Any) -> str:
    return f" (line {event.start_mark.line + 1})" if event.start_mark else ""
