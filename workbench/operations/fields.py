"""Kinds of fields that many requests have."""

from datetime import date
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from workbench.requests import Says


def _read_day(value: object) -> object:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise ValueError("a day such as 2018-12-31") from None
    return value


def _split(value: object) -> object:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        return value
    words = [
        part.strip() if isinstance(part, str) else part
        for text in texts
        for part in (text.split(",") if isinstance(text, str) else [text])
    ]
    return list(dict.fromkeys(word for word in words if word != ""))


#: Words, in order and without repetition: a list, or one text with commas.
Words = Annotated[list[str], BeforeValidator(_split)]
#: Names, each as it is; a lone text is one.
Names = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
Numbers = Annotated[list[float], BeforeValidator(_split)]
#: A day, as a ``date`` or YYYY-MM-DD.
Day = Annotated[date, BeforeValidator(_read_day), WithJsonSchema({"type": "string", "format": "date"})]
Days = Annotated[list[Day], BeforeValidator(_split)]
#: What is typed as a text and may be a number in Python; a text once it is read.
NumberText = Annotated[
    str | float, AfterValidator(lambda value: value if isinstance(value, str) else f"{value:.12g}")
]
#: How many, where none would be no request.
Count = Annotated[int, Field(ge=1)]
#: Most US dollars that may be spent; NaN is refused, as no sum is above it.
Dollars = Annotated[float | None, Field(ge=0)]
Author = Annotated[str, Says(text="Who says so: a typed name, not proved.")]
CutoffText = Annotated[str, Says(text="Cutoff: a date, an instant with its zone, or now.", form="DATE")]
ApiBase = Annotated[str | None, Says(text="Base URL of an OpenAI-compatible server.", form="URL")]
ReadingNumber = Annotated[
    int | None,
    Says(
        text="Which reading of an ambiguous claim is meant, from 1; 0 is the text as it is, for a model.",
        form="N",
    ),
]
RunName = Annotated[str, Says(text="Run id, the beginning of one, or last.")]
#: Read by `workbench.engine.named_settings`.
SettingPairs = Annotated[
    list[str],
    Says(
        text="Any setting of a run, or ROLE.NAME of one agent; `workbench help analyze` lists them.",
        word="set",
        form="NAME=VALUE",
    ),
]
PricePairs = Annotated[
    list[str], Says(text="US dollars per million tokens.", word="price", form="MODEL=IN,OUT")
]
WorkerText = Annotated[
    str | int | None,
    Says(
        text="Collect evidence in so many processes, or on a Dask cluster (docs/use/many-machines.md); without it in this process.",
        form="N|dask://HOST:PORT",
    ),
]
Level = Annotated[
    str | None,
    Says(
        text="Sandbox level: namespaces, landlock, none; without it the best sealed level that works here.",
        form="LEVEL",
    ),
]
SetName = Annotated[str, Says(text="Name of a set.", form="SET")]
