"""What a page's own style hides from its reader, as far as one declaration tells it; Lexbor matches the selectors.

Hidden is a text that is not drawn, too small, too faint, of the colour of its ground, cut away, or off the screen. No layout is made:
what something else covers and what only the sizes of boxes tell is not looked at (SECURITY.md, 14).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import tinycss2
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError
from tinycss2.color5 import parse_color

from sandbox.jupyter.sanitize import contrast, luminance

#: Elements, elements times compounds that are tried, and matches that are weighed: they bound the work of a page.
MOST_ELEMENTS, MOST_TRIES, MOST_MATCHES = 50_000, 60_000_000, 400_000
#: Pixels that a box may be moved away, pixels of the smallest letter, share of light that must come through, least contrast (WCAG 2).
FARTHEST, LEAST_FONT, LEAST_OPACITY, LEAST_CONTRAST = 900.0, 3.0, 0.06, 1.12
#: The screen that conditions are read for, in pixels.
WIDTH, HEIGHT = 1280.0, 800.0
_UNITS = {
    "px": 1.0,
    "pt": 4 / 3,
    "rem": 16.0,
    "vw": WIDTH / 100,
    "vh": HEIGHT / 100,
    "cm": 37.8,
    "mm": 3.78,
    "in": 96.0,
    "ch": 8.0,
}
_DISPLAYS = {
    "none", "block", "inline", "inline-block", "flex", "inline-flex", "grid", "inline-grid", "contents", "flow-root", "list-item", "table", "inline-table",
    "table-row", "table-cell", "table-row-group", "table-header-group", "table-footer-group", "table-caption", "ruby", "-webkit-box", "initial", "unset",
    "inherit", "revert",
}  # fmt: skip
_FONTS = {
    "xx-small": 9.0,
    "x-small": 10.0,
    "small": 13.0,
    "medium": 16.0,
    "large": 18.0,
    "x-large": 24.0,
    "xx-large": 32.0,
}
_OTHER_NAMES = {
    "inline-size": "width", "block-size": "height", "max-inline-size": "max-width", "max-block-size": "max-height",
    "inset-inline-start": "left", "-webkit-transform": "transform", "-webkit-clip-path": "clip-path", "-webkit-filter": "filter",
    "-webkit-opacity": "opacity",
}  # fmt: skip
_MOVES = ("left", "top", "right", "bottom", "inset", "translate")
_CUTS = {"overflow-x": ("width", "max-width"), "overflow-y": ("height", "max-height")}
_READ = {
    "display", "visibility", "content-visibility", "opacity", "filter", "font", "font-size", "color", "background", "background-color", "background-image",
    "-webkit-text-fill-color", "text-shadow", "-webkit-text-stroke", "position", "margin-left", "margin-top", "text-indent", "clip", "clip-path",
    "transform", "overflow", "overflow-x", "overflow-y", "width", "height", "max-width", "max-height", *_MOVES,
}  # fmt: skip
Tokens = tuple[Any, ...]
Colour = tuple[float, float, float, float]
#: Name, value, and whether it is important.
Declaration = tuple[str, Tokens, bool]


class PageTooLarge(ValueError):
    """A page whose visible text cannot be found within the bounds of work."""


@dataclass(frozen=True, slots=True)
class Look:
    """How text of an element is drawn; ``hidden`` holds for all below it too, a ``ground`` of None is a picture."""

    hidden: bool = False
    visible: bool = True
    opacity: float = 1.0
    font: float = 16.0
    colour: Colour = (0, 0, 0, 1)
    ground: Colour | None = (1, 1, 1, 1)
    outlined: bool = False
    variables: Mapping[str, Tokens] = field(default_factory=dict)

    @property
    def shown(self) -> bool:
        """Whether text that stands right in the element is seen."""
        if self.hidden or not self.visible or self.font < LEAST_FONT:
            return False
        return self.outlined or self.ground is None or _contrast(self.colour, self.ground) >= LEAST_CONTRAST


class PageStyle:
    """The rules of a page's style sheets and attributes; `look` is asked for each element below the one around it.

    Raises `PageTooLarge`: More rules or matches than are weighed.
    """

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree
        nodes = tree.css("*")
        if len(nodes) > MOST_ELEMENTS:
            raise PageTooLarge("it has too many elements")
        self._parents: dict[int, int] = {}
        self._before: dict[int, int] = {}
        last: dict[int, int] = {}
        places: Counter[int] = Counter()
        for node in nodes:
            name = node.mem_id
            if node.parent is not None:
                above = self._parents[name] = node.parent.mem_id
                places[above] += 1
                if above in last:
                    self._before[name] = last[above]
                last[above] = name
        self._cost, self._widest = len(nodes), max(places.values(), default=1)
        self._tries = 0
        self._compounds: dict[str, set[int]] = {}
        self._of: dict[int, list[tuple[tuple[Any, ...], Declaration]]] = {}
        order = matches = 0
        for sheet in tree.css("style"):
            if not _for_screens(sheet.attributes.get("media") or ""):
                continue
            for selectors, declarations in _rules(tinycss2.parse_stylesheet(sheet.text(), True, True)):
                try:
                    found = [(self._matching(each), _specificity(each)) for each in selectors]
                except SelectolaxError:  # as in a browser, one that cannot be read makes the rule void
                    continue
                matches += sum(len(names) for names, _ in found) * len(declarations)
                if matches > MOST_MATCHES:
                    raise PageTooLarge("its style rules are too many for its elements")
                for declaration in declarations:
                    order += 1
                    for names, weight in found:
                        for name in names:
                            self._of.setdefault(name, []).append(
                                ((declaration[2], weight, order), declaration)
                            )

    def _matching(self, selector: list[Any]) -> set[int]:
        """Return the elements of a selector: Lexbor finds those of each compound, and what stands between is joined here.

        Lexbor alone takes time beyond all bounds for many compounds in a deep page.
        """
        reached: set[int] = set()
        for place, (combinator, compound) in enumerate(_compounds(selector)):
            found = self._found(tinycss2.serialize(compound))
            if place:
                links = self._parents if combinator in " >" else self._before
                far = combinator in " ~"
                found = (
                    _linked(found, reached, links)
                    if far
                    else {name for name in found if links.get(name) in reached}
                )
            reached = found
        return reached

    def _found(self, compound: str) -> set[int]:
        if compound not in self._compounds:
            among_others = ":nth" in compound or ":has" in compound
            self._tries += self._cost * (1 + self._widest // 10 if among_others else 1)
            if self._tries > MOST_TRIES:
                raise PageTooLarge("its style rules are too many for its elements")
            found = self._compounds[compound] = {node.mem_id for node in self._tree.css(compound)}
            self._tries += 4 * len(found)
        return self._compounds[compound]

    def look(self, node: LexborNode, around: Look) -> Look:
        """Return how an element is drawn inside what is around it."""
        attributes = node.attributes
        declared = [*self._of.get(node.mem_id, ())]
        if style := attributes.get("style"):
            items = enumerate(_declarations(tinycss2.parse_blocks_contents(style, True, True)))
            declared += [((item[2], (1, 0, 0, 0), place), item) for place, item in items]
        won = [item for _, item in sorted(declared, key=lambda entry: entry[0])]
        if own := {name: value for name, value, _ in won if name.startswith("--")}:
            around = replace(around, variables={**around.variables, **own})
        values = _hints(node.tag or "", attributes)
        for name, value, _ in won:
            if not name.startswith("--"):
                values.update(_longhands(name, _resolved(value, around.variables)))
        return _drawn(values, around) if values else around


def _linked(names: set[int], reached: set[int], links: Mapping[int, int]) -> set[int]:
    """Return those from which a chain of links leads to one that is reached."""
    known: dict[int, bool] = {}
    for name in names:
        path, at = [], name
        while at not in known:
            path.append(at)
            above = links.get(at)
            if above is None or above in reached:
                known[at] = above is not None
            else:
                at = above
        known |= dict.fromkeys(path, known[at])
    return {name for name in names if known[name]}


def _compounds(selector: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the compounds of a selector, each with the combinator before it."""
    combinator, compound = "", list[Any]()
    for token in selector:
        if token.type == "whitespace" or (token.type == "literal" and token.value in (">", "+", "~")):
            if compound:
                yield combinator or " ", compound
                combinator, compound = "", []
            combinator += token.value.strip()
        elif token.type == "function" and not _is_simple(token):
            raise SelectolaxError("more than one compound in a function")
        elif token.type != "comment":
            compound.append(token)
    if compound:
        yield combinator or " ", compound


def _is_simple(function: Any) -> bool:
    kinds = {"function": "f", "whitespace": " "}
    shapes = [
        "".join(kinds.get(token.type, "x") for token in part).strip() for part in _split(function.arguments)
    ]
    return function.lower_name.startswith("nth") or not any({"f", " "} & {*shape} for shape in shapes)


def _rules(items: Iterable[Any]) -> Iterator[tuple[list[list[Any]], list[Declaration]]]:
    """Yield the selectors and declarations of rules for screens; rules inside others are not looked at."""
    for rule in items:
        if rule.type == "qualified-rule":
            declared = _declarations(tinycss2.parse_blocks_contents(rule.content, True, True))
            if declarations := [item for item in declared if item[0] in _READ or item[0].startswith("--")]:
                yield _split(rule.prelude), declarations
        elif rule.type == "at-rule" and rule.content and _is_for_us(rule):
            yield from _rules(tinycss2.parse_blocks_contents(rule.content, True, True))


def _is_for_us(rule: Any) -> bool:
    condition = tinycss2.serialize(rule.prelude)
    if rule.lower_at_keyword == "media":
        return _for_screens(condition)
    if rule.lower_at_keyword == "supports":
        return not condition.strip().lower().startswith("not")
    return rule.lower_at_keyword in ("layer", "container")


def _for_screens(query: str) -> bool:
    return not query.strip() or any(map(_holds, query.lower().split(",")))


def _holds(query: str) -> bool:
    """Whether a query of media holds for a screen in light colours."""
    holds = not {"print", "speech"} & {*query.split()}
    for feature in tinycss2.parse_component_value_list(query):
        if feature.type == "() block":
            name, _, value = tinycss2.serialize(feature.content).partition(":")
            width = _pixels(_words(tinycss2.parse_component_value_list(value)), 16.0, 0.0)
            if width is not None:
                holds = holds and {"max-width": width >= WIDTH, "min-width": width <= WIDTH}.get(
                    name.strip(), True
                )
            holds = holds and value.strip() != "dark"
    return holds != query.strip().startswith("not ")


def _declarations(items: Iterable[Any]) -> Iterator[Declaration]:
    for item in items:
        if item.type == "declaration":
            name = item.name if item.name.startswith("--") else item.lower_name
            yield _OTHER_NAMES.get(name, name), _words(item.value), bool(item.important)


def _words(tokens: Iterable[Any]) -> Tokens:
    return tuple(token for token in tokens if token.type not in ("whitespace", "comment"))


def _split(tokens: Iterable[Any]) -> list[list[Any]]:
    parts: list[list[Any]] = [[]]
    for token in tokens:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _specificity(selector: Iterable[Any]) -> tuple[int, ...]:
    """Return the weight of a selector (Selectors 4, section 17), below the place of ``style`` attributes."""
    ids = classes = tags = 0
    before = ""
    for token in selector:
        if token.type == "function" and token.lower_name in ("is", "not", "has"):
            _, *inner = max(map(_specificity, _split(token.arguments)))
            ids, classes, tags = ids + inner[0], classes + inner[1], tags + inner[2]
        elif token.type == "hash":
            ids += 1
        elif token.type in ("[] block", "function") or before in (".", ":"):
            classes += 1
        elif token.type == "ident":
            tags += 1
        before = token.value if token.type == "literal" else ""
    return 0, ids, classes, tags


def _resolved(value: Tokens, variables: Mapping[str, Tokens], depth: int = 0) -> Tokens:
    """Put in the values of variables; one that is not there, or names itself, has none."""
    out: list[Any] = []
    for token in value:
        if token.type == "function" and token.lower_name == "var":
            name, *fallback = _split(token.arguments)
            found = variables.get(tinycss2.serialize(name).strip(), _words(fallback[0]) if fallback else ())
            out += _resolved(found, variables, depth + 1) if depth < 10 and len(out) < 100 else ()
        else:
            out.append(token)
    return tuple(out[:100])


def _longhands(name: str, value: Tokens) -> dict[str, Tokens]:
    match name:
        case "display" if _word(value) not in _DISPLAYS:  # void, so that what was said before holds
            return {}
        case "overflow":
            return {"overflow-x": value[:1], "overflow-y": value[-1:]}
        case "background":
            drawn = any(token.type in ("url", "function") and parse_color(token) is None for token in value)
            return {"background-image": value if drawn else (), "background-color": value}
        case "font":
            sizes = [
                token for token in value if token.type in ("dimension", "percentage") or _number(token) == 0
            ]
            return {"font-size": tuple(sizes[:1])}
    return {name: value}


def _hints(tag: str, attributes: Mapping[str, str | None]) -> dict[str, Tokens]:
    """Return what attributes and the browser's own sheet declare, below all that a page does."""
    values: dict[str, str | None] = {}
    if "hidden" in attributes or "popover" in attributes or (tag == "dialog" and "open" not in attributes):
        values["display"] = "none"
    values["background-color"] = attributes.get("bgcolor")
    values["color"] = attributes.get({"body": "text", "font": "color"}.get(tag, ""))
    values["background-image"] = attributes.get("background") and "url(x)"
    if tag == "a" and "href" in attributes:
        values["color"] = "#0000ee"
    if tag == "mark":
        values |= {"color": "black", "background-color": "yellow"}
    parsed = {
        name: _words(tinycss2.parse_component_value_list(text)) for name, text in values.items() if text
    }
    for name in ("color", "background-color"):
        if name in parsed and _colour(parsed[name], (0, 0, 0, 1)) is None:  # a colour without its #
            parsed[name] = tuple(tinycss2.parse_component_value_list(f"#{values[name]}"))
    return parsed


def _word(value: Tokens) -> str:
    return value[0].lower_value if len(value) == 1 and value[0].type == "ident" else ""


def _pixels(value: Tokens, font: float, whole: float) -> float | None:
    """Return a length in pixels; None of what is none."""
    token = value[0] if len(value) == 1 else None
    if token is None or token.type not in ("number", "percentage", "dimension"):
        return None
    if token.type == "dimension":
        unit = font if token.lower_unit == "em" else _UNITS.get(token.lower_unit)
        return None if unit is None else float(token.value) * unit
    return (
        float(token.value) / 100 * whole if token.type == "percentage" else 0.0 if token.value == 0 else None
    )


def _number(token: Any) -> float | None:
    if token.type == "percentage":
        return float(token.value) / 100
    return float(token.value) if token.type == "number" else None


def _lengths(value: Iterable[Any], font: float) -> list[float]:
    return [size for token in value if (size := _pixels((token,), font, 100.0)) is not None]


def _calls(value: Tokens) -> Iterator[tuple[str, Tokens]]:
    return ((token.lower_name, _words(token.arguments)) for token in value if token.type == "function")


def _colour(value: Tokens, current: Colour) -> Colour | None:
    for token in value:
        parsed = parse_color(token)
        if parsed == "currentcolor":
            return current
        if parsed is not None:
            try:
                red, green, blue = (min(1.0, max(0.0, part)) for part in parsed.to("srgb").coordinates)
            except NotImplementedError:  # spaces that tinycss2 does not convert
                continue
            return (red, green, blue, float(parsed.alpha))
    return None


def _contrast(text: Colour, ground: Colour) -> float:
    """Return the ratio of their luminances (WCAG 2, 1.4.3), the text's alpha laid over the ground; different hues count as seen."""
    over = [part * text[3] + below * (1 - text[3]) for part, below in zip(text[:3], ground[:3], strict=True)]
    if max(abs(part - below) for part, below in zip(over, ground[:3], strict=True)) > 0.25:
        return 21.0
    return contrast(luminance(over), luminance(ground[:3]))


def _drawn(values: Mapping[str, Tokens], around: Look) -> Look:
    font = _font(values.get("font-size", ()), around.font)
    colour = _colour(values.get("color", ()), around.colour) or around.colour
    colour = _colour(values.get("-webkit-text-fill-color", ()), colour) or colour
    ground = around.ground
    own = _colour(values.get("background-color", ()), colour)
    if _word(values.get("background-image", ())) != "none" and values.get("background-image"):
        ground = None
    elif own is not None and own[3] > 0.5:
        ground = own
    faint = [value for token in values.get("opacity", ()) if (value := _number(token)) is not None]
    for name, arguments in _calls(values.get("filter", ())):
        if name == "opacity":
            faint += [value for token in arguments if (value := _number(token)) is not None]
    opacity = around.opacity * min(1.0, *faint, 1.0)
    visibility = _word(values.get("visibility", ()))
    return Look(
        hidden=opacity < LEAST_OPACITY or _is_away(values, font) or _is_cut(values, font),
        visible=around.visible if visibility in ("", "inherit", "unset") else visibility == "visible",
        opacity=opacity,
        font=font,
        colour=colour,
        ground=ground,
        outlined=around.outlined
        or any(
            _word(values.get(name, ())) != "none"
            for name in ("text-shadow", "-webkit-text-stroke")
            if name in values
        ),
        variables=around.variables,
    )


def _font(value: Tokens, around: float) -> float:
    word = _word(value)
    if word:
        return _FONTS.get(word, around * {"smaller": 0.83, "larger": 1.2}.get(word, 1.0))
    size = _pixels(value, around, around)
    return around if size is None else size


def _is_away(values: Mapping[str, Tokens], font: float) -> bool:
    """Whether a box is not drawn at all, is nothing wide or high, or stands off the screen."""
    if _word(values.get("display", ())) == "none" or _word(values.get("content-visibility", ())) == "hidden":
        return True
    placed = _word(values.get("position", ())) in ("absolute", "fixed", "relative", "sticky")
    moves = ["margin-left", "margin-top", "text-indent", *(_MOVES if placed else ())]
    if any(abs(size) >= FARTHEST for name in moves for size in _lengths(values.get(name, ()), font)):
        return True
    for name, arguments in _calls(values.get("transform", ())):
        if name.startswith("scale") and any(_number(token) == 0 for token in arguments[:3]):
            return True
        if name.startswith("translate") and any(abs(size) >= FARTHEST for size in _lengths(arguments, font)):
            return True
    return False


def _is_cut(values: Mapping[str, Tokens], font: float) -> bool:
    """Whether nothing of a box is left by its clip, or by its size where what flows over is cut off."""
    if _word(values.get("position", ())) in ("absolute", "fixed"):
        for name, arguments in _calls(values.get("clip", ())):
            if name == "rect" and len(set(_lengths(arguments, font))) == 1:
                return True
    for name, arguments in _calls(values.get("clip-path", ())):
        sizes = _lengths(arguments, font)
        if (name == "inset" and sizes and sizes[0] >= 50) or (
            name in ("circle", "polygon", "ellipse") and not any(sizes[:2])
        ):
            return True
    for overflow, names in _CUTS.items():
        if _word(values.get(overflow, ())) in ("hidden", "clip", "auto", "scroll"):
            sizes = [
                size for name in names if (size := _pixels(values.get(name, ()), font, FARTHEST)) is not None
            ]
            if sizes and min(sizes) <= 1:
                return True
    return False
