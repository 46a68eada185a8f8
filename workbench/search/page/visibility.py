"""Apply the cascade: decide which value of a page's rules, attributes and animations wins for each property."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import tinycss2

from workbench.search.page.computed_style import (
    BLACK,
    LEAST_FONT,
    Style,
    Values,
    computed,
    is_image,
    is_unknown,
    size_of_font,
)
from workbench.search.page.css_conditions import is_valid
from workbench.search.page.css_values import Sizes, colour, keyword, number, split, words
from workbench.search.page.page_tree import Element, PageTooLarge, PageTree
from workbench.search.page.style_sheets import Declaration, StyleSheets, declared

_LONGEST_VALUE = 2_000
#: Declarations that are weighed for one page.
MOST_DECLARATIONS = 600_000
_SIDES = ("top", "right", "bottom", "left")


class PageStyle:
    """The styles of a page's elements; call ``of`` in document order."""

    def __init__(self, tree: PageTree) -> None:
        self._sheets = StyleSheets(tree)
        self._root_font = 16.0
        self._work = 0
        self._inline: dict[str, tuple[Declaration, ...]] = {}
        body = next((item for item in tree.elements if item.tag == "body"), tree.root)
        self._link = _old_colour(body.attributes.get("link", "")) or _parsed("#0000ee")

    def of(self, element: Element, around: Style) -> Style:
        """Compute the style of an element inside another; call it for every element, hidden ones included."""
        rules = self._sheets.matching(element)
        if around.hidden:
            return around
        values, variables = self._cascade(element, rules, around.variables)
        style = computed(element, values, around, self._root_font)
        if element.parent is None:
            self._root_font = style.font
        if variables is not around.variables:
            style = replace(style, variables=variables)
        return style

    def _cascade(self, element: Element, rules: list[Any], variables: Values) -> tuple[Values, Values]:
        won: list[tuple[tuple[Any, ...], Declaration, bool]] = []
        for rule in rules:
            for item in rule.declarations:
                layer = -rule.layer if item.important else rule.layer
                won.append(((item.important, False, layer, rule.selector.specificity, rule.order), item, rule.doubtful))  # fmt: skip
        if style := element.attributes.get("style"):
            if style not in self._inline:
                self._inline[style] = declared(style)
            for place, item in enumerate(self._inline[style]):
                won.append(((item.important, True, 0, (0, 0, 0), place), item, False))
        won.sort(key=lambda entry: entry[0])
        custom = {
            item.name: item.value for _, item, doubtful in won if item.name.startswith("--") and not doubtful
        }
        self._work += len(won) + (len(variables) // 4 if custom else 0)
        if self._work > MOST_DECLARATIONS:
            raise PageTooLarge("its style rules are too many for its elements")
        if custom:
            variables = {**variables, **custom}
        values: Values = _hints(element)
        if element.tag == "a" and "href" in element.attributes:
            values["color"] = self._link
        for _, item, doubtful in won:
            if item.name.startswith("--"):
                continue
            value = _resolved(item.value, variables)
            if value is None:
                value = ()  # what names a variable that is none is as if it were unset
            elif not is_valid(item.name, value) or (doubtful and not _hides(item.name, value)):
                continue
            values.update(_longhands(item.name, value))
        self._animate(values, variables)
        return values, variables

    def _animate(self, values: Values, variables: Values) -> None:
        properties = ("animation", "animation-name", "animation-fill-mode")
        tokens = [token for name in properties for token in values.get(name, ())]
        pieces = [word for word in words(tokens) if word.type == "ident"]
        if not {"forwards", "both"} & {word.lower_value for word in pieces}:
            return
        for word in pieces:
            for item in self._sheets.keyframes.get(word.value, ())[:50]:
                value = _resolved(item.value, variables)
                if value is not None and not item.name.startswith("--"):
                    values.update(_longhands(item.name, value))


def _parsed(css: str) -> tuple[Any, ...]:
    return tuple(tinycss2.parse_component_value_list(css))


def _old_colour(text: str) -> tuple[Any, ...]:
    parsed = _parsed(text.strip())
    if len(parsed) == 1 and colour(parsed[0], BLACK) is None:
        parsed = _parsed(f"#{text.strip()}")
    return parsed


_NONE = _parsed("none")


def _hints(element: Element) -> Values:
    values: Values = {}
    attributes = element.attributes
    if (
        "hidden" in attributes
        or (element.tag == "dialog" and "open" not in attributes)
        or "popover" in attributes
    ):
        values["display"] = _NONE
    if value := attributes.get("bgcolor"):
        values["background-color"] = _old_colour(value)
    if value := attributes.get({"body": "text", "font": "color"}.get(element.tag, "")):
        values["color"] = _old_colour(value)
    if attributes.get("background") and element.tag in ("body", "table", "td", "th", "tr"):
        values["background-image"] = _parsed("url(x)")
    if element.tag == "mark":
        values["background-color"] = _parsed("yellow")
        values["color"] = _parsed("black")
    if element.tag in _FONTS:
        values["font-size"] = _parsed(_FONTS[element.tag])
    return values


_FONTS = {"h1": "2em", "h2": "1.5em", "h3": "1.17em", "h5": ".83em", "h6": ".67em", "small": "smaller", "sub": "smaller", "sup": "smaller", "big": "larger"}  # fmt: skip


def _resolved(value: tuple[Any, ...], variables: Values, depth: int = 0) -> tuple[Any, ...] | None:
    """Replace the variables in a value; None if one is missing or the value grows without end."""
    if not any(token.type == "function" or token.type == "() block" for token in value):
        return value
    out: list[Any] = []
    for token in value:
        if token.type == "function" and token.lower_name == "var":
            parts = split(token.arguments)
            name = next((str(word.value) for word in words(parts[0]) if word.type == "ident"), "")
            fallback = token.arguments[len(parts[0]) + 1 :] if len(parts) > 1 else None
            replacement = variables.get(name, tuple(fallback) if fallback is not None else None)
            if replacement is None or depth > 10:
                return None
            inner = _resolved(tuple(replacement), variables, depth + 1)
            if inner is None:
                return None
            out.extend(inner)
        elif token.type == "function" and depth <= 10:
            arguments = _resolved(tuple(token.arguments), variables, depth + 1)
            if arguments is None:
                return None
            if len(arguments) != len(token.arguments) or any(a is not b for a, b in zip(arguments, token.arguments, strict=True)):  # fmt: skip
                token = type(token)(token.source_line, token.source_column, token.name, list(arguments))
            out.append(token)
        else:
            out.append(token)
        if len(out) > _LONGEST_VALUE:
            return None
    return tuple(out)


def _hides(name: str, value: tuple[Any, ...]) -> bool:
    """Whether a declaration hides the element on its own."""
    word = keyword(value)
    if name in ("display", "visibility", "content-visibility"):
        return word in ("none", "hidden", "collapse")
    if name in ("opacity", "font-size"):
        pieces = number(value)
        return pieces is not None and pieces < (0.1 if name == "opacity" else LEAST_FONT)
    return False


def _longhands(name: str, value: tuple[Any, ...]) -> Values:
    pieces = words(value)
    if not pieces or (keyword(value) in ("initial", "unset", "revert", "revert-layer") and name != "all"):
        return dict.fromkeys(_SHORTHANDS.get(name, (name,)), ())
    match name:
        case "all":
            return {} if keyword(value) == "inherit" else dict.fromkeys(_ALL, ())
        case "background":
            layer = split(value)[-1]
            image = any(word.type in ("url", "function") and is_image(word) for word in pieces)
            plain = next((word for word in words(layer) if not is_image(word) and (colour(word, BLACK) is not None or is_unknown(word))), None)  # fmt: skip
            clip = next(
                (word for word in pieces if word.type == "ident" and word.lower_value == "text"), None
            )
            return {
                "background-color": (plain,) if plain is not None else (),
                "background-image": tuple(pieces) if image else (),
                "background-clip": (clip,) if clip is not None else (),
            }
        case "font":
            size = next((word for word in pieces if size_of_font(word, Sizes(16), 16) is not None), None)
            return {"font-size": (size,)} if size is not None else {}
        case "inset" | "margin" | "padding":
            four = [pieces[min(place, len(pieces) - 1)] if place < len(pieces) else pieces[place - 2 if place > 1 and len(pieces) > place - 2 else 0] for place in range(4)]  # fmt: skip
            prefix = "" if name == "inset" else f"{name}-"
            return {f"{prefix}{side}": (word,) for side, word in zip(_SIDES, four, strict=True)}
        case "overflow":
            return {"overflow-x": (pieces[0],), "overflow-y": (pieces[-1],)}
        case "text-stroke" | "-webkit-text-stroke" | "-webkit-text-stroke-color":
            return {"stroke": tuple(pieces)}
    return {_ALIASES.get(name, name): value}


_SHORTHANDS: dict[str, tuple[str, ...]] = {
    "background": ("background-color", "background-image", "background-clip"),
    "inset": _SIDES,
    "margin": tuple(f"margin-{side}" for side in _SIDES),
    "padding": tuple(f"padding-{side}" for side in _SIDES),
    "overflow": ("overflow-x", "overflow-y"),
    "font": ("font-size",),
}
_ALIASES = {
    "inline-size": "width", "block-size": "height", "max-inline-size": "max-width", "max-block-size": "max-height", "inset-inline-start": "left",
    "inset-block-start": "top", "inset-inline-end": "right", "inset-block-end": "bottom", "margin-inline-start": "margin-left",
    "margin-block-start": "margin-top", "-webkit-transform": "transform", "-ms-transform": "transform", "-moz-transform": "transform",
    "-webkit-clip-path": "clip-path", "-webkit-background-clip": "background-clip", "-webkit-mask": "mask", "-webkit-mask-image": "mask",
    "mask-image": "mask", "-webkit-filter": "filter", "-webkit-animation": "animation", "-webkit-backface-visibility": "backface-visibility",
    "text-fill-color": "-webkit-text-fill-color", "-webkit-opacity": "opacity",
    "overflow-inline": "overflow-x", "overflow-block": "overflow-y",
}  # fmt: skip
_ALL = {
    "display", "visibility", "opacity", "font-size", "color", "position", "left", "top", "right", "bottom", "clip", "clip-path", "transform", "text-indent",
    "content-visibility", "overflow-x", "overflow-y", "width", "height", "max-width", "max-height", "background-color", "background-image", "filter",
}  # fmt: skip
