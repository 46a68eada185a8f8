"""No key goes where a server redirects to: LiteLLM's connections answer a redirect to another origin with an error.

httpx follows redirects and drops ``Authorization`` on the way to another origin, and nothing else: Anthropic's ``x-api-key``,
Gemini's ``x-goog-api-key`` and Azure's ``api-key`` went along (seen on loopback), and the prompt with them.
"""

from typing import Any


def refuse_foreign_redirects(client: Any) -> None:
    """Put the refusal into an HTTP client that LiteLLM has made."""
    if refuse_foreign_redirect not in client.event_hooks["response"]:
        client.event_hooks["response"].append(refuse_foreign_redirect)


async def refuse_foreign_redirect(response: Any) -> None:
    """Raise for a redirect to another scheme, host or port; httpx calls this with each answer before it follows it."""
    import httpx

    if not response.has_redirect_location:
        return
    origin, target = response.url, response.url.join(response.headers["location"])
    if (origin.scheme, origin.host, origin.port) != (target.scheme, target.host, target.port):
        raise httpx.UnsupportedProtocol(
            f"{origin.host} redirects to {target.host}, which is not asked: keys and prompts stay with the server that was named"
        )
