"""Parse the style rules of a page, with media, layers and nesting, in work that the page cannot blow up.

A rule whose selector or media cannot be told is taken to match and marked ``doubtful``: it may hide, and never show.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

import tinycss2

from workbench.search.page.css_conditions import is_valid, media_holds, supported
from workbench.search.page.css_values import split, words
from workbench.search.page.page_tree import Element, PageTooLarge, PageTree
from workbench.search.page.selectors import DEEPEST, Key, NoElement, NoSelector, Selector, Selectors, key_of

#: Characters of style sheets, rules, and comparisons of a rule with an element that are made for one page.
MOST_CSS, MOST_RULES, MOST_TRIES = 1_500_000, 60_000, 1_500_000
MOST_BRACKETS = 60
_BRACKETS = re.compile(r"[()\[\]{}]")


@dataclass(frozen=True, slots=True)
class Declaration:
    """One property with its value."""

    name: str
    value: tuple[Any, ...]
    important: bool


@dataclass(frozen=True, slots=True)
class StyleRule:
    """A selector with its declarations and its place in the cascade."""

    selector: Selector
    declarations: tuple[Declaration, ...]
    layer: int
    order: int
    doubtful: bool


class StyleSheets:
    """The rules of a page, and the animations that they name.

    Raises `PageTooLarge`: More style than is read.
    """

    def __init__(self, tree: PageTree) -> None:
        self.keyframes: dict[str, tuple[Declaration, ...]] = {}
        self._selectors = Selectors(tree, self._try)
        self._order = 0
        self._tries = 0
        self._characters = 0
        self._layers: dict[str, int] = {}
        self._index: dict[Key, list[StyleRule]] = defaultdict(list)
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
                media = media_holds(words(_tokens(element.attributes.get("media", "")[:1000])))
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
                selectors.append(self._selectors.read(part, within))
            except NoElement:
                continue
            except NoSelector:
                return
        if depth < DEEPEST and selectors:
            content = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
            self._rules(content, selectors, doubtful=doubtful, layer=layer, depth=depth + 1)

    def _at_rule(self, rule: Any, within: list[Selector], *, doubtful: bool, layer: str, depth: int) -> None:
        name, prelude = rule.lower_at_keyword, words(rule.prelude)
        if depth >= DEEPEST:
            return
        if name == "import" and prelude and not within:
            address = prelude[0]
            if address.type == "function" and address.arguments:
                address = address.arguments[0]
            media = media_holds(prelude[1:])
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
            media = media_holds(prelude)
            if media is False:
                return
            doubtful = doubtful or media is None
        elif name == "supports":
            if supported(prelude) is False:
                return
        elif name == "scope":
            roots = prelude[0].content if prelude and prelude[0].type == "() block" else []
            try:
                within = [self._selectors.read(part, []) for part in split(roots)]
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
            self._index[key_of(selector.last)].append(rule)

    # -- matching ------------------------------------------------------------------------------------------------

    def matching(self, element: Element) -> list[StyleRule]:
        """Return the rules that match an element; call it once for each element, in document order."""
        pieces: list[StyleRule] = []
        for key in self._selectors.enter(element):
            for rule in self._index.get(key, ()):
                self._try()
                if self._selectors.matches(rule.selector.last, element):
                    pieces.append(rule)
        return pieces

    def _try(self) -> None:
        self._tries += 1
        if self._tries > MOST_TRIES:
            raise PageTooLarge("its style rules are too many for its elements")


def check_nesting(css: str) -> None:
    """Refuse brackets nested deeper than in any honest style."""
    depth = 0
    for mark in _BRACKETS.findall(css):
        depth = depth + 1 if mark in "([{" else max(0, depth - 1)
        if depth > MOST_BRACKETS:
            raise PageTooLarge("its style is nested too deep")


def declared(style: str) -> tuple[Declaration, ...]:
    """Parse the declarations of a ``style`` attribute."""
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
    """Decode a ``data:`` address, the one kind of style sheet that needs no loading; "" for any other."""
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
