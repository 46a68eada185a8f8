"""Parse YAML that people wrote as plain data within the bounds of `input_files`; separate, since few commands need PyYAML."""

from collections.abc import Hashable, Sequence
from typing import Any

import orjson
import yaml

from proxies.input_files import MOST_DIGITS, MOST_LEVELS, MOST_YAML_BYTES, InputRefused

_MOST_NODES = 50_000
_PLAIN_TAGS = (None, "!", "tag:yaml.org,2002:str")


def parse_yaml(text: str, what: str, *, aliases: bool = False) -> Any:
    """Parse a YAML text's one document as JSON data: an unquoted date becomes text, as does an integer key.

    ``aliases`` is for texts that ship with the package.

    Raises `InputRefused`: No YAML, several documents, an alias, a tag that is no plain data, a key that occurs twice in one mapping, or
    beyond the bounds of this file.
    """
    if len(text) > MOST_YAML_BYTES:
        raise InputRefused(f"{what} is larger than {MOST_YAML_BYTES // 1_000_000} MB")
    try:
        _check_events(text, aliases=aliases)
        # through JSON and back: what has no form in JSON is no plain data either
        return orjson.loads(orjson.dumps(yaml.load(text, Loader=_Loader)))
    except InputRefused as error:
        raise InputRefused(f"{what} {error}") from None
    except yaml.YAMLError as error:
        raise InputRefused(f"{what} is no YAML: {' '.join(str(error).split())[:200]}") from None
    except (ValueError, TypeError, OverflowError) as error:  # the 31st of February; a key that is a list
        raise InputRefused(f"{what} is no plain data: {' '.join(str(error).split())[:200]}") from None


def line_of(text: str, place: Sequence[str | int]) -> int | None:
    r"""Return the line, from 1, of a part of a YAML text, or of its nearest present ancestor.

    >>> line_of("a: 1\nb:\n- c: 2\n- d: 3\n", ("b", 1, "x"))
    4
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    line = None
    for part in place:
        if isinstance(node, yaml.MappingNode):
            named = next(((key, value) for key, value in node.value if key.value == str(part)), None)
            if named is None:
                break
            line, node = named[0].start_mark.line + 1, named[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line


def _check_events(text: str, *, aliases: bool) -> None:
    """Refuse what would take too long, or too much memory, before anything is built."""
    levels = nodes = 0
    for event in yaml.parse(text, Loader=_BASE):
        if getattr(event, "anchor", None) is not None and not aliases:
            raise InputRefused("uses an anchor or an alias (& or *): write the value out")
        if (tag := getattr(event, "tag", None)) not in _PLAIN_TAGS:
            raise InputRefused(f"uses the tag {tag!r:.60}: plain data only")
        nodes += isinstance(event, yaml.events.NodeEvent)
        levels += isinstance(event, yaml.events.CollectionStartEvent)
        levels -= isinstance(event, yaml.events.CollectionEndEvent)
        if levels > MOST_LEVELS:
            raise InputRefused(f"is nested deeper than {MOST_LEVELS} levels")
        if nodes > _MOST_NODES:
            raise InputRefused(f"has more than {_MOST_NODES:,} values")


_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_BASE):  # type: ignore[misc]
    """PyYAML's safe loader with an error for equal keys, of which PyYAML silently takes the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        names: set[Hashable] = set()
        for key, _ in node.value:
            name = _as_key(self.construct_object(key, deep=True))
            if isinstance(name, Hashable) and name in names:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {name!r} occurs twice", node.start_mark
                )
            names.add(name)
        return {_as_key(name): value for name, value in super().construct_mapping(node, deep).items()}

    def construct_number(self, node: Any) -> int | float:
        if len(node.value) > MOST_DIGITS:
            raise InputRefused(f"holds a number of more than {MOST_DIGITS} digits")
        value: int | float
        if node.tag.endswith("int"):
            value = self.construct_yaml_int(node)
        else:
            value = self.construct_yaml_float(node)
            if not abs(value) < float("inf"):
                raise InputRefused(f"holds {node.value[:40]}, which is no finite number")
        return value


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_number)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_number)


def _as_key(name: Any) -> Any:
    return str(name) if type(name) is int else name
