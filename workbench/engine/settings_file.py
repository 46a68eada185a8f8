"""``workbench.toml``: a person's defaults for ``analyze``, from the config folder and, within bounds, the current folder.

The command line wins over both. The current folder may be a stranger's (a clone, an unpacked archive): its file may say how
a claim is treated, never who is asked, where requests go, what is sent with them, or that more may be spent.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from proxies.input_files import InputRefused, parse_toml, read_text
from workbench.engine.named_settings import names_in_files, settings_by_name
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.environment import config_folder
from workbench.errors import UsageError
from workbench.models.base import MODEL_ROLES
from workbench.models.model_options import RATES

NAME = "workbench.toml"
LARGEST_BYTES = 65_536

#: What a file in the current folder may set: the claim's own options.
CLAIM_LEVEL = names_in_files("any")
#: May be set there too, and only to less than the person allows.
DOWNWARD = names_in_files("less")
#: Everything that ``[analyze]`` knows, by the names of the settings.
ANALYZE = CLAIM_LEVEL | DOWNWARD | names_in_files("own")
_SECRET = ("key", "token", "secret", "password", "authorization", "credential")


def defaults(current: Path, *, config: Path | None = None) -> tuple[dict[str, Any], list[str]]:
    """Return the settings that the files give, by the names of ``with_preset``, and complaints for the person to read.

    Parameters
    ----------
    current : Path
        The current folder, whose file is a stranger's.
    config : Path, optional
        The person's own folder; the platform's config folder unless told.

    Raises
    ------
    UsageError
        A file of one's own that cannot be read, or sets what there is not, with its line. A file of the current folder never
        raises: what it may not set is passed over with a complaint.
    """
    folder = config if config is not None else config_folder()
    own = _read(folder / NAME)
    values = {} if own is None else _settings(own, folder / NAME)
    complaints: list[str] = []
    place = current / NAME
    if place.absolute() == (folder / NAME).absolute():
        return values, complaints
    try:
        foreign = _read(place)
        if foreign is not None:
            values, complaints = _with_foreign(values, foreign, place)
    except UsageError as error:
        complaints.append(f"{error}; the file is ignored")
    return values, complaints


def with_defaults(chosen: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a command line on top of the files' values; None is an option that was not used.

    A file's address goes with the file's model: another model's requests, and its key, are not sent there.
    """
    used = {name: value for name, value in chosen.items() if value is not None}
    rest = dict(values)
    if "model" in used and used["model"] != rest.get("model"):
        rest.pop("api_base", None)
    for name in ("prices", "models"):
        if name in used and name in rest:
            used[name] = {**rest[name], **used[name]}
    return {**rest, **used}


def run_settings(
    chosen: Mapping[str, Any], values: Mapping[str, Any], *, nulls: Iterable[str] = ()
) -> RunSettings:
    """Return a run's settings from the options of a command line and the files' values; raises ``UsageError``.

    ``nulls`` are settings that are to be null whatever a file or the preset says.
    """
    together = with_defaults(chosen, values)
    try:
        document = with_preset(together.pop("preset", "product"), **together).to_json()
        for name in nulls:
            for place in (document, document["agent"]):
                if name in place:
                    place[name] = None
        # Read back as a stored run's settings are: a file's values may be of any kind.
        return RunSettings.from_json(document)
    except TypeError as error:
        raise UsageError(f"a value in {NAME} is of another kind than its option takes: {error}") from None


def _with_foreign(
    values: dict[str, Any], foreign: tuple[str, dict[str, Any]], place: Path
) -> tuple[dict[str, Any], list[str]]:
    _, data = foreign
    values = dict(values)
    ignored = [f"[{section}]" for section in data if section != "analyze"]
    section = data.get("analyze")
    for name, value in (section if isinstance(section, dict) else {}).items():
        option = settings_by_name()[name].name if name in ANALYZE else name
        if name in CLAIM_LEVEL and isinstance(value, str | int) and not isinstance(value, bool):
            values[option] = value
        elif (
            name in DOWNWARD and isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        ):
            values[option] = min(value, values.get(option, value))
        else:
            ignored.append(name)
    if not ignored:
        return values, []
    named = ", ".join(ascii(name)[1:-1][:60] for name in ignored[:20])
    return values, [
        f"{place}: ignored {named} (a file of the current folder sets a claim's own options only; put the rest into"
        f" {config_folder() / NAME})"
    ]


def _settings(own: tuple[str, dict[str, Any]], path: Path) -> dict[str, Any]:
    text, data = own
    values: dict[str, Any] = {}
    for section, content in data.items():
        if not isinstance(content, dict):
            raise _refused(path, text, section, "stands outside of a section")
        match section:
            case "analyze":
                for name, value in content.items():
                    if name not in ANALYZE:
                        raise _refused(
                            path,
                            text,
                            name,
                            f"is no option of [analyze]: one of {', '.join(sorted(ANALYZE))}",
                        )
                    values[settings_by_name()[name].name] = value
            case "models":
                values["models"] = _roles(content, path, text)
            case "prices":
                for name, value in content.items():
                    if not isinstance(value, list) or len(value) not in (2, 3):
                        raise _refused(
                            path,
                            text,
                            name,
                            "needs two numbers, US dollars per million tokens in and out, or three with that of cached input",
                        )
                values["prices"] = {name: [float(part) for part in value] for name, value in content.items()}
            case "headers":
                for name, value in content.items():
                    if not isinstance(value, str) or not value.startswith("env:"):
                        raise _refused(
                            path,
                            text,
                            name,
                            'must name an environment variable, "env:NAME": no keys in files',
                        )
                values["headers"] = dict(content)
            case "limits":
                values["limits"] = _limits(content, path, text)
            case "review":
                _review_section(content, path, text)
            case _:
                raise _refused(
                    path,
                    text,
                    section,
                    "is no section: analyze, models.ROLE, prices, headers, limits.PROVIDER, review",
                )
    return values


def review_defaults(config: Path | None = None) -> dict[str, Any]:
    """Return ``notify`` and ``alert`` (a share of 1) of a person's own file; a file of the current folder is not looked at.

    Raises ``UsageError`` for a value that is none.
    """
    path = (config if config is not None else config_folder()) / NAME
    own = _read(path)
    if own is None or not isinstance(content := own[1].get("review"), dict):
        return {}
    return _review_section(content, path, own[0])


def _review_section(content: Mapping[str, Any], path: Path, text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name == "notify" and isinstance(value, str) and value.strip():
            values[name] = value
        elif name == "alert" and type(value) in (int, float) and 0 <= value <= 100:
            values[name] = value / 100
        else:
            raise _refused(
                path, text, name, 'is no setting of [review]: notify = "COMMAND", alert = 5 (points)'
            )
    return values


def _roles(content: Mapping[str, Any], path: Path, text: str) -> dict[str, str]:
    models: dict[str, str] = {}
    for role, settings in content.items():
        if role not in MODEL_ROLES:
            raise _refused(path, text, role, f"is no role: one of {', '.join(MODEL_ROLES)}")
        if not isinstance(settings, dict) or set(settings) != {"model"}:
            raise _refused(path, text, role, 'has one setting: model = "provider/name"')
        models[role] = str(settings["model"])
    return models


def _limits(content: Mapping[str, Any], path: Path, text: str) -> dict[str, dict[str, float]]:
    limits: dict[str, dict[str, float]] = {}
    for provider, rates in content.items():
        numbers = isinstance(rates, dict) and all(type(rate) in (int, float) for rate in rates.values())
        if not numbers or set(rates) - set(RATES):
            raise _refused(
                path, text, provider, f"needs numbers of {' and '.join(RATES)}, as [limits.openai] has them"
            )
        limits[provider] = {name: float(rate) for name, rate in rates.items()}
    return limits


def _refused(path: Path, text: str, name: str, why: str) -> UsageError:
    line = next((n for n, row in enumerate(text.splitlines(), 1) if name in row), None)
    if any(word in name.lower() for word in _SECRET) and "max_tokens" not in name and "budget" not in name:
        why = "looks like a secret: keys are read from the environment or a .env file, never from here"
    return UsageError(f"{path}{f', line {line}' if line else ''}: {ascii(name)[1:-1][:60]} {why}")


def _read(path: Path) -> tuple[str, dict[str, Any]] | None:
    """The text and values of a file; None if there is none. Raises `UsageError` for what is no small TOML file."""
    if not os.path.lexists(path):
        return None
    try:
        text = read_text(path, most=LARGEST_BYTES)
        return text, parse_toml(text, str(path))
    except InputRefused as error:
        raise UsageError(str(error)) from None
