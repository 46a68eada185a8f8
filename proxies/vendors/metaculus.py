"""Read posts of Metaculus and write forecasts and comments there, as the account that METACULUS_TOKEN belongs to.

No row of the catalogue: what writes is out of reach of agents and cells.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import orjson

from proxies.catalogue.schema import EndpointLimits, Key
from proxies.errors import MissingKey, NoSuch, ParameterInvalid, SourceRejected
from proxies.fetch.transport import HttpRequest, HttpResponse, HttpxTransport, RetryingTransport, Transport
from proxies.secret_registry import SECRETS
from proxies.settings import Retry
from proxies.vendors.base import AGENT

TOKEN = "METACULUS_TOKEN"  # noqa: S105 - the variable's name
_API = "https://www.metaculus.com/api"
#: Of a page, which the site bounds; and of one tournament.
_PAGE, _MOST_PAGES = 100, 50
#: The site names no limit, and asks bots to be gentle.
_LIMITS = EndpointLimits(per_minute=200, together=2)


class MetaculusSite:
    """The site's API as a bot uses it.

    Reading is repeated where the site fails. Writing is not: what may have arrived is looked for first (`standing`, `own_comments`).
    """

    def __init__(self, environ: Mapping[str, str], transport: Transport | None = None) -> None:
        self._base = environ.get("WORKBENCH_UPSTREAM_METACULUS", "").strip().rstrip("/") or _API
        if not self._base.startswith(("http://", "https://")):
            raise ParameterInvalid("WORKBENCH_UPSTREAM_METACULUS must be an http or https URL")
        self._token = environ.get(TOKEN, "").strip()
        SECRETS.add(self._token)
        key = Key(variable=TOKEN, place="header", name="authorization", prefix="Token ")
        agent = AGENT.format(environ.get("WORKBENCH_CONTACT", "").strip() or "no contact named")
        wire = transport or HttpxTransport(key=key if self._token else None, secret=self._token, agent=agent)
        self._wire = RetryingTransport(source="metaculus", transport=wire, limits=_LIMITS, retry=Retry())
        self._writing = RetryingTransport(
            source="metaculus", transport=wire, limits=_LIMITS, retry=Retry(), repeatable=False
        )

    @property
    def has_token(self) -> bool:
        """Whether an account is at hand."""
        return bool(self._token)

    async def open_posts(self, tournament: str) -> list[dict[str, Any]]:
        """Return the posts of a tournament (id or slug) that are open, groups whole; raises `NoSuch` where there is none."""
        posts: list[dict[str, Any]] = []
        for page in range(_MOST_PAGES):
            query = {"tournaments": tournament, "statuses": "open", "order_by": "published_at", "with_cp": "true",
                     "include_descriptions": "true", "limit": str(_PAGE), "offset": str(page * _PAGE)}  # fmt: skip
            try:
                answer = await self._get("posts/", query)
            except SourceRejected:
                raise NoSuch(f"metaculus has no tournament {tournament!r:.60}") from None
            rows = answer.get("results") if isinstance(answer, dict) else None
            if not isinstance(rows, list):
                raise SourceRejected("metaculus answered without a list of posts")
            # a list shows at most three questions of a group
            posts += [await self.post(row["id"]) if row.get("group_of_questions") else row for row in rows]
            if len(rows) < _PAGE:
                return posts
        raise SourceRejected(f"tournament {tournament:.60} has more than {_PAGE * _MOST_PAGES} open posts")

    async def post(self, post: str | int) -> dict[str, Any]:
        """Return one post with all its questions; raises `NoSuch` where there is none."""
        answer = await self._get(f"posts/{quote(str(post), safe='')}/", {"with_cp": "true"})
        if not isinstance(answer, dict) or "id" not in answer:
            raise SourceRejected(f"metaculus answered without post {post!s:.40}")
        return answer

    async def send_forecasts(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Hand in forecasts, all or none of them; raises `SourceRejected` with the site's reason."""
        await self._send("questions/forecast/", list(entries))

    async def send_comment(self, post: int, text: str, *, private: bool) -> None:
        """Comment on a post, with the account's newest forecast of its question."""
        body = {"on_post": post, "text": text, "is_private": private, "included_forecast": True}
        await self._send("comments/create/", body)

    async def standing(self, post: str | int) -> dict[str, list[float | None]]:
        """Return the account's newest forecasts of a post's questions by id: [no, yes], shares in the order of the options, or a CDF."""
        self._require_token()
        values: dict[str, list[float | None]] = {}
        remaining: list[Any] = [await self.post(post)]
        while remaining:
            match remaining.pop():
                case {"id": int(question), "my_forecasts": {"latest": {"forecast_values": [*shares]}}}:
                    values[str(question)] = shares
                case dict() as part:
                    inner = (
                        "question",
                        "group_of_questions",
                        "conditional",
                        "questions",
                        "question_yes",
                        "question_no",
                    )
                    remaining += [part[name] for name in inner if part.get(name)]
                case [*parts]:
                    remaining += parts
                case _:
                    pass
        return values

    async def own_comments(self, post: str | int, *, private: bool) -> list[str]:
        """Return the texts of the account's newest comments on a post."""
        self._require_token()
        me = await self._get("users/me/", {})
        query = {"post": str(post), "author": str(me["id"]), "is_private": str(private).lower(), "sort": "-created_at", "limit": "50"}  # fmt: skip
        answer = await self._get("comments/", query)
        return [str(row.get("text", "")) for row in answer["results"]]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.transport.aclose()

    def _require_token(self) -> None:
        if not self._token:
            raise MissingKey(f"posting to metaculus needs a token: set {TOKEN}")

    async def _get(self, path: str, query: Mapping[str, str]) -> Any:
        response = await self._wire.send(
            HttpRequest(
                method="GET", url=f"{self._base}/{path}", query=query, headers={"accept-language": "en"}
            )
        )
        if response.status == 404:
            raise NoSuch(f"metaculus has no {path.strip('/'):.60}")
        self._require_success(response)
        try:
            return orjson.loads(response.body)
        except orjson.JSONDecodeError:
            raise SourceRejected("metaculus sent no JSON") from None

    async def _send(self, path: str, body: Any) -> None:
        self._require_token()
        request = HttpRequest(method="POST", url=f"{self._base}/{path}", query={}, json=body)
        # how the site answers what it has taken is not read: an odd answer would pass for a refusal, and the forecast be sent again
        self._require_success(await self._writing.send(request))

    def _require_success(self, response: HttpResponse) -> None:
        if response.status in (401, 403) and not self._token:
            raise MissingKey(f"metaculus wants a token (HTTP {response.status}): set {TOKEN}")
        if response.status == 401:
            raise MissingKey(f"metaculus does not know the token (HTTP 401): check {TOKEN}")
        if not 200 <= response.status < 300:
            reason = SECRETS.clean(" ".join(response.body[:600].decode("utf-8", "replace").split()))
            raise SourceRejected(f"metaculus refuses (HTTP {response.status}): {reason[:300]}")
