"""A source's key taken out of what its vendor sends back.

Vendors echo keys: in a link to the next page, in a copy of the request. What is not masked here would be parsed, cached,
recorded and read by a cell.
"""

import base64
import re
from collections.abc import Iterator
from functools import cached_property
from urllib.parse import unquote_to_bytes

MASK = b"***"
#: Shorter keys are no secrets (``demo``), and their letters occur in honest answers.
LEAST = 8
# a link inside a link is quoted twice; what is wrapped more often is refused below, not searched
_LAYERS = 3


class KeyEchoed(Exception):
    """The answer holds the key in a form that cannot be replaced."""


class KeyMask:
    """Replaces a key in an answer's bytes: as it is, URL-quoted, escaped as in JSON, in base64, or several of these.

    Parameters
    ----------
    secret : str
        Empty or very short: nothing is replaced.
    """

    def __init__(self, secret: str) -> None:
        key = secret.encode()
        self._needles = tuple(dict.fromkeys((key, *_in_base64(key)))) if len(key) >= LEAST else ()

    @cached_property
    def _patterns(self) -> list[re.Pattern[bytes]]:
        # made when a key is met for the first time: few vendors echo one, and making them takes 2 ms for each source
        return [re.compile(b"".join(map(_any_form, needle))) for needle in self._needles]

    def __call__(self, body: bytes) -> bytes:
        """The body without the key; the same object if the key is not in it.

        Raises
        ------
        KeyEchoed
            The key would still be there.
        """
        # looking for the plain bytes in unwrapped copies takes a tenth of the time that the patterns take, and most answers
        # hold no key
        if not self._holds_key(body):
            return body
        for pattern in self._patterns:
            body = pattern.sub(MASK, body)
        if self._holds_key(body):
            raise KeyEchoed
        return body

    def _holds_key(self, body: bytes) -> bool:
        return any(needle in view for view in _views(body) for needle in self._needles)


def _in_base64(key: bytes) -> Iterator[bytes]:
    """The key as it reads inside base64 of a longer text, for each of the three places a byte can have there."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + key)
        # the first and last characters also hold bits of the neighbours
        whole = text[-(-before * 8 // 6) : (before + len(key)) * 8 // 6]
        yield whole
        yield whole.replace(b"+", b"-").replace(b"/", b"_")


def _any_form(byte: int) -> bytes:
    """A pattern of one character: as it is or URL-quoted (also twice), each as JSON may escape it."""
    percent, again = _in_json("%"), b"(?:" + _in_json("2") + _in_json("5") + b")*"
    quoted = [percent + again + b"".join(map(_in_json, digits)) for digits in (f"{byte:02x}", f"{byte:02X}")]
    forms = [_in_json(chr(byte)), *quoted]
    if byte == ord(" "):
        forms.append(_in_json("+"))
    return b"(?:" + b"|".join(forms) + b")"


def _in_json(char: str) -> bytes:
    """A pattern of one character of a JSON text: as it is, as a ``u0041`` escape, a slash also behind a backslash."""
    slash = rb"|\\/" if char == "/" else b""
    return rb"(?:%s|\\u00(?i:%02x)%s)" % (re.escape(char.encode("latin-1")), ord(char), slash)


def _views(body: bytes) -> Iterator[bytes]:
    """The body, and what is left of it as its wrappings are taken off."""
    yield body
    for _ in range(_LAYERS):
        inner = body.replace(rb"\/", b"/") if rb"\/" in body else body
        if rb"\u00" in inner:
            inner = re.sub(rb"\\u00([0-7][0-9a-fA-F])", lambda escape: bytes([int(escape[1], 16)]), inner)
        if b"%" in inner:
            inner = unquote_to_bytes(inner)
        if inner == body:
            return
        body = inner
        yield body
