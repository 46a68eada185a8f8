"""Decide which style holds on a page: media queries, ``@supports``, and invalid values."""

from __future__ import annotations

from typing import Any

from workbench.search.page.css_values import COLOURS, WIDTH, Sizes, colour, length, split, words


def media_holds(tokens: list[Any]) -> bool | None:
    """Whether a list of media queries holds for a wide screen; None if undecidable."""
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
            holds = _feature(words(token.content))
            if holds is False or (holds is None and answer is not False):
                answer = holds
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
    screen = {
        "prefers-color-scheme": "light", "prefers-reduced-motion": "no-preference", "orientation": "landscape", "hover": "hover",
        "any-hover": "hover", "pointer": "fine", "any-pointer": "fine", "prefers-contrast": "no-preference", "forced-colors": "none", "scripting": "enabled",
        "display-mode": "browser", "update": "fast",
    }  # fmt: skip
    return screen[name] == getattr(value, "lower_value", "") if name in screen else None


def supported(tokens: list[Any]) -> bool | None:
    """Whether a browser supports the features; None if undecidable."""
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
                holds: bool | None = is_valid(content[0].lower_value, tuple(content[2:]))
            else:
                holds = supported(content)
            answer = answer and holds
    return answer if answer is None else answer != negated


def is_valid(name: str, value: tuple[Any, ...]) -> bool:
    """Whether a value is valid for its property; browsers drop an invalid declaration, and the one before it holds."""
    pieces = words(value)
    if not pieces:
        return name.startswith("--")
    item = pieces[0]
    if any(token.type == "function" and token.lower_name in ("var", "env", "attr") for token in pieces):
        return True
    if len(pieces) == 1 and item.type == "ident" and item.lower_value in _EVERYWHERE:
        return True
    if name in _KEYWORDS:
        keywords = _KEYWORDS[name].split()
        return all(token.type == "ident" and token.lower_value in keywords for token in pieces)
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


_SIZES = frozenset(
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
