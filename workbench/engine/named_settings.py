"""Settings of a run by name: what ``--set NAME=VALUE`` reaches, what stands in ``workbench.toml``, what help and manual list.

A setting is a field of `RunSettings`, or of what is inside it (`AgentSettings`, `ClaimContext`; ``aggregation.NAME`` of
`Aggregation`), that carries a `Setting`. One that is added there is here.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_origin

import orjson

from workbench.agents.base import AgentSettings, ClaimContext
from workbench.engine.leaves.aggregation import Aggregation
from workbench.engine.run_settings import RunSettings, check_level, is_price
from workbench.errors import UsageError, command
from workbench.requests import RequestField, Setting, fields_of

#: The models whose fields are settings by their own names.
SETTINGS = (RunSettings, AgentSettings, ClaimContext)
#: Agents whose own settings go as ``ROLE.NAME``; the agent checks them.
ROLES = ("analyzer", "grounder", "synthesizer")
AGGREGATION = "aggregation"
#: Settings with a value by name, which ``NAME.KEY=VALUE`` gives one of.
_KEYED = ("models", "prices", "limits", "headers", "body")


@cache
def settings_by_name() -> dict[str, RequestField]:
    """Return all settings by the name they have in ``--set``."""
    own = [each for model in SETTINGS for each in fields_of(model)]
    return {
        **{each.word: each for each in own},
        **{f"{AGGREGATION}.{each.word}": each for each in fields_of(Aggregation)},
    }


def setting_of(each: RequestField) -> Setting:
    """Return what a setting says of itself."""
    assert isinstance(each.says, Setting)
    return each.says


def settings_by_panel() -> dict[str, list[str]]:
    """Return the names of all settings, by the panel that they are listed under."""
    panels: dict[str, list[str]] = {}
    for name, each in settings_by_name().items():
        panels.setdefault(setting_of(each).panel, []).append(name)
    return panels


def names_in_files(*where: str) -> frozenset[str]:
    """Return the settings that ``workbench.toml`` may hold, of these sorts (`Setting.in_file`)."""
    return frozenset(name for name, each in settings_by_name().items() if setting_of(each).in_file in where)


def read_settings(pairs: Sequence[str], *, option: str = "--set") -> dict[str, Any]:
    """Return the settings that were typed as ``NAME=VALUE``, by the names of the fields, as ``with_preset`` takes them.

    Values are JSON or text; a list may be written with commas. Settings of one agent come under ``options`` by role, those of
    `Aggregation` under ``aggregation``.

    Raises `UsageError`: No such setting, a value of another kind, or one that is given twice.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not (equals and name):
            raise UsageError(
                f"{option} {pair!r:.200}: write ROLE.NAME=VALUE or NAME=VALUE, for example trials=3"
            )
        name = name.replace("-", "_") if "." not in name else name
        head, dot, key = name.partition(".")
        if dot and key and head in ROLES:
            put_setting(values.setdefault("options", {}).setdefault(head, {}), key, json_or_text(text), name)
            continue
        if dot and key and head in _KEYED:
            put_setting(values.setdefault(head, {}), key, _keyed_value(head, text), name)
            continue
        if dot and head != AGGREGATION:
            raise UsageError(f"options belong to {', '.join(ROLES[:-1])} or {ROLES[-1]}, not {head:.60}")
        each = _setting_named(
            name if head != AGGREGATION else f"{head}.{key.replace('-', '_')}", option, pair
        )
        place = values.setdefault(AGGREGATION, {}) if head == AGGREGATION else values
        put_setting(place, each.name, _setting_value(each, text, option, pair), name)
    return values


def put_setting(values: dict[str, Any], name: str, value: Any, said: str) -> None:
    """Put one setting among the others; raises ``UsageError`` where it is there already."""
    if name in values:
        raise UsageError(f"{said} is set twice: set it once")
    values[name] = value


def merged(options: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a command's own options together with named ones; raises ``UsageError`` for one that both give."""
    values = dict(options)
    for name, value in named.items():
        if isinstance(value, dict) and isinstance(values.get(name), dict):
            values[name] = merged(values[name], value)
        else:
            put_setting(values, name, value, name)
    return values


def json_or_text(text: str) -> Any:
    """Return the JSON value of a text, or the text where it is none."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _setting_named(name: str, option: str, pair: str) -> RequestField:
    known = settings_by_name()
    # A field's own name is understood too, where people know it by another.
    setting = known.get(name) or next((each for each in known.values() if each.name == name), None)
    if setting is None:
        from difflib import get_close_matches  # only where a name was mistyped

        near = get_close_matches(name, known, n=3)
        hint = [f"did you mean {' or '.join(near)}?"] if near else [command("help", "analyze"), " lists them"]
        raise UsageError(f"{option} {pair!r:.200}: there is no setting {name!r:.60}: ", *hint)
    return setting


def _setting_value(each: RequestField, text: str, option: str, pair: str) -> Any:
    from pydantic import TypeAdapter, ValidationError

    value: Any = text
    if each.bare is not str and get_origin(each.bare) is not type(None):
        value = json_or_text(text)
        if each.shape == "list" and isinstance(value, str):
            value = [word.strip() for word in value.split(",")]
    try:
        TypeAdapter(each.kind).validate_python(value, strict=True)
    except ValidationError as error:
        belongs = error.errors(include_url=False)[0]["msg"].removeprefix("Input should be ")
        raise UsageError(f"{option} {pair!r:.200}: {belongs} belongs there. {each.says.text}") from None
    return value


def _keyed_value(name: str, text: str) -> Any:
    if name == "prices" and not text.startswith("["):
        text = f"[{text}]"
    return text if name in ("models", "headers") else json_or_text(text)


def read_prices(pairs: Sequence[str]) -> dict[str, list[float]]:
    """Return the prices that ``--price`` states, by model; raises ``UsageError``."""
    prices = {}
    for pair in pairs:
        # A model's name may hold an equals sign, a price never does.
        model, _, text = pair.rpartition("=")
        try:
            values = [float(part) for part in text.split(",")]
        except ValueError:
            values = []
        if not model or not is_price(values):
            raise UsageError(
                f"--price {pair!r}: write MODEL=IN,OUT or MODEL=IN,OUT,CACHED in US dollars per million tokens, for example"
                " openai/x=0.5,1.5"
            )
        prices[model] = values
    return prices


def without_level(settings: Mapping[str, Any], isolation: str | None) -> tuple[dict[str, Any], str | None]:
    """Return the settings that change the run, and the level of this command's own kernels, however it was given."""
    changes = dict(settings)
    level = changes.pop("isolation", None)
    if level is not None and isolation is not None:
        raise UsageError("isolation is set twice: set it once")
    level = level or isolation
    return changes, None if level is None else check_level(level)
