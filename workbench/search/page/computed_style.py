"""Compute an element's style from its values and its parents', and so whether a reader sees its text.

Not a layout. What covers what, pictures, fonts, scripts and style sheets of other addresses are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from workbench.search.page.css_values import (
    COLOURS,
    HEIGHT,
    TRANSPARENT,
    WIDTH,
    Colour,
    Sizes,
    colour,
    contrast,
    keyword,
    length,
    number,
    over,
    split,
    words,
)
from workbench.search.page.page_tree import Element

#: Smaller letters, and less contrast (WCAG's ratio), are not seen.
LEAST_FONT, LEAST_CONTRAST = 4.0, 1.2
#: A box that cuts off what stands out of it shows nothing below this many pixels.
_LEAST_BOX = 4.0
#: How far beyond the left or upper edge something of unknown size is taken to be out of sight.
_FAR, _TOO_FAR = -200.0, 3_000.0
WHITE: Colour = (1.0, 1.0, 1.0, 1.0)
BLACK: Colour = (0.0, 0.0, 0.0, 1.0)
Values = dict[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """The computed style of an element, with the parts that it inherits."""

    hidden: bool = False
    visible: bool = True
    opacity: float = 1.0
    font: float = 16.0
    ink: Colour = BLACK
    #: Inks of ``-webkit-text-fill-color``, and of a shadow or an outline that shows letters where their own ink does not.
    fill: Colour | None = None
    traces: tuple[Colour, ...] = ()
    #: Colours of which one may lie behind the text; empty where that is a picture.
    grounds: tuple[Colour, ...] = (WHITE,)
    clipped_to_text: bool = False
    #: Where its box begins, as far as it was moved, and what cuts it off: an origin with a width and a height.
    x: float = 0.0
    y: float = 0.0
    cut: tuple[float, float, float, float] | None = None
    fixed: bool = False
    indent: float = 0.0
    spacing: float = 0.0
    squeezed: bool = False
    #: It stands in a placed box over a picture.
    over_picture: bool = False
    in_picture_box: bool = False
    backed: bool = False
    turned: bool = False
    variables: Values = field(default_factory=dict)

    @property
    def shown(self) -> bool:
        """Whether text that stands in the element is seen."""
        if self.hidden or not self.visible or self.font < LEAST_FONT or self.spacing <= -0.4 * self.font:
            return False
        if self.cut is not None:
            left, top, wide, high = self.cut
            if self.x + self.indent - left >= wide or self.y - top >= high:
                return False
        grounds = self.grounds if not self.over_picture else ()
        ink = self.fill or self.ink
        if self.clipped_to_text:
            return True
        strength = ink[3] * self.opacity
        if not grounds:
            return strength >= 0.1 or any(trace[3] * self.opacity >= 0.1 for trace in self.traces)
        return any(
            contrast(over((*item[:3], item[3] * self.opacity), ground), ground) >= LEAST_CONTRAST
            for item in (ink, *self.traces)
            for ground in grounds
        )


def computed(element: Element, values: Values, around: Style, root: float) -> Style:
    """Compute an element's style from its cascaded values, the style around it and the root's font size."""
    font = _font(values, around, root)
    sizes = Sizes(font, root)
    position = keyword(values.get("position", ())) or "static"
    changes: dict[str, Any] = {"font": font}
    display = keyword(values.get("display", ()))
    if display == "none" or keyword(values.get("content-visibility", ())) == "hidden":
        return replace(around, hidden=True)
    if any(
        token.type in ("url",) or (token.type == "function" and token.lower_name == "url")
        for token in values.get("content", ())
    ):
        return replace(around, hidden=True)
    match keyword(values.get("visibility", ())):
        case "hidden" | "collapse":
            changes["visible"] = False
        case "visible":
            changes["visible"] = True
    opacity = number(values.get("opacity", ()))
    if opacity is not None:
        changes["opacity"] = around.opacity * min(1.0, max(0.0, opacity))
    changes.update(_paint(element, values, around, position, sizes))
    placed = _place(values, around, position, sizes)
    if placed is None or _cut_away(values, position, sizes):
        return replace(around, hidden=True)
    changes.update(placed)
    changes["indent"] = _measure(values, "text-indent", sizes, around.indent)
    if changes["indent"] <= _FAR / 2 or changes["indent"] >= _TOO_FAR:
        changes["hidden"] = True
    changes["spacing"] = _measure(values, "letter-spacing", sizes, around.spacing)
    line = values.get("line-height")
    if line:
        high = number(line, Sizes(font, root, font))
        changes["squeezed"] = high is not None and high < 0.1
    changes.update(_box(values, around, changes, display, sizes))
    if position in ("absolute", "fixed") and around.in_picture_box:
        changes["over_picture"] = True
    if position != "static":
        changes["in_picture_box"] = element.holds_picture and element.tag not in ("body", "html")
    return replace(around, **changes)


def _measure(values: Values, name: str, sizes: Sizes, default: float) -> float:
    pieces = words(values.get(name, ()))
    if not pieces:
        return default
    value = length(pieces[0], sizes)
    return default if value is None and keyword(values[name]) == "inherit" else value or 0.0


def _font(values: Values, around: Style, root: float) -> float:
    font = around.font
    pieces = words(values.get("font-size", ()))
    if pieces:
        size = size_of_font(pieces[0], Sizes(around.font, root, around.font), around.font)
        font = size if size is not None else font
    zoom = number(values.get("zoom", ()))
    return font if zoom is None else font * max(0.0, zoom)


_NAMED = {"xx-small": 9, "x-small": 10, "small": 13, "medium": 16, "large": 18, "x-large": 24, "xx-large": 32, "xxx-large": 48}  # fmt: skip


def size_of_font(token: Any, sizes: Sizes, parent: float) -> float | None:
    """Compute a font size in pixels; None for a token that is none."""
    if token.type == "ident":
        if token.lower_value in ("smaller", "larger"):
            return parent * (0.83 if token.lower_value == "smaller" else 1.2)
        return _NAMED.get(token.lower_value)
    if token.type == "number" and token.value:
        return None if token.value in range(100, 1000, 100) else float(token.value)
    return length(token, sizes)


def _paint(element: Element, values: Values, around: Style, position: str, sizes: Sizes) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    ink = around.ink

    def found_colour(name: str) -> Colour | None:
        pieces = words(values.get(name, ()))
        if not pieces or (pieces[0].type == "ident" and pieces[0].lower_value == "inherit"):
            return None
        value = colour(pieces[0], around.ink if name == "color" else ink)
        return TRANSPARENT if value is None and is_unknown(pieces[0]) else value

    if (text_colour := found_colour("color")) is not None:
        changes["ink"] = ink = text_colour
    elif "color" in values and not values["color"]:
        changes["ink"] = ink = BLACK if keyword(values["color"]) != "inherit" else around.ink
    if (fill := found_colour("-webkit-text-fill-color")) is not None:
        changes["fill"] = fill
    traces = tuple(around.traces)
    for name in ("stroke", "text-shadow"):
        if name in values:
            traces = tuple(_traces(values[name], ink, sizes, blur=name == "text-shadow"))
            changes["traces"] = traces
    image = values.get("background-image", ())
    ground = found_colour("background-color")
    if ground is not None and "background-color" in values and ground == TRANSPARENT and is_unknown(words(values["background-color"])[0]):  # fmt: skip
        ground = None
    grounds = around.grounds
    if ground is not None and ground[3] > 0:
        grounds = tuple(over(ground, below) for below in grounds) or ((ground,) if ground[3] > 0.9 else ())
        changes["over_picture"] = False
        changes["backed"] = ground[3] > 0.9 and element.tag not in ("html", "body")
    pictures = [token for token in words(image) if is_image(token)]
    if pictures:
        colours = [part for token in pictures for part in _gradient(token, ink)]
        flat = all(token.type == "function" and "gradient" in token.lower_name for token in pictures)
        grounds = tuple(over(part, below) for part in colours for below in grounds or (WHITE,)) if flat and colours else ()  # fmt: skip
    changes["grounds"] = grounds[:16]
    clip = keyword(values.get("background-clip", ()))
    if clip == "text":
        # the ground is seen through the letters: what lay behind it is behind them
        is_seen = pictures or (ground is not None and ground[3] > 0 and any(contrast(over(ground, below), below) >= LEAST_CONTRAST for below in around.grounds))  # fmt: skip
        changes["clipped_to_text"] = bool(is_seen)
        changes["grounds"] = around.grounds
    elif grounds != around.grounds:
        changes["clipped_to_text"] = False
    level = number(values.get("z-index", ()))
    if position != "static" and level is not None:
        if level < 0 and around.backed:
            changes["hidden"] = True
        changes["backed"] = False
    return changes


def _traces(value: tuple[Any, ...], ink: Colour, sizes: Sizes, *, blur: bool) -> list[Colour]:
    """Return the colours in which a shadow or an outline draws letters; a wide blur draws none."""
    pieces = []
    for part in split(value):
        colours = [item for word in words(part) if (item := colour(word, ink)) is not None]
        lengths = [size for word in words(part) if word.type in ("dimension", "number") and (size := length(word, sizes)) is not None]  # fmt: skip
        if lengths and ((blur and (len(lengths) < 3 or lengths[2] <= 6) and max(map(abs, lengths[:2])) < 300) or (not blur and lengths[0] >= 0.4)):  # fmt: skip
            pieces.append(colours[0] if colours else ink)
    return pieces[:4]


def _gradient(token: Any, ink: Colour) -> list[Colour]:
    if token.type != "function":
        return []
    return [item for part in split(token.arguments) for word in words(part) if (item := colour(word, ink)) is not None][:16]  # fmt: skip


def _place(values: Values, around: Style, position: str, sizes: Sizes) -> dict[str, Any] | None:
    """Compute where an element is moved to; None if out of sight."""

    def side(name: str, whole: float) -> float | None:
        pieces = words(values.get(name, ()))
        return length(pieces[0], Sizes(sizes.font, sizes.root, whole)) if pieces else None

    fixed = position == "fixed"
    x, y = (0.0, 0.0) if fixed else (around.x, around.y)
    width = side("width", WIDTH)
    height = side("height", HEIGHT)
    moved = False
    if keyword(values.get("float", ())) in ("", "none"):
        beside, above = side("margin-left", WIDTH) or 0.0, side("margin-top", WIDTH) or 0.0
        x, y, moved = x + beside, y + above, bool(beside or above)
    if position in ("absolute", "fixed", "relative", "sticky"):
        left, right, top, bottom = side("left", WIDTH), side("right", WIDTH), side("top", HEIGHT), side("bottom", HEIGHT)  # fmt: skip
        if position == "sticky":
            left = right = top = bottom = None
        if left is not None:
            x += left
        elif right is not None:
            # from the right edge, which is at an unknown place unless it is the screen's
            x += -right if position == "relative" or right > _TOO_FAR / 2 else (WIDTH - right if right < _FAR else 0)  # fmt: skip
        if top is not None:
            y += top
        elif bottom is not None:
            y += -bottom if position == "relative" or bottom > 0.9 * _TOO_FAR else (HEIGHT - bottom if bottom < _FAR else 0)  # fmt: skip
        moved = True
    turned = around.turned
    for name in ("transform", "translate", "scale", "rotate"):
        value = values.get(name)
        if value:
            step = _transform(name, value, width, height, sizes)
            if step is None:
                return None
            x, y, turned, moved = x + step[0], y + step[1], turned != step[2], True
    if turned and keyword(values.get("backface-visibility", ())) == "hidden":
        return None
    wide = width if width is not None and width > 0 else -_FAR
    high = height if height is not None and height > 0 else -_FAR
    if moved and (x <= -wide or y <= -high or x >= (WIDTH if fixed else _TOO_FAR) or (fixed and y >= HEIGHT)):
        return None
    if moved and not fixed and around.fixed and y >= HEIGHT:
        return None
    return {"x": x, "y": y, "fixed": fixed or around.fixed, "turned": turned}


def _transform(
    name: str, value: tuple[Any, ...], width: float | None, height: float | None, sizes: Sizes
) -> tuple[float, float, bool] | None:
    """Compute how far a transform moves, and whether it shows the back; None if it leaves nothing visible."""
    across = Sizes(sizes.font, sizes.root, width if width is not None else 300.0)
    down = Sizes(sizes.font, sizes.root, height if height is not None else 100.0)
    x = y = 0.0
    back = False
    if name != "transform":
        steps = [(f"{name}3d" if name == "scale" else name, [[word] for word in words(value)])]
    else:
        steps = [(token.lower_name, split(token.arguments)) for token in words(value) if token.type == "function"]  # fmt: skip
    for step, parts in steps:
        pieces = [words(part) for part in parts]
        first = [length(part[0], across) if part else None for part in pieces]
        second = [length(part[0], down) if part else None for part in pieces]
        if step.startswith("scale"):
            if any(part is not None and abs(part) < 0.1 for part in first[: 1 if step in ("scalex", "scaley", "scalez") else 2]):  # fmt: skip
                return None
        elif step == "matrix" and len(first) == 6:
            a, b, c, d = (part or 0.0 for part in first[:4])
            if abs(a * d - b * c) < 0.01:
                return None
            x, y = x + (first[4] or 0), y + (first[5] or 0)
        elif step == "matrix3d" and len(first) == 16:
            if abs((first[0] or 0) * (first[5] or 0) - (first[1] or 0) * (first[4] or 0)) < 0.01:
                return None
            x, y = x + (first[12] or 0), y + (first[13] or 0)
        elif step in ("translate", "translate3d", "translatex"):
            x += (first[0] if first else None) or 0.0
            y += (second[1] if len(second) > 1 and step != "translatex" else None) or 0.0
        elif step == "translatey":
            y += (second[0] if second else None) or 0.0
        elif step in ("rotatex", "rotatey"):
            degrees = _degrees(pieces[0][0]) if pieces and pieces[0] else 0.0
            if abs(degrees % 180 - 90) < 3:
                return None
            back = back != (90 < degrees % 360 < 270)
        elif step in ("skew", "skewx", "skewy"):
            degrees = _degrees(pieces[0][0]) if pieces and pieces[0] else 0.0
            if abs(degrees % 180 - 90) < 3:
                return None
    return x, y, back


def _degrees(token: Any) -> float:
    unit = getattr(token, "lower_unit", "deg")
    value = float(getattr(token, "value", 0) or 0) if token.type in ("dimension", "number") else 0.0
    return value * {"deg": 1.0, "turn": 360.0, "rad": 57.29578, "grad": 0.9}.get(unit, 1.0)


def _cut_away(values: Values, position: str, sizes: Sizes) -> bool:
    for token in words(values.get("clip", ())):
        if token.type == "function" and token.lower_name == "rect" and position in ("absolute", "fixed"):
            edges = [length(word, sizes) for word in words(token.arguments) if word != ","]
            if len(edges) == 4 and None not in edges:
                top, right, bottom, left = (edge or 0.0 for edge in edges)
                if bottom - top <= _LEAST_BOX or right - left <= _LEAST_BOX:
                    return True
    return (
        any(
            token.type == "function" and _empty_shape(token, sizes)
            for token in words(values.get("clip-path", ()))
        )
        or any(
            token.type == "function" and "gradient" in token.lower_name and _faint_mask(token)
            for token in words(values.get("mask", ()))
        )
        or any(token.type == "function" and _faint(token, sizes) for token in words(values.get("filter", ())))
    )


def _faint_mask(token: Any) -> bool:
    colours = _gradient(token, BLACK)
    return bool(colours) and all(item[3] < 0.1 for item in colours)


def _faint(token: Any, sizes: Sizes) -> bool:
    value = number(token.arguments)
    if token.lower_name == "opacity":
        return value is not None and value < 0.1
    return token.lower_name == "blur" and value is not None and value >= 0.6 * sizes.font


def _empty_shape(token: Any, sizes: Sizes) -> bool:
    box = Sizes(sizes.font, sizes.root, 300.0)
    pieces = [word for word in words(token.arguments)]
    head: list[Any] = []
    for word in pieces:
        if word.type == "ident" and word.lower_value in ("at", "round"):
            break
        head.append(word)
    numbers = [value for word in head if word.type not in ("ident", "literal") and (value := length(word, box)) is not None]  # fmt: skip
    match token.lower_name:
        case "inset" if numbers:
            four = [numbers[0], numbers[1 % len(numbers)], numbers[2 % len(numbers)] if len(numbers) > 2 else numbers[0], numbers[3] if len(numbers) > 3 else numbers[1 % len(numbers)]]  # fmt: skip
            return four[0] + four[2] >= 296 or four[1] + four[3] >= 296
        case "circle" | "ellipse":
            return bool(numbers) and min(numbers) <= _LEAST_BOX / 2
        case "polygon":
            points = [tuple(length(word, box) or 0.0 for word in words(part)[:2]) for part in split(token.arguments)]  # fmt: skip
            points = [point for point in points if len(point) == 2]
            return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:] + points[:1], strict=True))) < 100  # fmt: skip
        case "rect" | "xywh" if len(numbers) == 4:
            wide, high = (numbers[1] - numbers[3], numbers[2] - numbers[0]) if token.lower_name == "rect" else (numbers[2], numbers[3])  # fmt: skip
            return wide <= _LEAST_BOX or high <= _LEAST_BOX
        case "path":
            return not any(character.isdigit() and character != "0" for word in pieces for character in str(getattr(word, "value", "")))  # fmt: skip
    return False


_CUTS = {"hidden", "clip", "auto", "scroll"}


def _box(
    values: Values, around: Style, changes: dict[str, Any], display: str, sizes: Sizes
) -> dict[str, Any]:
    across = keyword(values.get("overflow-x", ())) in _CUTS
    down = keyword(values.get("overflow-y", ())) in _CUTS
    if not (across or down) or display in ("inline", "contents"):
        return {}

    def side(*names: str, full: float) -> float | None:
        lengths = [
            value
            for name in names
            if (pieces := words(values.get(name, ())))
            and (value := length(pieces[0], Sizes(sizes.font, sizes.root, full))) is not None
        ]
        return min(lengths) if lengths else None

    def padded(*names: str) -> float:
        return sum(_measure(values, f"padding-{name}", sizes, 0.0) for name in names)

    width = side("width", "max-width", full=WIDTH) if across else None
    height = side("height", "max-height", full=HEIGHT) if down else None
    if down and height is None and changes.get("squeezed", around.squeezed):
        height = 0.0
    if width is not None:
        width = max(width, _measure(values, "min-width", sizes, 0.0)) + padded("left", "right")
    if height is not None:
        height = max(height, _measure(values, "min-height", sizes, 0.0)) + padded("top", "bottom")
    if (width is not None and width <= _LEAST_BOX) or (height is not None and height <= _LEAST_BOX):
        return {"hidden": True}
    if keyword(values.get("overflow-x", ())) in ("auto", "scroll"):
        width = None
    if keyword(values.get("overflow-y", ())) in ("auto", "scroll"):
        height = None
    # a box of no stated width is as wide as the screen at most
    return {"cut": (changes["x"], changes["y"], width or WIDTH, height or 1e9)}


def is_image(token: Any) -> bool:
    """Whether a token draws a picture or a gradient."""
    return token.type == "url" or (
        token.type == "function"
        and (token.lower_name in ("url", "image", "image-set", "-webkit-image-set", "element", "cross-fade", "paint") or "gradient" in token.lower_name)
    )  # fmt: skip


def is_unknown(token: Any) -> bool:
    """Whether a token is a colour that cannot be computed here."""
    return token.type == "function" and not is_image(token) and token.lower_name in COLOURS
