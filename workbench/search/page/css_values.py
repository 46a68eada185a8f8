"""Compute values of CSS properties: lengths in pixels of a wide screen, and colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tinycss2 import color4

#: The screen that a page is looked at on.
WIDTH, HEIGHT = 1280.0, 800.0
_DEEPEST = 12
Tokens = Sequence[Any]
Colour = tuple[float, float, float, float]

_PX = {
    "px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 96 / 2.54, "mm": 9.6 / 2.54, "q": 2.4 / 2.54, "vw": WIDTH / 100, "vh": HEIGHT / 100,
    "vi": WIDTH / 100, "vb": HEIGHT / 100, "vmin": HEIGHT / 100, "vmax": WIDTH / 100, "cqw": WIDTH / 100, "cqi": WIDTH / 100, "cqh": HEIGHT / 100,
}  # fmt: skip
_EM = {"em": 1.0, "ex": 0.5, "ch": 0.5, "cap": 0.7, "ic": 1.0, "lh": 1.2}
_SYSTEM = {
    "canvas": "white",
    "canvastext": "black",
    "field": "white",
    "fieldtext": "black",
    "linktext": "blue",
}
#: The forms of a colour; one whose colour cannot be told is taken for none.
COLOURS = {"rgb", "rgba", "hsl", "hsla", "hwb", "lab", "lch", "oklab", "oklch", "color", "color-mix", "light-dark", "contrast-color"}  # fmt: skip
TRANSPARENT: Colour = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The bases of relative lengths: the element's font, the root's font, and the length of 100 %."""

    font: float
    root: float = 16.0
    whole: float = WIDTH


def words(tokens: Tokens) -> list[Any]:
    """Return the tokens without white space and comments."""
    return [token for token in tokens if token.type not in ("whitespace", "comment")]


def keyword(tokens: Tokens) -> str:
    """Return the single keyword of a value in lower case; "" for any other value."""
    pieces = words(tokens)
    return pieces[0].lower_value if len(pieces) == 1 and pieces[0].type == "ident" else ""


def length(token: Any, sizes: Sizes, depth: int = 0) -> float | None:
    """Compute a length in pixels, or a bare number; None for other tokens and unknown units."""
    match token.type:
        case "number":
            return float(token.value)
        case "percentage":
            return float(token.value) * sizes.whole / 100
        case "dimension":
            unit = token.lower_unit
            if unit in _EM:
                return float(token.value) * _EM[unit] * sizes.font
            if unit in ("rem", "rlh"):
                return float(token.value) * sizes.root
            if unit not in _PX and unit[:1] in "sld" and unit[1:] in _PX:  # svh, lvw and the like
                unit = unit[1:]
            return float(token.value) * _PX[unit] if unit in _PX else None
        case "function" if depth < _DEEPEST:
            return _function(token, sizes, depth + 1)
        case "() block" if depth < _DEEPEST:
            return _sum(words(token.content), sizes, depth + 1)
    return None


def _function(token: Any, sizes: Sizes, depth: int) -> float | None:
    parts: list[float] = []
    for part in split(token.arguments):
        value = _sum(words(part), sizes, depth)
        if value is None:
            return None
        parts.append(value)
    if not parts:
        return None
    match token.lower_name:
        case "calc" | "-webkit-calc" | "-moz-calc":
            return parts[0]
        case "min":
            return min(parts)
        case "max":
            return max(parts)
        case "clamp" if len(parts) == 3:
            return max(parts[0], min(parts[1], parts[2]))
        case "abs":
            return abs(parts[0])
    return None


def _sum(tokens: list[Any], sizes: Sizes, depth: int) -> float | None:
    total, sign, product, divide = 0.0, 1.0, None, False
    for token in tokens:
        if token.type == "literal" and token.value in "+-*/":
            if token.value in "+-":
                total += sign * (product or 0.0)
                sign, product = (1.0 if token.value == "+" else -1.0), None
            divide = token.value == "/"
            continue
        value = length(token, sizes, depth)
        if value is None or (divide and not value):
            return None
        product = value if product is None else product / value if divide else product * value
    return None if product is None else total + sign * product


def split(tokens: Tokens, mark: str = ",") -> list[list[Any]]:
    """Split a value at its commas."""
    parts: list[list[Any]] = [[]]
    for token in tokens:
        if token.type == "literal" and token.value == mark:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def number(tokens: Tokens, sizes: Sizes | None = None) -> float | None:
    """Compute a number, with 100 % as 1; None for any other value."""
    pieces = words(tokens)
    return length(pieces[0], sizes or Sizes(16, whole=1.0)) if len(pieces) == 1 else None


def colour(token: Any, current: Colour, depth: int = 0) -> Colour | None:
    """Compute a colour as red, green, blue and opacity from 0 to 1; None if it is none or unknown."""
    if token.type == "ident" and token.lower_value in _SYSTEM:
        parsed = color4.parse_color(_SYSTEM[token.lower_value])
    elif token.type == "function" and token.lower_name in ("color-mix", "light-dark"):
        return _mixed(token, current, depth + 1) if depth < 4 else None
    elif token.type == "ident" or token.type == "hash" or token.type == "function":
        try:
            parsed = color4.parse_color(token)
        except (ValueError, TypeError, IndexError, AttributeError, ArithmeticError):
            return None  # the parser stumbles over some forms of what is none
    else:
        return None
    if parsed is None:
        return None
    if parsed == "currentcolor":
        return current
    try:
        red, green, blue = parsed.to("srgb").coordinates
    except (ValueError, TypeError, NotImplementedError, ArithmeticError):
        return None
    return tuple(min(1.0, max(0.0, part or 0.0)) for part in (red, green, blue, parsed.alpha))  # type: ignore[return-value]


def _mixed(token: Any, current: Colour, depth: int) -> Colour | None:
    parts = split(token.arguments)
    light = token.lower_name == "light-dark"
    pieces: list[tuple[Colour, float | None]] = []
    for part in parts if light else parts[1:]:
        colours = [value for word in words(part) if (value := colour(word, current, depth)) is not None]
        share = next((float(word.value) / 100 for word in words(part) if word.type == "percentage"), None)
        if len(colours) != 1:
            return None
        pieces.append((colours[0], share))
    if light:
        return pieces[0][0] if pieces else None
    if len(pieces) != 2:
        return None
    (item, first), (second_colour, second) = pieces
    first = first if first is not None else 1 - (second if second is not None else 0.5)
    return tuple(a * first + b * (1 - first) for a, b in zip(item, second_colour, strict=True))  # type: ignore[return-value]


def over(colour: Colour, ground: Colour) -> Colour:
    """Blend a colour over an opaque ground."""
    alpha = colour[3]
    return (*(a * alpha + b * (1 - alpha) for a, b in zip(colour[:3], ground[:3], strict=True)), 1.0)  # type: ignore[return-value]


def contrast(first_colour: Colour, second_colour: Colour) -> float:
    """Compute the contrast ratio of two opaque colours (WCAG): 1 for equal ones, 21 for black on white."""
    first, second = sorted((_luminance(first_colour), _luminance(second_colour)))
    return (second + 0.05) / (first + 0.05)


def _luminance(colour: Colour) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
