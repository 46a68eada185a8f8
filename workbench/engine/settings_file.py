"""``workbench.toml``: a person's defaults for ``analyze``, from the config folder and, within bounds, the current folder.

The command line wins over both. The current folder may be a stranger's (a clone, an unpacked archive): its file may say how
a claim is treated, never who is asked, where requests go, what is sent with them, or that more may be spent.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from proxies.input_files import InputRefused, parse_toml, read_text
from workbench.engine.named_settings import names_in_files, settings_by_name
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.environment import config_folder
from workbench.errors import UsageError
from workbench.models.base import MODEL_ROLES
from workbench.models.model_options import OFFLINE, RATES

NAME = "workbench.toml"
LARGEST_BYTES = 65_536

#: What a file in the current folder may set: the claim's own options.
CLAIM_LEVEL = names_in_files("any")
#: May be set there too, and only to less than the person allows.
DOWNWARD = names_in_files("less")
#: Everything that ``[analyze]`` knows, by the names of the settings.
ANALYZE = CLAIM_LEVEL | DOWNWARD | names_in_files("own")
_SECRET = ("key", "token", "secret", "password", "authorization", "credential")

_Entry = tuple[Any, str]
_REVIEW = 'is no setting of [review]: notify = "COMMAND", alert = 5 (points)'
#: What the entries of a section are, and what to write where one is something else.
_ENTRIES: dict[str, _Entry] = {
    "models": (
        Annotated[dict[Literal["model"], str], Field(min_length=1)],
        'has one setting: model = "provider/name"',
    ),
    "prices": (
        Annotated[list[float], Field(min_length=2, max_length=3)],
        "needs two numbers, US dollars per million tokens in and out, or three with that of cached input",
    ),
    "headers": (
        Annotated[str, Field(pattern="^env:")],
        'must name an environment variable, "env:NAME": no keys in files',
    ),
    "limits": (
        dict[Literal["requests_per_minute", "tokens_per_minute"], float],
        f"needs numbers of {' and '.join(RATES)}, as [limits.openai] has them",
    ),
}
#: The same for sections that have a few entries by their names.
_NAMED: dict[str, dict[str, _Entry]] = {
    "models": dict.fromkeys(MODEL_ROLES, _ENTRIES["models"]),
    "review": {
        "notify": (Annotated[str, Field(pattern=r"\S")], _REVIEW),
        "alert": (Annotated[float, Field(ge=0, le=100)], _REVIEW),
    },
}
_NO_NAME = {"models": f"is no role: one of {', '.join(MODEL_ROLES)}", "review": _REVIEW}


@dataclass(frozen=True, slots=True)
class _File:
    """A file that was read: its complaints name their line."""

    path: Path
    text: str
    data: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> "_File | None":
        """None if there is none. Raises `UsageError` for what is no small TOML file."""
        if not os.path.lexists(path):
            return None
        try:
            text = read_text(path, most=LARGEST_BYTES)
            return cls(path, text, parse_toml(text, str(path)))
        except InputRefused as error:
            raise UsageError(str(error)) from None

    def refused(self, name: str, why: str) -> UsageError:
        line = next((n for n, row in enumerate(self.text.splitlines(), 1) if name in row), None)
        if (
            any(word in name.lower() for word in _SECRET)
            and "max_tokens" not in name
            and "budget" not in name
        ):
            why = "looks like a secret: keys are read from the environment or a .env file, never from here"
        return UsageError(f"{self.path}{f', line {line}' if line else ''}: {ascii(name)[1:-1][:60]} {why}")

    def entries(self, section: str) -> dict[str, Any]:
        """Return what a section holds, by name, each of the kind that belongs there."""
        values = {}
        for name, value in self.data.get(section, {}).items():
            if section in _NAMED and name not in _NAMED[section]:
                raise self.refused(name, _NO_NAME[section])
            kind, belongs = _NAMED[section][name] if section in _NAMED else _ENTRIES[section]
            try:
                values[name] = TypeAdapter(kind).validate_python(value, strict=True)
            except ValidationError:
                raise self.refused(name, belongs) from None
        return values

    def settings(self) -> dict[str, Any]:
        """Return the settings of a person's own file, by the names of ``with_preset``."""
        sections = ["analyze", *_ENTRIES, "review"]
        for section, content in self.data.items():
            if not isinstance(content, dict):
                raise self.refused(section, "is outside of a section")
            if section not in sections:
                raise self.refused(
                    section,
                    "is not a section: analyze, models.ROLE, prices, headers, limits.PROVIDER, review",
                )
        analyze = self.data.get("analyze", {})
        for name in analyze:
            if name not in ANALYZE:
                raise self.refused(
                    name, f"is not an option of [analyze]: one of {', '.join(sorted(ANALYZE))}"
                )
        self.entries("review")
        values = {section: self.entries(section) for section in _ENTRIES if section in self.data}
        if "models" in values:
            values["models"] = {role: entry["model"] for role, entry in values["models"].items()}
        return {settings_by_name()[name].name: value for name, value in analyze.items()} | values

    def lower(self, values: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return a person's settings with those that this file, of the current folder, may set, and what is ignored of it."""
        section = self.data.get("analyze")
        values, ignored = dict(values), [f"[{name}]" for name in self.data if name != "analyze"]
        for name, value in (section if isinstance(section, dict) else {}).items():
            option = settings_by_name()[name].name if name in ANALYZE else name
            if name in CLAIM_LEVEL and type(value) in (str, int):
                values[option] = value
            elif name in DOWNWARD and type(value) in (int, float) and value > 0:
                values[option] = min(value, values.get(option, value))
            else:
                ignored.append(name)
        if not ignored:
            return values, []
        named = ", ".join(ascii(name)[1:-1][:60] for name in ignored[:20])
        return values, [
            f"{self.path}: ignored {named} (a file of the current folder sets a claim's own options only; put the rest into"
            f" {config_folder() / NAME})"
        ]


def defaults(current: Path, *, config: Path | None = None) -> tuple[dict[str, Any], list[str]]:
    """Return the settings that the files give, by the names of ``with_preset``, and complaints for the person to read.

    ``config`` is the person's own folder (the platform's unless told), ``current`` the current one, whose file is a stranger's.

    Raises ``UsageError`` for a file of one's own that cannot be read, or sets what there is not, with its line. A file of the current
    folder never raises: what it may not set is passed over with a complaint.
    """
    folder = config or config_folder()
    own = _File.read(folder / NAME)
    values = {} if own is None else own.settings()
    place = current / NAME
    if place.absolute() == (folder / NAME).absolute():
        return values, []
    try:
        foreign = _File.read(place)
    except UsageError as error:
        return values, [f"{error}; the file is ignored"]
    return (values, []) if foreign is None else foreign.lower(values)


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
    chosen: Mapping[str, Any], values: Mapping[str, Any], *, nulls: Iterable[str] = (), event: bool = False
) -> RunSettings:
    """Return a run's settings from the options of a command line and the files' values; raises ``UsageError``.

    ``nulls`` are settings that are to be null whatever a file or the preset says; ``event``: the claim is about something that no series
    decides, which a preset may have more to say of where a language model is asked.
    """
    together = with_defaults(chosen, values)
    asked = not together.get("model", OFFLINE).startswith("offline/")
    try:
        preset = together.pop("preset", "product")
        document = with_preset(preset, event=event and asked, claim=asked, **together).to_json()
        for name in nulls:
            for place in (document, document["agent"]):
                if name in place:
                    place[name] = None
        # Read back as a stored run's settings are: a file's values may be of any kind.
        return RunSettings.from_json(document)
    except TypeError as error:
        raise UsageError(f"a value in {NAME} has the wrong type: {error}") from None


def review_defaults() -> dict[str, Any]:
    """Return ``notify`` and ``alert`` (a share of 1) of a person's own file; a file of the current folder is not looked at.

    Raises ``UsageError`` for a value that is none.
    """
    own = _File.read(config_folder() / NAME)
    if own is None or not isinstance(own.data.get("review", {}), dict):
        return {}
    values = own.entries("review")
    return values | ({"alert": values["alert"] / 100} if "alert" in values else {})
