"""A ``.env`` file of the current folder gives keys and nothing else: it may be a stranger's."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.catalogue import load_catalogue
from proxies.secret_registry import is_key_name
from tests.command_line import run_cli
from tests.fakes.upstream import Sent, Upstream
from workbench.cli.env_file import LARGEST_BYTES, load_keys
from workbench.engine.access import outage

KEY = "the-callers-own-key-0123456789"
REFUSED = [
    "WORKBENCH_UPSTREAM_FMP",
    "WORKBENCH_UPSTREAM_API_KEY",
    "WORKBENCH_HOME",
    "WORKBENCH_ISOLATION",
    "OPENAI_API_BASE",
    "OPENAI_BASE_URL",
    "AZURE_API_BASE",
    "AWS_ENDPOINT_URL",
    "HTTP_PROXY",
    "https_proxy",
    "All_Proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "SSLKEYLOGFILE",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "LD_PRELOAD",
    "PATH",
    "HOME",
    "NETRC",
    "JUPYTER_CONFIG_DIR",
    "MATPLOTLIBRC",
    "LITELLM_MODE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "VERTEX_CREDENTIALS",
    "openai_api_key",
    "API_KEY",
    "_API_KEY",
    "OPENAI_API_KEY_URL",
]


@pytest.fixture
def stranger() -> Any:
    """A server that answers every request with an empty list; what reaches it was sent elsewhere than to the vendor."""
    with Upstream(lambda seen: Sent(body=[])) as server:
        yield server


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No name but loopback's is resolved; the list holds those that were asked for."""
    asked: list[str] = []
    resolve = socket.getaddrinfo

    def only_here(host: Any, *rest: Any, **options: Any) -> Any:
        if host in ("127.0.0.1", "localhost", None):
            return resolve(host, *rest, **options)
        asked.append(host.decode() if isinstance(host, bytes) else host)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", only_here)
    return asked


def _reached(server: Upstream) -> bool:
    return any(KEY in str((seen.query, seen.headers)) for seen in server.seen)


def test_an_upstream_in_it_does_not_get_the_callers_data_key(
    tmp_path: Path, stranger: Upstream, names: list[str]
) -> None:
    command = ("call", "fmp/search/search-symbol", "--cutoff", "now")
    run_cli(tmp_path, *command, "query=A", FMP_API_KEY=KEY, WORKBENCH_UPSTREAM_FMP=stranger.url)
    assert _reached(stranger), "the caller's own environment may name an upstream"
    stranger.seen.clear()
    (tmp_path / ".env").write_text(f"WORKBENCH_UPSTREAM_FMP={stranger.url}\n")
    done = run_cli(tmp_path, *command, "query=B", FMP_API_KEY=KEY)  # A is in the cache
    assert stranger.seen == [] and set(names) == {"financialmodelingprep.com"}
    line = next(line for line in done.stderr.splitlines() if "WORKBENCH_UPSTREAM_FMP" in line)
    assert str(tmp_path / ".env") in line and stranger.url not in done.stderr


def test_an_api_base_in_it_does_not_get_the_callers_model_key(
    tmp_path: Path, stranger: Upstream, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "_NEVER_HEARD", 1.0)  # the address without a server is not waited for
    command = ("analyze", "It rains in Bern", "--cutoff", "2018-06-30", "--model", "openai/x", "--plan-only")
    stranger.handler = lambda seen: Sent(status=400, body={"error": {"message": "no"}})
    run_cli(tmp_path, *command, OPENAI_API_KEY=KEY, OPENAI_API_BASE=stranger.url)
    assert _reached(stranger), "the caller's own environment may name an address"
    stranger.seen.clear()
    (tmp_path / ".env").write_text(f"OPENAI_API_BASE={stranger.url}\nOPENAI_BASE_URL={stranger.url}\n")
    done = run_cli(tmp_path, *command, OPENAI_API_KEY=KEY)
    assert stranger.seen == [] and set(names) == {"api.openai.com"}
    assert "ignored OPENAI_API_BASE, OPENAI_BASE_URL" in done.stderr


def test_every_data_source_can_get_its_key_from_it(tmp_path: Path, stranger: Upstream) -> None:
    variables = {source.key.variable for source in load_catalogue().sources() if source.key}
    assert "FMP_API_KEY" in variables and all(map(is_key_name, variables))
    (tmp_path / ".env").write_text(f"FMP_API_KEY='{KEY}' # ours\n")
    done = run_cli(
        tmp_path,
        "call",
        "fmp/search/search-symbol",
        "query=A",
        "--cutoff",
        "now",
        WORKBENCH_UPSTREAM_FMP=stranger.url,
    )
    assert _reached(stranger) and ".env" not in done.stderr


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "WATSONX_APIKEY", "REPLICATE_API_TOKEN", "HF_TOKEN"]
)
def test_a_providers_key_is_taken(name: str, tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    (tmp_path / ".env").write_text(f"export {name}={KEY}\n")
    assert load_keys(tmp_path / ".env", environ) == [] and environ == {name: KEY}


@pytest.mark.parametrize("name", REFUSED)
def test_any_other_name_is_ignored_with_its_name_and_file(name: str, tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    (tmp_path / ".env").write_text(f"{name}=http://127.0.0.1:9\n")
    (line,) = load_keys(tmp_path / ".env", environ)
    assert environ == {} and f"ignored {name} " in line and str(tmp_path / ".env") in line


@given(st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,30}\Z"))
def test_what_is_taken_is_called_a_key_and_is_no_address_and_no_setting_of_ours(name: str) -> None:
    if is_key_name(name):
        assert name == name.upper() and not name.startswith("WORKBENCH_")
        assert not name.endswith(
            ("_BASE", "_URL", "_ENDPOINT", "_PROXY", "_FILE", "_BUNDLE", "_PATH", "_HOME")
        )
        assert any(word in name for word in ("KEY", "TOKEN", "JWT"))


def test_what_the_environment_has_wins(tmp_path: Path) -> None:
    environ = {"FRED_API_KEY": KEY, "BRAVE_API_KEY": "", "EDITOR": "vi", "PAGER": "less"}
    (tmp_path / ".env").write_text("FRED_API_KEY=b\nBRAVE_API_KEY=b\nEDITOR=vi\nPAGER=more\n")
    (line,) = load_keys(tmp_path / ".env", environ)
    assert environ == {"FRED_API_KEY": KEY, "BRAVE_API_KEY": "", "EDITOR": "vi", "PAGER": "less"}
    assert "ignored PAGER (" in line  # the file sourced by a shell would give EDITOR the same value


def test_one_key_is_not_copied_into_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    environ = dict(os.environ)
    (tmp_path / ".env").write_text("SEARCHAPI_API_KEY=${OPENAI_API_KEY}\n")
    load_keys(tmp_path / ".env", environ)
    assert KEY not in environ.get("SEARCHAPI_API_KEY", "")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"A_API_KEY=" + b"x" * LARGEST_BYTES, "larger than 64 KiB"),
        (b"A_API_KEY=\xff\xfe", "not UTF-8"),
        (b"A_API_KEY=a\0b", "ignored A_API_KEY"),
        (b'A_API_KEY="a\\nX-Other: b"', "ignored A_API_KEY"),
        (b"'\x1b[2J\rA'=b", r"ignored '\x1b[2J\rA'"),
    ],
)
def test_a_hostile_file_is_one_line(content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(content)
    done = run_cli(tmp_path, "runs")
    (line,) = [line for line in done.stderr.splitlines() if ".env" in line]
    assert reason in line and line.isprintable() and done.returncode == 0


@pytest.mark.parametrize("target", ["/dev/zero", "a pipe", "a folder"])
def test_what_is_no_file_is_one_line_and_does_not_hang(target: str, tmp_path: Path) -> None:
    if target == "a pipe":
        os.mkfifo(tmp_path / ".env")
    elif target == "a folder":
        (tmp_path / ".env").mkdir()
    else:
        (tmp_path / ".env").symlink_to(target)
    environ: dict[str, str] = {}
    (line,) = load_keys(tmp_path / ".env", environ)
    assert environ == {} and str(tmp_path / ".env") in line


def test_a_thousand_names_are_one_line(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("".join(f"NAME_{number}=1\n" for number in range(1000)))
    (line,) = load_keys(tmp_path / ".env", {})
    assert len(line) < 1000 and "and 980 more" in line


def test_no_file_is_no_complaint(tmp_path: Path) -> None:
    assert load_keys(tmp_path / ".env", {}) == []
