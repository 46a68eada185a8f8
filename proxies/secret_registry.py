"""Register this process's secrets and remove them from every text that leaves it: errors, logs, events, exports, answers.

One registry per process, `SECRETS`. It is filled where a key is read (`add`), and looks at the environment's own keys by
their names (`is_key_name`) whenever it is asked. A server echoes what it was sent in ways of its own, so a secret is looked for
plain, URL-quoted, in base64, escaped as in JSON and HTML, in any case, and in pieces of twelve characters.
"""

import base64
import hashlib
import html
import logging
import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote, urlsplit

MASK = "[key]"
#: Characters of a secret that give it away; a shorter secret counts whole, and only in the place of a key.
PIECE = 12
#: A shorter one (``demo``) is no secret.
LEAST = 6
# a piece of fewer different characters (a row of x) is no secret's
_VARIETY = 5
# a link inside a link is quoted twice
_LAYERS = 3
# characters searched at once: one search holds the interpreter, and with it the loop that serves kernels
_STRETCH = 200_000

#: How nearly every provider that LiteLLM documents names its key, and how all our data sources do.
_KEY_NAME = re.compile(r"(?!WORKBENCH_)[A-Z][A-Z0-9_]*_(API_KEY|APIKEY|API_TOKEN)")
#: Keys of providers that LiteLLM documents under other names. Not here: names of files with credentials
#: (GOOGLE_APPLICATION_CREDENTIALS, VERTEX_CREDENTIALS), because such a file says itself where its keys are sent.
OTHER_KEY_NAMES = frozenset(
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
        "METACULUS_TOKEN",
        "SCW_SECRET_KEY",
        "SNOWFLAKE_JWT",
        "TOGETHER_AI_TOKEN",
        "WATSONX_TOKEN",
        "WATSONX_ZENAPIKEY",
    }
)
#: Providers of models whose keys are named after them: no source of data gets one (``ANTHROPIC_API_KEY``).
_MODEL_PROVIDERS = re.compile(
    r"(?:OPENAI|ANTHROPIC|GEMINI|GOOGLE|DEEPSEEK|MISTRAL|XAI|GROQ|OPENROUTER|TOGETHERAI|TOGETHER_AI|FIREWORKS(?:_AI)?|COHERE|CO|PERPLEXITY(?:AI)?"
    r"|AZURE(?:_\w+)?|AWS_\w+|HUGGINGFACE|HF|REPLICATE|CEREBRAS|SAMBANOVA|NVIDIA_NIM|NOVITA|DEEPINFRA|AI21|VOYAGE|JINA_AI|MOONSHOT|DASHSCOPE"
    r"|WATSONX|DATABRICKS|CLOUDFLARE|ANYSCALE|BASETEN|OLLAMA|VERTEX\w*|GITHUB|LITELLM)_(?:API_KEY|APIKEY|API_TOKEN|TOKEN|AUTH_TOKEN)"
)
#: Names under which an environment holds a secret that no .env file may set, or that is no key of a provider.
_SECRET_NAME = re.compile(r".*(_KEY|_APIKEY|_TOKEN|_SECRET|_PASSWORD|_PASSWD|_JWT)|PGPASSWORD", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(r"key|token|secret|passw|pwd", re.IGNORECASE)
#: Addresses that may hold a password: data sources, proxies, servers.
_ADDRESS_NAME = re.compile(r".*(_URL|_URI|_DSN|_PROXY|_BASE|WORKBENCH_UPSTREAM_\w+)", re.IGNORECASE)

#: One character in another spelling: a slash in JSON, a \u or \x escape, a URL-quoted byte, an HTML entity.
_SPELLING = re.compile(
    r"\\(?P<same>[/\"\\])|(?:\\u00|\\x|%)(?P<byte>[0-7][0-9a-f])"
    r"|&#0*(?P<decimal>\d{2,3});|&#x0*(?P<hex>[0-7]?[0-9a-f]);|(?P<name>&(?:amp|lt|gt|quot|sol|plus|equals);)",
    re.IGNORECASE,
)
# what every one of them begins with: a text without any is not searched, which takes a fifth of an answer's time
_SPELLING_BEGINS = ("\\", "%", "&")
#: What stands before a key, where a short one counts: ``api_key=``, ``"token": "``, ``Bearer``, ``://user:``.
_BEFORE_KEY = r"(?:(?:key|token|secret|passw(?:or)?d|auth\w*|bearer|basic)[\"'\s:=]{1,6}(?:bearer\s+|basic\s+)?|://[^\s/@:]*:)"


def is_key_name(name: str) -> bool:
    """Whether an environment variable holds only a key, judged by its name."""
    return name in OTHER_KEY_NAMES or _KEY_NAME.fullmatch(name) is not None


def is_model_key(name: str) -> bool:
    """Whether a variable holds a model provider's key, judged by its name; a source of data may name none.

    >>> is_model_key("OPENAI_API_KEY"), is_model_key("DESK_API_KEY")
    (True, False)
    """
    return name in OTHER_KEY_NAMES or _MODEL_PROVIDERS.fullmatch(name) is not None


@lru_cache(maxsize=4096)  # every text that leaves the process asks, of every variable
def _may_hold(name: str) -> tuple[bool, bool]:
    """Whether a variable of this name holds a secret alone, and whether an address that may hold one."""
    return (
        _SECRET_NAME.fullmatch(name) is not None or is_key_name(name),
        _ADDRESS_NAME.fullmatch(name) is not None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOrigin:
    """The origin of a key, without the key: where it was read, and the first four characters of its SHA-256."""

    origin: str
    hash: str


class SecretRegistry:
    """Secrets of one process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._added: set[str] = set()
        self._origins: dict[str, tuple[str, str]] = {}

    def add(self, secret: str | None, *, name: str = "", origin: str = "") -> None:
        """Register a secret that was just read; ``name`` is its variable and ``origin`` its source."""
        if secret and len(secret.strip()) >= LEAST:
            self._added.add(secret.strip())
        if secret and name:
            self._origins[name] = (secret, origin)

    def add_address(self, address: str | None) -> None:
        """Register the password of an address: ``postgresql://user:password@host/base``, ``...?password=...``."""
        for secret in _passwords(address or ""):
            self.add(secret)

    def origin(self, name: str) -> KeyOrigin | None:
        """Return the origin of a variable's value; None if it is not set."""
        value = self._environ.get(name, "").strip()
        if not value:
            return None
        stored, origin = self._origins.get(name, ("", ""))
        source = origin if stored.strip() == value and origin else "the environment"
        return KeyOrigin(origin=source, hash=hashlib.sha256(value.encode()).hexdigest()[:4])

    def clean(self, text: str) -> str:
        """Replace every secret and every piece of one in a text by `MASK`; the same object if it holds none."""
        secrets = self._secrets()
        # where they stand is asked of the few texts that hold one: to follow each character through its spellings takes long
        if not secrets or not _held(text, secrets):
            return text
        spans = [span for view, places in _views(text) for span in _spans(view, places, secrets)]
        parts: list[str] = []
        end = 0
        for first, last in sorted(spans):
            if last <= end:
                continue
            if first > end or not parts:
                parts += [text[end:first], MASK]
            end = last
        return "".join([*parts, text[end:]])

    def clean_values(self, value: Any) -> Any:
        """Clean every text in JSON data, keys included."""
        match value:
            case str():
                return self.clean(value)
            case Mapping():
                return {self.clean_values(name): self.clean_values(item) for name, item in value.items()}
            case list() | tuple():
                return [self.clean_values(item) for item in value]
            case _:
                return value

    def held_in(self, body: bytes, *, only: Iterable[str] | None = None) -> bool:
        """Whether bytes that must not be altered hold a secret, or one of ``only``; they are refused instead."""
        secrets = (
            self._secrets()
            if only is None
            else _as_secrets(frozenset(secret for secret in only if len(secret) >= LEAST))
        )
        # in stretches that overlap by more than a secret in its longest spelling: a package may be large
        for begin in range(0, max(len(body), 1), _STRETCH):
            if _held(body[begin : begin + _STRETCH + 8192].decode("utf-8", "surrogateescape"), secrets):
                return True
        return False

    def _secrets(self) -> tuple["_Secret", ...]:
        found = set(self._added)
        for name in self._environ:
            whole, address = _may_hold(name)
            value = self._environ.get(name, "") if whole or address else ""
            if whole:
                found.add(value.strip())
            if address and "@" in value:
                found.update(_passwords(value))
        return _as_secrets(frozenset(secret for secret in found if len(secret) >= LEAST))


#: What every door of this process asks.
SECRETS = SecretRegistry(os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Secret:
    """One secret in one spelling, in lower case; ``blocks`` are the starting points of a search, by their place."""

    text: str
    piece: int
    blocks: tuple[tuple[int, str], ...]
    short: re.Pattern[str] | None = None


@lru_cache(maxsize=32)
def _as_secrets(secrets: frozenset[str]) -> tuple[_Secret, ...]:
    forms = {}
    for secret in sorted(secrets):
        if len(secret) < PIECE:
            pattern = re.compile(rf"{_BEFORE_KEY}({re.escape(secret)})(?![\w+/-])", re.IGNORECASE)
            forms[secret, 0] = _Secret(text=secret.lower(), piece=len(secret), blocks=(), short=pattern)
            continue
        spelt = [(secret, PIECE), *((form, 4 * PIECE // 3) for form in _in_base64(secret))]
        if not secret.isascii():
            spelt.append((quote(secret, safe=""), PIECE))
        for text, piece in spelt:
            low = text.lower()
            # any piece holds a whole block of half its length that begins at a multiple of that length
            block = piece // 2
            blocks = tuple(
                (index, low[index : index + block]) for index in range(0, len(low) - block + 1, block)
            )
            forms[low, piece] = _Secret(text=low, piece=min(piece, len(low)), blocks=blocks)
    return tuple(forms.values())


def _in_base64(secret: str) -> Iterator[str]:
    key = secret.encode()
    for before in range(3):
        text = base64.b64encode(bytes(before) + key).decode()
        # the first and last characters also hold bits of the neighbours
        block = text[-(-before * 8 // 6) : (before + len(key)) * 8 // 6]
        yield block
        yield block.replace("+", "-").replace("/", "_")


def _held(text: str, secrets: tuple[_Secret, ...]) -> bool:
    for _ in range(_LAYERS + 1):
        if any(True for _ in _spans(text, None, secrets)):
            return True
        if not any(mark in text for mark in _SPELLING_BEGINS):
            return False
        if (inner := _SPELLING.sub(_character, text)) == text:
            return False
        text = inner
    return False


def _spans(view: str, places: list[int] | None, secrets: tuple[_Secret, ...]) -> Iterator[tuple[int, int]]:
    def place(index: int) -> int:
        return index if places is None else places[index]

    low = view.lower()
    if len(low) != len(view):  # a letter whose small form has two characters would shift all behind it
        low = "".join(small if len(small := char.lower()) == 1 else char for char in view)
    for secret in secrets:
        if secret.short is not None:
            if secret.text in low:
                yield from (
                    (place(match.start(1)), place(match.end(1))) for match in secret.short.finditer(view)
                )
            continue
        for begin, block in secret.blocks:
            index = low.find(block)
            while index >= 0:
                first, last = _extended(low, index, secret.text, begin, len(block))
                piece = low[first:last]
                varied = len(set(piece)) >= _VARIETY or len(piece) == len(secret.text)
                if last - first >= secret.piece and varied:
                    yield place(first), place(last)
                index = low.find(
                    block, max(index + 1, last - len(block) if last - first >= secret.piece else 0)
                )


def _extended(low: str, index: int, secret: str, begin: int, length: int) -> tuple[int, int]:
    first, of = index, begin
    while first > 0 and of > 0 and low[first - 1] == secret[of - 1]:
        first, of = first - 1, of - 1
    last, of = index + length, begin + length
    while last < len(low) and of < len(secret) and low[last] == secret[of]:
        last, of = last + 1, of + 1
    return first, last


def _views(text: str) -> Iterator[tuple[str, list[int] | None]]:
    yield text, None
    view, places = text, None
    for _ in range(_LAYERS):
        if _SPELLING.search(view) is None:
            return
        parts: list[str] = []
        starts: list[int] = []
        end = 0
        before = range(len(view) + 1) if places is None else places
        for match in _SPELLING.finditer(view):
            parts += [view[end : match.start()], _character(match)]
            starts.extend(before[end : match.start()])
            starts.append(before[match.start()])
            end = match.end()
        parts.append(view[end:])
        starts.extend(before[end:])
        view, places = "".join(parts), starts
        yield view, places


def _character(match: re.Match[str]) -> str:
    kind, text = match.lastgroup, match[match.lastgroup or 0]
    if kind == "same":
        return text
    # of numbers it drops some and reads others in another code page: what was one character must stay one
    return html.unescape(text.lower()) if kind == "name" else chr(int(text, 10 if kind == "decimal" else 16))


def _passwords(address: str) -> Iterator[str]:
    try:
        parts = urlsplit(address)
        password = parts.password
    except ValueError:  # no address
        return
    if password:
        yield from {password, unquote(password)}
    for name, secret in re.findall(r"([\w-]+)=([^&;\s]+)", parts.query or ("" if parts.scheme else address)):
        if _SECRET_PARAMETER.search(name):
            yield from {secret, unquote(secret)}


def clean_log_records() -> None:
    """Clean every log record of this process, tracebacks included; called once by a program's entry."""
    make: Callable[..., logging.LogRecord] = logging.getLogRecordFactory()
    if getattr(make, "cleans", False):
        return

    def record(*args: Any, **kwargs: Any) -> logging.LogRecord:
        entry = make(*args, **kwargs)
        try:
            text = entry.getMessage()
        except (TypeError, ValueError):  # arguments that do not fit: logging says so itself
            return entry
        if (cleaned := SECRETS.clean(text)) is not text:
            entry.msg, entry.args = cleaned, ()
        if entry.exc_info and entry.exc_info[1] is not None:
            # formatters take this text where it is set
            entry.exc_text = SECRETS.clean(
                "".join(traceback.format_exception(entry.exc_info[1])).rstrip("\n")
            )
        return entry

    record.cleans = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(record)
