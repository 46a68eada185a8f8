"""The style rules of a page and what they match: selectors, media, layers and nesting, in work that the page cannot blow up.

Selectors are matched from the root down: each element knows as bits which beginnings of selectors its ancestors and elder
siblings match, so that no selector is ever looked up backwards. What cannot be told of a selector (``:lang()``, a pseudo-class of
tomorrow) is taken to match, and its rule is marked ``doubtful``: it may hide, and never show.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

import tinycss2
import tinycss2.nth

from workbench.search.page.css_values import COLOURS, WIDTH, Sizes, colour, length, split, words
from workbench.search.page.page_tree import Element, PageTooLarge, PageTree

#: Characters of style sheets, rules, and comparisons of a rule with an element that are made for one page.
MOST_CSS, MOST_RULES, MOST_TRIES = 1_500_000, 60_000, 1_500_000
MOST_BRACKETS = 60
_BRACKETS = re.compile(r"[()\[\]{}]")
MOST_BITS = 400_000_000
_LONGEST_SELECTOR = 300
_DEEPEST = 8
Test = Callable[[Element], bool]


@dataclass(frozen=True, slots=True)
class Declaration:
    """One property with its value."""

    name: str
    value: tuple[Any, ...]
    important: bool


@dataclass(slots=True)
class Compound:
    """What one element must be: ``tag``, ``id``, ``classes`` and tests; ``bit`` where more of the selector follows."""

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


@dataclass(frozen=True, slots=True)
class StyleRule:
    """A selector with its declarations and its place in the cascade."""

    selector: Selector
    declarations: tuple[Declaration, ...]
    layer: int
    order: int
    doubtful: bool


class NoSelector(ValueError):
    """A text that is no selector: browsers drop the whole rule."""


class NoElement(NoSelector):
    """A selector of something else than an element, as ``::before``: the others of its rule stay."""


class StyleSheets:
    """The rules of a page, and the animations that they name.

    Raises
    ------
    PageTooLarge
        More style than is read.
    """

    def __init__(self, tree: PageTree) -> None:
        self.keyframes: dict[str, tuple[Declaration, ...]] = {}
        self._tree = tree
        self._bits = 0
        self._order = 0
        self._tries = 0
        self._characters = 0
        self._layers: dict[str, int] = {}
        self._index: dict[tuple[str, str], list[Compound | StyleRule]] = defaultdict(list)
        # what is known of elements: bits they match, with those of their ancestors, and with those of elder siblings
        self._own: dict[int, int] = {}
        self._above: dict[int, int] = {}
        self._elder: dict[int, int] = {}
        first_title = ""
        policy = False
        for element in tree.elements:
            if element.tag == "meta":
                policy |= "security-policy" in element.attributes.get("http-equiv", "").lower()
            title = element.attributes.get("title", "")
            if element.tag == "style":
                kind, css = element.attributes.get("type", "").strip().lower(), "".join(c for c in element.children if isinstance(c, str))  # fmt: skip
            elif element.tag == "link" and "stylesheet" in element.attributes.get("rel", "").lower().split():
                kind, css = "", data_text(element.attributes.get("href", ""))
                if "alternate" in element.attributes["rel"].lower().split():
                    continue
            else:
                continue
            first_title = first_title or title
            if css and kind in ("", "text/css") and (not title or title == first_title):
                media = _media(words(_tokens(element.attributes.get("media", "")[:1000])))
                if media is not False:
                    # a policy of the page may forbid its own styles
                    self._read(css, doubtful=policy or media is None, layer="", depth=0)

    # -- reading -------------------------------------------------------------------------------------------------

    def _read(self, css: str, *, doubtful: bool, layer: str, depth: int) -> None:
        check_nesting(css)
        self._characters += len(css)
        if self._characters > MOST_CSS:
            raise PageTooLarge("it has too much style")
        rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
        self._rules(rules, [], doubtful=doubtful, layer=layer, depth=depth)

    def _rules(
        self, rules: list[Any], within: list[Selector], *, doubtful: bool, layer: str, depth: int
    ) -> None:
        loose: list[Any] = []
        for rule in rules:
            if rule.type == "qualified-rule":
                self._qualified(rule, within, doubtful=doubtful, layer=layer, depth=depth)
            elif rule.type == "at-rule":
                self._at_rule(rule, within, doubtful=doubtful, layer=layer, depth=depth)
            elif rule.type == "declaration" and within:
                loose.append(rule)
        if loose:
            self._add(within, _declarations(loose), doubtful=doubtful, layer=layer)

    def _qualified(
        self, rule: Any, within: list[Selector], *, doubtful: bool, layer: str, depth: int
    ) -> None:
        selectors: list[Selector] = []
        for part in split(rule.prelude):
            try:
                selectors.append(self._selector(part, within, depth=0))
            except NoElement:
                continue
            except NoSelector:
                return
        if depth < _DEEPEST and selectors:
            content = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
            self._rules(content, selectors, doubtful=doubtful, layer=layer, depth=depth + 1)

    def _at_rule(self, rule: Any, within: list[Selector], *, doubtful: bool, layer: str, depth: int) -> None:
        name, prelude = rule.lower_at_keyword, words(rule.prelude)
        if depth >= _DEEPEST:
            return
        if name == "import" and prelude and not within:
            address = prelude[0]
            if address.type == "function" and address.arguments:
                address = address.arguments[0]
            media = _media(prelude[1:])
            if media is not False and (css := data_text(str(getattr(address, "value", "")))):
                self._read(css, doubtful=doubtful or media is None, layer=layer, depth=depth + 1)
            return
        if name.endswith("keyframes") and rule.content is not None and prelude:
            self._animation(str(getattr(prelude[0], "value", "")), rule.content)
            return
        if name == "layer":
            names = [".".join(str(getattr(token, "value", "")) for token in words(part) if token.type == "ident") for part in split(prelude)]  # fmt: skip
            for item in names:
                inner = f"{layer}.{item or f'#{self._order}'}"
                self._layers.setdefault(inner, len(self._layers))
            layer = inner
        elif name == "media":
            media = _media(prelude)
            if media is False:
                return
            doubtful = doubtful or media is None
        elif name == "supports":
            if _supported(prelude) is False:
                return
        elif name == "scope":
            roots = prelude[0].content if prelude and prelude[0].type == "() block" else []
            try:
                within = [self._selector(part, [], depth=0) for part in split(roots)]
            except NoSelector:
                return
        elif name == "container":
            doubtful = True
        else:
            return
        if rule.content is not None:
            content = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
            self._rules(content, within, doubtful=doubtful, layer=layer, depth=depth + 1)

    def _animation(self, name: str, content: list[Any]) -> None:
        """Remember how an animation leaves what it moves."""
        for rule in tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True):
            if rule.type == "qualified-rule":
                marks = [str(getattr(token, "lower_value", getattr(token, "value", ""))) for token in words(rule.prelude)]  # fmt: skip
                if "to" in marks or "100.0" in marks or "100" in marks:
                    self.keyframes[name] = _declarations(tinycss2.parse_blocks_contents(rule.content))

    def _add(
        self, selectors: list[Selector], declarations: tuple[Declaration, ...], *, doubtful: bool, layer: str
    ) -> None:
        if not declarations:
            return
        # styles outside of all layers win over those inside
        rank = self._layers.get(layer, 1_000_000) if layer else 1_000_000
        for selector in selectors:
            self._order += 1
            if self._order > MOST_RULES:
                raise PageTooLarge("it has too many style rules")
            rule = StyleRule(selector, declarations, rank, self._order, doubtful or selector.doubtful)
            self._index[_key(selector.last)].append(rule)

    # -- selectors -----------------------------------------------------------------------------------------------

    def _selector(self, tokens: list[Any], within: list[Selector], *, depth: int) -> Selector:
        if len(tokens) > _LONGEST_SELECTOR or depth > _DEEPEST:
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
                self._index[_key(before)].append(before)
            compound = Compound(combinator=combinator, needs=before.gives if before else 0)
            place = self._compound(tokens, place, compound, counts, doubts, within, depth)
            before, combinator = compound, ""
        if before is None or combinator.strip():
            raise NoSelector
        return Selector(before, (counts[0], counts[1], counts[2]), doubts[0])

    def _parent(self, within: list[Selector], counts: list[int]) -> Compound:
        """What ``&`` stands for: an element that the rule around matches."""
        best = max(selector.specificity for selector in within)
        for place, count in enumerate(best):
            counts[place] += count
        return Compound(tests=[lambda element: any(self._matches(s.last, element) for s in within)])

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
                    inner.append(self._selector(part, within if "&" in part else [], depth=depth + 1))
                except NoSelector:
                    if name == "not":
                        raise
            if name != "where" and inner:
                for position, count in enumerate(max(selector.specificity for selector in inner)):
                    counts[position] += count
            doubts[0] |= any(selector.doubtful for selector in inner)
            if name == "not":
                return lambda element: (
                    not any(self._matches(s.last, element) and not s.doubtful for s in inner)
                )
            return lambda element: any(self._matches(s.last, element) for s in inner)
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
        """Whether an element holds another, or is followed by it; of a longer selector the last compound is looked for."""
        pieces: list[tuple[str, Compound]] = []
        for part in split(token.arguments):
            part = [item for item in part if item.type != "comment"]
            while part and part[0].type == "whitespace":
                part.pop(0)
            way = " "
            if part and part[0].type == "literal" and part[0].value in (">", "+", "~"):
                way = part.pop(0).value
            selector = self._selector(part, [], depth=depth + 1)
            if selector.last.combinator:
                doubts[0] = True
            doubts[0] |= selector.doubtful
            last = selector.last
            pieces.append((way, Compound(last.tag, last.id, last.classes, last.tests)))

        def has(element: Element) -> bool:
            for way, compound in pieces:
                if way in ("+", "~"):
                    after = element.parent.children if element.parent else []
                    pool: Iterator[Element] = (item for item in after if isinstance(item, Element) and item.place > element.place and (way == "~" or item.place == element.place + 1))  # fmt: skip
                else:
                    pool = _below(element, far=way == " ")
                for item in pool:
                    self._try()
                    if self._matches(compound, item):
                        return True
            return False

        return has

    # -- matching ------------------------------------------------------------------------------------------------

    def matching(self, element: Element) -> list[StyleRule]:
        """The rules that match an element; asked for each element once, in document order."""
        parent, before = element.parent, element.before
        self._above[id(element)] = (self._above[id(parent)] | self._own[id(parent)]) if parent else 0
        self._elder[id(element)] = (self._elder[id(before)] | self._own[id(before)]) if before else 0
        if self._bits * len(self._tree.elements) > MOST_BITS:
            raise PageTooLarge("its style rules are too many for its elements")
        keys = [("", ""), ("tag", element.tag), *(("class", name) for name in dict.fromkeys(element.classes))]
        if element.id:
            keys.append(("id", element.id))
        own = 0
        pieces: list[StyleRule] = []
        for key in keys:
            for item in self._index.get(key, ()):
                self._try()
                compound = item.selector.last if isinstance(item, StyleRule) else item
                if self._matches(compound, element):
                    if isinstance(item, StyleRule):
                        pieces.append(item)
                    else:
                        own |= item.gives
        self._own[id(element)] = own
        return pieces

    def _try(self) -> None:
        self._tries += 1
        if self._tries > MOST_TRIES:
            raise PageTooLarge("its style rules are too many for its elements")

    def _matches(self, compound: Compound, element: Element) -> bool:
        if compound.needs:
            match compound.combinator:
                case ">":
                    known = self._own[id(element.parent)] if element.parent else 0
                case "+":
                    known = self._own[id(element.before)] if element.before else 0
                case "~":
                    known = self._elder[id(element)]
                case _:
                    known = self._above[id(element)]
            if not known & compound.needs:
                return False
        if (compound.tag and compound.tag != element.tag) or (compound.id and compound.id != element.id):
            return False
        if any(name not in element.classes for name in compound.classes):
            return False
        for test in compound.tests:
            self._try()
            if not test(element):
                return False
        return True


def check_nesting(css: str) -> None:
    """Refuse brackets that are nested deeper than any honest style."""
    depth = 0
    for mark in _BRACKETS.findall(css):
        depth = depth + 1 if mark in "([{" else max(0, depth - 1)
        if depth > MOST_BRACKETS:
            raise PageTooLarge("its style is nested too deep")


def declared(style: str) -> tuple[Declaration, ...]:
    """The declarations of a ``style`` attribute."""
    if len(style) > 100_000:
        raise PageTooLarge("it has too much style")
    check_nesting(style)
    return _declarations(tinycss2.parse_blocks_contents(style, skip_comments=True, skip_whitespace=True))


def _declarations(parts: list[Any]) -> tuple[Declaration, ...]:
    return tuple(
        Declaration(
            part.name if part.name.startswith("--") else part.lower_name, tuple(part.value), part.important
        )
        for part in parts
        if part.type == "declaration" and is_valid(part.lower_name, part.value)
    )


def data_text(address: str) -> str:
    """The text of a ``data:`` address, the one kind of style sheet that needs no loading; empty for any other."""
    if not address.strip().lower().startswith("data:text/css"):
        return ""
    head, _, body = address.strip().partition(",")
    raw = unquote_to_bytes(body)
    if head.lower().endswith(";base64"):
        try:
            raw = base64.b64decode(raw)
        except binascii.Error:
            return ""
    return raw.decode("utf-8", "replace")


def _tokens(css: str) -> list[Any]:
    check_nesting(css)
    return list(tinycss2.parse_component_value_list(css))


def _key(compound: Compound) -> tuple[str, str]:
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


def _supported(tokens: list[Any]) -> bool | None:
    """Whether a browser knows what is asked for; None where that cannot be told."""
    answer: bool | None = True
    negated = False
    for token in tokens:
        if token.type == "ident" and token.lower_value == "not":
            negated = True
        elif token.type == "ident" and token.lower_value == "or":
            if answer is True:
                return not negated
            answer = True
        elif token.type == "() block":
            content = words(token.content)
            if len(content) > 2 and content[0].type == "ident" and content[1] == ":":
                held: bool | None = is_valid(content[0].lower_value, tuple(content[2:]))
            else:
                held = _supported(content)
            answer = answer and held
    return answer if answer is None else answer != negated


def is_valid(name: str, value: tuple[Any, ...]) -> bool:
    """Whether a value is one of its property; browsers drop a declaration that is not, and the one before it holds."""
    pieces = words(value)
    if not pieces:
        return name.startswith("--")
    item = pieces[0]
    if any(token.type == "function" and token.lower_name in ("var", "env", "attr") for token in pieces):
        return True
    if len(pieces) == 1 and item.type == "ident" and item.lower_value in _EVERYWHERE:
        return True
    if name in _KEYWORDS:
        known = _KEYWORDS[name].split()
        return all(token.type == "ident" and token.lower_value in known for token in pieces)
    if name in ("color", "background-color", "-webkit-text-fill-color"):
        return len(pieces) == 1 and (colour(item, (0, 0, 0, 1)) is not None or (item.type == "function" and item.lower_name in COLOURS))  # fmt: skip
    if name == "opacity":
        return len(pieces) == 1 and item.type in ("number", "percentage", "function")
    if name in _LENGTHS:
        return item.type in ("number", "percentage", "dimension", "function") or (item.type == "ident" and item.lower_value in _SIZES)  # fmt: skip
    return True


_EVERYWHERE = {"inherit", "initial", "unset", "revert", "revert-layer"}
_KEYWORDS = {
    "display": "none block inline inline-block flex inline-flex grid inline-grid flow flow-root contents list-item run-in table inline-table table-row table-cell table-caption"
    " table-column table-column-group table-header-group table-footer-group table-row-group ruby ruby-text ruby-base math -webkit-box -webkit-inline-box -webkit-flex"
    " -webkit-inline-flex",
    "visibility": "visible hidden collapse",
    "content-visibility": "visible hidden auto",
    "position": "static relative absolute fixed sticky -webkit-sticky",
    "overflow": "visible hidden clip scroll auto overlay",
    "overflow-x": "visible hidden clip scroll auto overlay",
    "overflow-y": "visible hidden clip scroll auto overlay",
    "float": "left right none inline-start inline-end",
}  # fmt: skip
_LENGTHS = {
    "font-size", "left", "top", "right", "bottom", "width", "height", "max-width", "max-height", "min-width", "min-height", "text-indent", "letter-spacing",
    "line-height", "margin-left", "margin-top", "zoom",
}  # fmt: skip
_SIZES = set(
    [
        "auto",
        "none",
        "normal",
        "max-content",
        "min-content",
        "fit-content",
        "-webkit-fill-available",
        "stretch",
        "xx-small",
        "x-small",
        "small",
        "medium",
        "large",
        "x-large",
        "xx-large",
        "xxx-large",
        "smaller",
        "larger",
    ]
)


def _media(tokens: list[Any]) -> bool | None:
    """Whether a list of media queries holds for a wide screen; None where it cannot be told."""
    answers = [_query(part) for part in split(tokens)] if tokens else [True]
    return True if True in answers else (None if None in answers else False)


def _query(tokens: list[Any]) -> bool | None:
    answer: bool | None = True
    negated = False
    for token in tokens:
        if token.type == "ident":
            match token.lower_value:
                case "not":
                    negated = True
                case "or":
                    if answer is True:
                        return not negated
                    answer = True
                case "only" | "and" | "all" | "screen":
                    pass
                case _:  # print, speech, and what no browser knows
                    answer = False
        elif token.type == "() block":
            held = _feature(words(token.content))
            if held is False or (held is None and answer is not False):
                answer = held
    return answer if not negated or answer is None else not answer


def _feature(tokens: list[Any]) -> bool | None:
    if any(token.type == "() block" for token in tokens):
        return _query(tokens)
    if not tokens or tokens[0].type != "ident":
        return None
    name = tokens[0].lower_value
    value = tokens[2] if len(tokens) == 3 and tokens[1] == ":" else None
    if value is None:
        return True if len(tokens) == 1 and name in ("width", "height", "color", "hover", "pointer") else None
    if name in ("min-width", "max-width", "width", "min-device-width", "max-device-width"):
        wide = length(value, Sizes(16.0))
        if wide is None:
            return None
        return wide <= WIDTH if "min" in name else wide >= WIDTH if "max" in name else wide == WIDTH
    known = {
        "prefers-color-scheme": "light", "prefers-reduced-motion": "no-preference", "orientation": "landscape", "hover": "hover",
        "any-hover": "hover", "pointer": "fine", "any-pointer": "fine", "prefers-contrast": "no-preference", "forced-colors": "none", "scripting": "enabled",
        "display-mode": "browser", "update": "fast",
    }  # fmt: skip
    return known[name] == getattr(value, "lower_value", "") if name in known else None


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
    way, wanted = tokens[1].value, tokens[2].value
    folds = (len(tokens) > 3 and getattr(tokens[3], "lower_value", "") == "i") or name in _FOLDED
    if folds:
        wanted = wanted.lower()

    def test(element: Element) -> bool:
        value = element.attributes.get(name)
        if value is None:
            return False
        value = value.lower() if folds else value
        match way:
            case "=":
                return bool(value == wanted)
            case "~=":
                return wanted in value.split()
            case "|=":
                return value == wanted or value.startswith(f"{wanted}-")
            case "^=":
                return bool(wanted) and value.startswith(wanted)
            case "$=":
                return bool(wanted) and value.endswith(wanted)
            case "*=":
                return bool(wanted) and wanted in value
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
_NEVER = set(
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
_DOUBTFUL = set(
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
