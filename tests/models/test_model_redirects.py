"""A model server that redirects elsewhere gets no key there, on real connections of loopback."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.fakes.loopback import Quiet, serving
from workbench.models.providers import connections as redirects
from workbench.models.providers.connections import close_connections
from workbench.models.providers.listed import load_litellm

KEY = "sk-not-for-the-second-server"


class _Handler(Quiet):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.path, dict(self.headers)))  # type: ignore[attr-defined]
        target = self.server.target  # type: ignore[attr-defined]
        if target is not None and not self.path.startswith("/v2"):
            self.send_response(307)
            self.send_header("Location", target + self.path)
        else:
            self.send_response(500)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def server(target: str | None) -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """A server that redirects there, or answers 500; its address and what it was asked."""
    asked: list[tuple[str, dict[str, str]]] = []
    with serving(_Handler, target=target, asked=asked) as address:
        yield address, asked


async def complete(model: str, address: str) -> str:
    litellm = load_litellm()
    await close_connections(litellm)
    try:
        with pytest.raises(Exception) as caught:
            await litellm.acompletion(
                model=model,
                messages=[{"role": "user", "content": "hello"}],
                api_key=KEY,
                api_base=address,
                max_retries=0,
                timeout=20,
            )
    finally:
        await close_connections(litellm)
    return str(caught.value)


MODELS = ["anthropic/claude-3-5-haiku-20241022", "gemini/gemini-1.5-flash", "openai/x"]


@pytest.mark.parametrize("model", MODELS)
async def test_a_redirect_to_another_origin_is_not_followed(model: str) -> None:
    with server(None) as (second, asked), server(second) as (first, named):
        said = await complete(model, first)
    assert len(named) == 1 and KEY in str(named)
    assert asked == []
    assert KEY not in said


async def test_a_key_goes_along_where_nothing_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def allow(response: object) -> None:
        """Refuse nothing."""

    load_litellm()
    monkeypatch.setattr(redirects, "refuse_foreign_redirect", allow)
    with server(None) as (second, asked), server(second) as (first, _):
        await complete(MODELS[0], first)
    assert KEY in str(asked)


@pytest.mark.parametrize("model", MODELS)
async def test_a_redirect_of_the_same_server_is_followed(model: str) -> None:
    with server("/v2") as (first, asked):
        await complete(model, first)
    assert len(asked) > 1 and asked[1][0].startswith("/v2/")
