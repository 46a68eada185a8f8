"""Keys from the ``.env`` file of the current folder, and nothing else of it.

The current folder may be a stranger's: a clone, an unpacked archive. Its file may therefore say which key to use, never
where a key is sent, which certificates or proxies are trusted, or what Python loads.
"""

import os
import re
import stat
from collections.abc import Iterator, MutableMapping
from io import StringIO
from pathlib import Path

LARGEST_BYTES = 65_536
_MOST_NAMES = 20

#: How nearly every provider that LiteLLM documents names its key, and how all our data sources do.
_KEY_NAME = re.compile(r"(?!WORKBENCH_)[A-Z][A-Z0-9_]*_(API_KEY|APIKEY|API_TOKEN)")

#: Keys of providers that LiteLLM documents under other names. Not here: names of files with credentials
#: (GOOGLE_APPLICATION_CREDENTIALS, VERTEX_CREDENTIALS), because such a file says itself where its keys are sent.
_OTHER_KEY_NAMES = frozenset(
    {
        "AIMLAPI_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_AD_TOKEN",
        "COMETAPI_KEY",
        "FIREWORKS_AI_TOKEN",
        "FRIENDLI_TOKEN",
        "HF_TOKEN",
        "SCW_SECRET_KEY",
        "SNOWFLAKE_JWT",
        "TOGETHER_AI_TOKEN",
        "WATSONX_TOKEN",
        "WATSONX_ZENAPIKEY",
    }
)


def is_key_name(name: str) -> bool:
    """Whether an environment variable holds a key and nothing but a key, judged by its name."""
    return name in _OTHER_KEY_NAMES or _KEY_NAME.fullmatch(name) is not None


def load_keys(path: Path, environ: MutableMapping[str, str]) -> list[str]:
    """Copy the keys of an env file into `environ`; return the complaints, one line each, without any value.

    Called by the command line once, before any command. A name that `environ` has already keeps its value.
    """
    path = path.absolute()
    try:
        text = _read(path)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return [f"{path} is ignored: {reason}"]
    ignored = []
    for name, value in _assignments(text):
        if name in environ:
            # our value stays; only a difference is worth a line, as with a file that was sourced already
            if not is_key_name(name) and environ[name] != value:
                ignored.append(name)
        elif is_key_name(name) and value.isprintable():
            if value.strip():
                environ[name] = value
        else:
            ignored.append(name)
    return [_refused_names(path, ignored)] if ignored else []


def _read(path: Path) -> str:
    """The text of the file; raises OSError or ValueError for what is no small text file (a link to a device, a pipe)."""
    # O_NONBLOCK: opening a named pipe would wait for its writer. The kind is asked of the open file, so that the name
    # cannot be exchanged between look and read.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        data = file.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise ValueError(f"it is larger than {LARGEST_BYTES // 1024} KiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Names and values as written; the last assignment of a name counts.

    Without interpolation: ``SEARCHAPI_API_KEY=${OPENAI_API_KEY}`` would send one vendor's key to another.
    """
    # every command reads this file, few folders have a .env
    from dotenv import dotenv_values

    values = dotenv_values(stream=StringIO(text), interpolate=False)
    yield from ((name, value) for name, value in values.items() if value is not None)


def _refused_names(path: Path, names: list[str]) -> str:
    # a quoted name may hold what moves a terminal's cursor
    shown = [name if name.isprintable() and len(name) <= 60 else ascii(name[:60]) for name in names]
    more = f" and {len(shown) - _MOST_NAMES} more" if len(shown) > _MOST_NAMES else ""
    listed = ", ".join(shown[:_MOST_NAMES]) + more
    return (
        f"{ascii(str(path))[1:-1] if not str(path).isprintable() else path}: ignored {listed} (a .env file of the "
        "current folder gives keys only; set anything else in the environment)"
    )
