"""Parse and match selectors of a page's style, in work that the page cannot blow up.

Selectors are matched from the root down: each element knows as bits which beginnings of selectors its ancestors and elder
siblings match, so that no selector is ever looked up backwards. What cannot be told of a selector (``:lang()``, a pseudo-class of
tomorrow) is taken to match, and is marked ``doubtful``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import tinycss2.nth

from workbench.search.page.css_values import split, words
from workbench.search.page.page_tree import Element, PageTooLarge, PageTree

MOST_BITS = 400_000_000
_LONGEST_SELECTOR = 300
DEEPEST = 8
Test = Callable[[Element], bool]
Key = tuple[str, str]


@dataclass(slots=True)
class Compound:
    """The demands on one element: ``tag``, ``id``, ``classes`` and tests; ``bit`` where more of the selector follows."""

    tag: str = ""
    id: str = ""
    classes: list[str] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    combinator: str = ""
    #: The bit of the compound before it, and its own.
    needs: int = 0
    gives: int = 0


@dataclass(slots=True)
class Selector:
    """A selector by its last compound; those before it have bits."""

    last: Compound
    specificity: tuple[int, int, int]
    doubtful: bool


class NoSelector(ValueError):
    """Invalid selector: browsers drop the whole rule."""


class NoElement(NoSelector):
    """A selector of something other than an element, such as ``::before``: its rule's other selectors stay."""


class Selectors:
    """The selectors of a page."""

    def __init__(self, tree: PageTree, count: Callable[[], None]) -> None:
        self._tree = tree
        self._count = count
        self._bits = 0
        self._beginnings: dict[Key, list[Compound]] = defaultdict(list)
        # what is known of elements: bits they match, with those of their ancestors, and with those of elder siblings
        self._own: dict[int, int] = {}
        self._above: dict[int, int] = {}
        self._elder: dict[int, int] = {}

    def read(self, tokens: list[Any], within: list[Selector], *, depth: int = 0) -> Selector:
        """Parse one selector, nested in the rules of those ``within``; raises NoSelector."""
        if len(tokens) > _LONGEST_SELECTOR or depth > DEEPEST:
            raise NoSelector
        tokens = [token for token in tokens if token.type != "comment"]
        while tokens and tokens[0].type == "whitespace":
            tokens.pop(0)
        while tokens and tokens[-1].type == "whitespace":
            tokens.pop()
        if not tokens:
            raise NoSelector
        counts, doubts = [0, 0, 0], [False]
        before: Compound | None = None
        combinator = ""
        if within and not any(token.type == "literal" and token.value == "&" for token in tokens):
            before, combinator = self._parent(within, counts), " "
        place = 0
        while place < len(tokens):
            token = tokens[place]
            if token.type == "whitespace":
                combinator = combinator or " "
                place += 1
                continue
            if token.type == "literal" and token.value in (">", "+", "~"):
                if before is None or combinator.strip():
                    raise NoSelector
                combinator = token.value
                place += 1
                continue
            if before is not None:
                self._bits += 1
                before.gives = 1 << self._bits
                self._beginnings[key_of(before)].append(before)
            compound = Compound(combinator=combinator, needs=before.gives if before else 0)
            place = self._compound(tokens, place, compound, counts, doubts, within, depth)
            before, combinator = compound, ""
        if before is None or combinator.strip():
            raise NoSelector
        return Selector(before, (counts[0], counts[1], counts[2]), doubts[0])

    def _parent(self, within: list[Selector], counts: list[int]) -> Compound:
        best = max(selector.specificity for selector in within)
        for place, count in enumerate(best):
            counts[place] += count
        return Compound(tests=[lambda element: any(self.matches(s.last, element) for s in within)])

    def _compound(
        self, tokens: list[Any], place: int, compound: Compound, counts: list[int], doubts: list[bool], within: list[Selector], depth: int
    ) -> int:  # fmt: skip
        begun = place
        while place < len(tokens):
            token = tokens[place]
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            if token.type == "ident" and place == begun:
                if following is not None and following == "|":  # a namespace
                    place += 2
                    begun = place
                    continue
                compound.tag = token.lower_value
                counts[2] += 1
            elif token.type == "literal" and token.value == "*" and place == begun:
                if following is not None and following == "|":
                    place += 2
                    begun = place
                    continue
            elif token.type == "literal" and token.value == "&":
                compound.tests += self._parent(within, counts).tests if within else [_is_root]
            elif token.type == "hash" and token.is_identifier:
                name = token.value.lower() if self._tree.quirks else token.value
                if compound.id and compound.id != name:
                    compound.tests.append(lambda element: False)
                compound.id = name
                counts[0] += 1
            elif token.type == "literal" and token.value == "." and following is not None and following.type == "ident":  # fmt: skip
                compound.classes.append(following.value.lower() if self._tree.quirks else following.value)
                counts[1] += 1
                place += 1
            elif token.type == "[] block":
                compound.tests.append(_attribute_test(words(token.content)))
                counts[1] += 1
            elif token.type == "literal" and token.value == ":" and following is not None:
                compound.tests.append(self._pseudo(following, counts, doubts, within, depth))
                place += 1
            elif token.type == "whitespace" or (token.type == "literal" and token.value in (">", "+", "~")):
                break
            else:
                raise NoSelector
            place += 1
        return place

    def _pseudo(self, token: Any, counts: list[int], doubts: list[bool], within: list[Selector], depth: int) -> Test:  # fmt: skip
        if token.type == "ident":
            name = token.lower_value
            if name in ("before", "after", "first-line", "first-letter"):
                raise NoElement
            counts[1] += 1
            if name in _NEVER:
                return lambda element: False
            if name in _STATES:
                return _STATES[name]
            if name not in _DOUBTFUL:
                raise NoSelector
            doubts[0] = True
            return lambda element: True
        if token.type != "function":
            raise NoElement if token.type == "literal" and token.value == ":" else NoSelector
        name = token.lower_name
        if name in ("is", "where", "not", "matches", "-webkit-any", "-moz-any"):
            inner: list[Selector] = []
            for part in split(token.arguments):
                try:
                    inner.append(self.read(part, within if "&" in part else [], depth=depth + 1))
                except NoSelector:
                    if name == "not":
                        raise
            if name != "where" and inner:
                for position, count in enumerate(max(selector.specificity for selector in inner)):
                    counts[position] += count
            doubts[0] |= any(selector.doubtful for selector in inner)
            if name == "not":
                return lambda element: (
                    not any(self.matches(s.last, element) and not s.doubtful for s in inner)
                )
            return lambda element: any(self.matches(s.last, element) for s in inner)
        counts[1] += 1
        if name == "has":
            return self._has(token, doubts, depth)
        if name.startswith("nth-"):
            return _nth(name, token.arguments)
        if name not in _DOUBTFUL:
            raise NoSelector
        doubts[0] = True
        return lambda element: True

    def _has(self, token: Any, doubts: list[bool], depth: int) -> Test:
        """Parse ``:has()`` into a test; of a longer selector only the last compound is tested."""
        pieces: list[tuple[str, Compound]] = []
        for part in split(token.arguments):
            part = [item for item in part if item.type != "comment"]
            while part and part[0].type == "whitespace":
                part.pop(0)
            way = " "
            if part and part[0].type == "literal" and part[0].value in (">", "+", "~"):
                way = part.pop(0).value
            selector = self.read(part, [], depth=depth + 1)
            last = selector.last
            doubts[0] |= selector.doubtful or bool(last.combinator)
            pieces.append((way, Compound(last.tag, last.id, last.classes, last.tests)))

        def has(element: Element) -> bool:
            for way, compound in pieces:
                if way in ("+", "~"):
                    after = element.parent.children if element.parent else []
                    pool: Iterator[Element] = (item for item in after if isinstance(item, Element) and item.place > element.place and (way == "~" or item.place == element.place + 1))  # fmt: skip
                else:
                    pool = _below(element, far=way == " ")
                for item in pool:
                    self._count()
                    if self.matches(compound, item):
                        return True
            return False

        return has

    # -- matching ------------------------------------------------------------------------------------------------

    def enter(self, element: Element) -> list[Key]:
        """Record which prefixes of selectors match an element, and return the keys of its possible selectors.

        Asked for each element once, in document order, and before ``matches``.
        """
        parent, before = element.parent, element.before
        self._above[id(element)] = (self._above[id(parent)] | self._own[id(parent)]) if parent else 0
        self._elder[id(element)] = (self._elder[id(before)] | self._own[id(before)]) if before else 0
        if self._bits * len(self._tree.elements) > MOST_BITS:
            raise PageTooLarge("its style rules are too many for its elements")
        keys = [("", ""), ("tag", element.tag), *(("class", name) for name in dict.fromkeys(element.classes))]
        if element.id:
            keys.append(("id", element.id))
        bits = 0
        for key in keys:
            for compound in self._beginnings.get(key, ()):
                self._count()
                if self.matches(compound, element):
                    bits |= compound.gives
        self._own[id(element)] = bits
        return keys

    def matches(self, compound: Compound, element: Element) -> bool:
        """Whether an entered element matches the last part of a selector."""
        if compound.needs:
            match compound.combinator:
                case ">":
                    bits = self._own[id(element.parent)] if element.parent else 0
                case "+":
                    bits = self._own[id(element.before)] if element.before else 0
                case "~":
                    bits = self._elder[id(element)]
                case _:
                    bits = self._above[id(element)]
            if not bits & compound.needs:
                return False
        if (compound.tag and compound.tag != element.tag) or (compound.id and compound.id != element.id):
            return False
        if any(name not in element.classes for name in compound.classes):
            return False
        for test in compound.tests:
            self._count()
            if not test(element):
                return False
        return True


def key_of(compound: Compound) -> Key:
    """Return the most selective demand of a compound, as its key."""
    if compound.id:
        return ("id", compound.id)
    if compound.classes:
        return ("class", compound.classes[-1])
    return ("tag", compound.tag) if compound.tag else ("", "")


def _below(element: Element, *, far: bool) -> Iterator[Element]:
    waiting = [child for child in element.children if isinstance(child, Element)]
    while waiting:
        item = waiting.pop()
        yield item
        if far:
            waiting += [child for child in item.children if isinstance(child, Element)]


def _attribute_test(tokens: list[Any]) -> Test:
    while len(tokens) > 1 and tokens[1] == "|":  # a namespace
        tokens = tokens[2:]
    if not tokens or tokens[0].type != "ident":
        raise NoSelector
    name = tokens[0].lower_value
    if len(tokens) == 1:
        return lambda element: name in element.attributes
    if tokens[1].type != "literal" or len(tokens) < 3 or tokens[2].type not in ("ident", "string"):
        raise NoSelector
    way, operand = tokens[1].value, tokens[2].value
    folds = (len(tokens) > 3 and getattr(tokens[3], "lower_value", "") == "i") or name in _FOLDED
    if folds:
        operand = operand.lower()

    def test(element: Element) -> bool:
        value = element.attributes.get(name)
        if value is None:
            return False
        value = value.lower() if folds else value
        match way:
            case "=":
                return bool(value == operand)
            case "~=":
                return operand in value.split()
            case "|=":
                return value == operand or value.startswith(f"{operand}-")
            case "^=":
                return bool(operand) and value.startswith(operand)
            case "$=":
                return bool(operand) and value.endswith(operand)
            case "*=":
                return bool(operand) and operand in value
        return False

    return test


# attributes whose values match in any case
_FOLDED = {"type", "dir", "lang", "align", "rel", "media", "method", "hidden", "color", "bgcolor", "face"}


def _nth(name: str, arguments: list[Any]) -> Test:
    parsed = tinycss2.nth.parse_nth(arguments)
    if parsed is None:
        raise NoSelector
    step, start = parsed

    def test(element: Element) -> bool:
        parent = element.parent
        of_type = name.endswith("of-type")
        place = element.place_of_type if of_type else element.place
        if "last" in name and parent is not None:
            place = (parent.tags[element.tag] if of_type else parent.last.place if parent.last else 1) - place + 1  # fmt: skip
        if step == 0:
            return bool(place == start)
        return bool((place - start) % step == 0 and (place - start) // step >= 0)

    return test


def _is_root(element: Element) -> bool:
    return element.parent is None


def _first(element: Element) -> bool:
    return element.place == 1


def _last(element: Element) -> bool:
    return element.parent is None or element.parent.last is element


def _last_of_type(element: Element) -> bool:
    return element.parent is None or element.parent.tags[element.tag] == element.place_of_type


def _empty(element: Element) -> bool:
    return not any(child for child in element.children)


#: What a page that was just opened, and that nobody touched, is not.
_NEVER = frozenset(
    [
        "hover",
        "active",
        "focus",
        "focus-within",
        "focus-visible",
        "visited",
        "target",
        "target-within",
        "fullscreen",
        "-webkit-full-screen",
        "modal",
        "popover-open",
        "playing",
        "user-invalid",
        "user-valid",
        "autofill",
        "-webkit-autofill",
        "indeterminate",
        "placeholder-shown",
        "picture-in-picture",
        "current",
        "past",
        "host",
    ]
)


#: What depends on more than is known here.
_DOUBTFUL = frozenset(
    [
        "lang",
        "dir",
        "state",
        "active-view-transition",
        "active-view-transition-type",
        "valid",
        "invalid",
        "in-range",
        "out-of-range",
        "read-only",
        "read-write",
        "optional",
        "default",
        "buffering",
        "muted",
        "seeking",
        "stalled",
        "paused",
        "blank",
        "heading",
    ]
)


_STATES: dict[str, Test] = {
    "root": _is_root,
    "scope": _is_root,
    "first-child": _first,
    "last-child": _last,
    "only-child": lambda element: _first(element) and _last(element),
    "first-of-type": lambda element: element.place_of_type == 1,
    "last-of-type": _last_of_type,
    "only-of-type": lambda element: element.place_of_type == 1 and _last_of_type(element),
    "empty": _empty,
    "link": lambda element: element.tag in ("a", "area") and "href" in element.attributes,
    "any-link": lambda element: element.tag in ("a", "area") and "href" in element.attributes,
    "-webkit-any-link": lambda element: element.tag in ("a", "area") and "href" in element.attributes,
    "checked": lambda element: "checked" in element.attributes or "selected" in element.attributes,
    "disabled": lambda element: "disabled" in element.attributes,
    "enabled": lambda element: (
        "disabled" not in element.attributes
        and element.tag in ("input", "button", "select", "textarea", "option", "fieldset")
    ),
    "required": lambda element: "required" in element.attributes,
    "open": lambda element: "open" in element.attributes,
    "defined": lambda element: True,
}
