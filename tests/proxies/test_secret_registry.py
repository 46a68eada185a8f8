"""A secret in use is found however a server spells it, and nothing else is."""

import base64
import hashlib
import html
import json
import logging
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.secret_registry import (
    OTHER_KEY_NAMES,
    SECRETS,
    SecretRegistry,
    clean_log_records,
    is_key_name,
)

KEY = "sk-CANARY+7f3a/9b2c/d4e5+f607182930aabbccdd"
SPELLINGS = {
    "plain": KEY,
    "quoted": quote(KEY, safe=""),
    "quoted twice": quote(quote(KEY, safe=""), safe=""),
    "quoted in small": quote(KEY, safe="").lower(),
    "every byte quoted": "".join(f"%{ord(char):02x}" for char in KEY),
    "json slash": KEY.replace("/", "\\/"),
    "json escapes": "".join(f"\\u{ord(char):04x}" for char in KEY[:20]),
    "python escapes": "".join(f"\\x{ord(char):02x}" for char in KEY[:20]),
    "escapes of a quoted": "".join(f"\\u{ord(char):04x}" for char in quote(KEY, safe="")),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64, one on": base64.b64encode(b"x" + KEY.encode() + b"yz").decode(),
    "base64 of a header": base64.b64encode(b"user:" + KEY.encode()).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(KEY.encode()).decode(),
    "upper": KEY.upper(),
    "lower": KEY.lower(),
    "head": KEY[:12],
    "cut": KEY[:28] + "...",
    "tail": "..." + KEY[12:],
    "last twelve": KEY[-12:],
    "middle": f"***{KEY[15:29]}***",
    "html": html.escape(KEY).replace("+", "&#43;").replace("/", "&#x2F;"),
    "shifted by a letter": "\u0130\u0130" + KEY.upper(),
}


@pytest.fixture
def registry() -> SecretRegistry:
    made = SecretRegistry({})
    made.add(KEY)
    return made


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_every_spelling_is_found_and_masked(registry: SecretRegistry, spelling: str) -> None:
    # characters that no text shows, each in its own spelling, move nothing
    unseen = "&#11;%01&#x7f;&#128;" * 9
    for text in (
        f"401: {spelling} is no key", json.dumps({"error": spelling}), spelling, f"{unseen}{spelling} and {unseen}"
    ):  # fmt: skip
        assert registry.held_in(text.encode())
        clean = registry.clean(text)
        assert "[key]" in clean and not registry.held_in(clean.encode())
        assert not any(KEY[at : at + 12].lower() in clean.lower() for at in range(len(KEY) - 11))
    assert registry.clean(f"401: {KEY} is no key") == "401: [key] is no key"


def test_what_holds_no_key_is_the_same_object(registry: SecretRegistry) -> None:
    for text in ("", "p = 0.5 %2F \\u0041 &amp; \u0130stanbul", KEY[:11], "sk-CANARY", "x" * 200_000):
        assert registry.clean(text) is text
    assert registry.clean_values({"a": [1, None, KEY], KEY: 0.5}) == {"a": [1, None, "[key]"], "[key]": 0.5}


def test_a_short_secret_counts_whole_and_in_its_place_only() -> None:
    registry = SecretRegistry({})
    registry.add("hunter2")
    registry.add("demo")
    for text in ('{"api_key": "hunter2"}', "?token=hunter2&x=1", "Authorization: Bearer hunter2", "http://me:hunter2@h/"):  # fmt: skip
        assert "hunter2" not in registry.clean(text)
    for text in ("hunter2", "the hunter2 fund", "key=hunter23", "?apikey=demo", "key: hunter"):
        assert registry.clean(text) is text


@pytest.mark.parametrize("name", sorted({*OTHER_KEY_NAMES, "X_APIKEY", "X_API_TOKEN", "OPENAI_API_KEY"}))
def test_every_name_that_a_dotenv_file_may_set_is_a_secret(name: str) -> None:
    assert is_key_name(name)
    value = f"q7Zk+{name.lower().replace('_', '')}/9xW2"
    assert SecretRegistry({name: value}).clean(f"401: {value} refused") == "401: [key] refused"


def test_passwords_of_addresses_are_secrets() -> None:
    registry = SecretRegistry({"HTTPS_PROXY": "http://me:proxy-pass%2Fword-1@h:8", "FRED_URL": "http://h/"})
    registry.add_address("postgresql://me:correct-horse-battery@db/x?sslpassword=another-long-word")
    registry.add_address("host=db user=me password=third-long-word")
    for word in ("proxy-pass/word-1", "correct-horse-battery", "another-long-word", "third-long-word"):
        assert registry.clean(f"x {word} y") == "x [key] y"
    assert registry.clean("http://h/ postgresql://me@db") == "http://h/ postgresql://me@db"


def test_whose_key_is_used_is_said_without_the_key() -> None:
    registry = SecretRegistry({"A_API_KEY": KEY, "B_API_KEY": "other-key-123456"})
    registry.add(KEY, name="A_API_KEY", origin="/x/.env")
    registry.add("an-older-value-1", name="B_API_KEY", origin="/x/.env")
    first, second = registry.origin("A_API_KEY"), registry.origin("B_API_KEY")
    assert first is not None and first.origin == "/x/.env"
    assert first.hash == hashlib.sha256(KEY.encode()).hexdigest()[:4]
    assert second is not None and second.origin == "the environment" and len(second.hash) == 4
    assert registry.origin("C_API_KEY") is None


def test_log_records_and_their_tracebacks_hold_no_key(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CANARY_API_KEY", KEY)
    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(logging.LogRecord)
    clean_log_records()
    clean_log_records()
    try:
        raise ValueError(f"no {KEY}")
    except ValueError:
        logging.getLogger("canary").exception("asked with %s", KEY)
    finally:
        logging.setLogRecordFactory(before)
    assert KEY not in caplog.text and caplog.text.count("[key]") >= 2
    assert SECRETS.held_in(KEY.encode())


@given(
    st.text(max_size=60),
    st.text(alphabet="abcXYZ019+/=-_.%\\u&;#", min_size=12, max_size=50),
    st.text(max_size=60),
)
def test_no_piece_of_any_secret_survives(before: str, secret: str, after: str) -> None:
    secret = secret.strip()
    registry = SecretRegistry({})
    registry.add(secret)
    clean = registry.clean(before + secret + after)
    if len(secret) >= 12:
        assert secret not in clean.replace("[key]", "\x00")
    assert clean == registry.clean(clean) or "[key]" in clean
