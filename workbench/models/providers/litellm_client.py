"""Ask any provider through LiteLLM, with our retries alone, typed errors and honest costs.

LiteLLM is imported at first use, and told before that to read its price list from the package: otherwise its import
makes a network call. Its own retries are off, because they are silent.
"""

import asyncio
import os
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from proxies.fetch.pacing import backoff
from proxies.secret_registry import MASK, SECRETS
from workbench.errors import Option
from workbench.models.base import Finish, ModelReply, ModelRequest
from workbench.models.costs import LONGEST_REPLY, thinking_room
from workbench.models.errors import (
    AccountRefused,
    ContextOverflow,
    MissingProviderKey,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    UnknownModel,
)
from workbench.models.model_options import THINKING, ModelOptions
from workbench.models.providers.abilities import (
    NAMED,
    NONE,
    REQUIRED,
    is_about_given_thoughts,
    is_filtered,
    is_overflow,
    is_too_large,
    listed_abilities,
    window_in,
)
from workbench.models.providers.account_errors import is_account_refusal
from workbench.models.providers.connections import close_with_the_loop
from workbench.models.providers.failures import (
    body_of,
    failed_generation,
    status_of,
    unavailable,
    words_of,
)
from workbench.models.providers.listed import load_litellm, price_per_token, unrouted
from workbench.models.providers.litellm_messages import (
    cache_key,
    mark_for_cache,
    mark_samples,
    wire_choice,
    wire_messages,
    wire_schema,
    wire_tool,
)
from workbench.models.providers.litellm_reply import (
    FAILED_ENDS,
    MALFORMED,
    finish_of,
    refusal_in,
    says_something,
    signed_thoughts,
    text_of,
    thoughts_of,
    tool_calls_of,
    usage_of,
)
from workbench.models.providers.wire import Exchange, PlainReply, observed
from workbench.models.thoughts import well_formed

__all__ = ["MALFORMED", "LiteLLMModel", "redact"]

#: Providers that take ``prompt_cache_key``; elsewhere a field that nobody knows may be refused.
_KEYED_CACHES = ("openai", "azure")
_CLAUDE_ELSEWHERE = ("bedrock", "vertex_ai", "openrouter")
#: Where LiteLLM leaves the named form of ``tool_choice`` out without a word (Mistral has none, Ollama no choice at all).
_UNNAMED = ("mistral", "codestral", "ollama", "ollama_chat")
_PLACEHOLDER = "none-needed"
#: Whose streams are no lines of JSON, so that counts and native ends could not be read from them, or stop LiteLLM at their first event.
_UNREAD_STREAMS = ("bedrock", "sagemaker", "sagemaker_chat", "cohere", "cohere_chat")
#: Statuses under which a provider says what it does not take of a request.
_ABOUT_THE_REQUEST = (400, 403, 404, 405, 415, 422, 501)
#: Tokens that a reply has beside its thoughts, at least.
_ROOM_TO_ANSWER = 4_096
#: Characters of a provider's words that are shown.
_SHOWN = 600
_SECRETS = re.compile(
    r"(sk-[A-Za-z0-9_\-]{6,}|Bearer\s+[A-Za-z0-9._\-]{6,}|(?<=key=)[A-Za-z0-9_\-]{6,}|AIza[A-Za-z0-9_\-]{10,})"
)


class LiteLLMModel:
    """A remote model.

    ``options`` are the fields of `ModelOptions`. ``openai/<m>`` at an own address gets a placeholder key if none is set, because such
    servers often want none and the client library insists.

    Raises `UnknownModel`: LiteLLM knows no such provider.
    """

    def __init__(
        self,
        name: str,
        *,
        sleep: Callable[[float], Any] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
        **options: Any,
    ) -> None:
        self._name = name
        self._options = ModelOptions.given(options)
        SECRETS.add(self._options.api_key)
        SECRETS.add_address(self._options.api_base)
        self._sleep = sleep
        self._jitter = jitter
        self._litellm = load_litellm()
        self._provider = self._known_provider()
        # A provider that a host program has registered need not stream.
        registered = {entry["provider"] for entry in self._litellm.custom_provider_map}
        self._can_stream = self._provider not in (*registered, *_UNREAD_STREAMS)
        self.abilities = listed_abilities(
            self._litellm, unrouted(name), own_address=self._options.api_base is not None
        )
        self.abilities.names_tools = self._provider not in _UNNAMED
        if self._provider == "openrouter":
            self.abilities.thinks_in = "reasoning_details"
        elif self._is_claude:
            self.abilities.thinks_in = "thinking_blocks"
        if self._options.reply_form != "auto":
            self.abilities.schema = self._options.reply_form == "schema"
        # A server that replied plainly to a request for a stream says no word before its last.
        self._replies_plainly = False
        self._report: Callable[[Mapping[str, str]], None] = lambda headers: None

    def report_limits(self, listener: Callable[[Mapping[str, str]], None]) -> None:
        """Call ``listener`` with the headers of every response: providers state their limits there."""
        self._report = listener

    def __repr__(self) -> str:
        return f"LiteLLMModel({self._name!r}, api_base={self._options.api_base!r})"

    @property
    def name(self) -> str:
        """Name as given, provider prefix included."""
        return self._name

    def _known_provider(self) -> str:
        provider = self._name.partition("/")[0]
        providers = {str(getattr(item, "value", item)) for item in self._litellm.provider_list}
        if provider not in providers:
            raise UnknownModel(
                f"unknown model {self._name!r}: LiteLLM knows no provider {provider!r}; write openai/<name> with ",
                Option("api_base", "URL"),
                " for an OpenAI-compatible server, or use offline/analyst, which needs no key",
            )
        return provider

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Ask the provider, again after transient failures.

        Raises `ModelUnavailable`: Transient failures outlived all attempts. Raises `ModelRefused`: The provider rejects the request, the
        key or the model's name. Raises `MissingProviderKey`: No key is set and the provider wants one.
        """
        await close_with_the_loop(self._litellm)
        began = time.monotonic()
        attempt = 0
        learned: set[str] = set()
        attempted = request
        while True:
            attempt += 1
            arguments, notes = self.arguments(attempted)
            exchange = self._exchange(attempted)
            try:
                response = await self._asked(arguments, exchange)
                break
            except Exception as problem:
                if not self._is_foreign(problem):
                    raise
                body = redact(" ".join(well_formed(body_of(problem, exchange)).split()))
                words = redact(" ".join(well_formed(words_of(body, exchange.error)).split()))
                status = status_of(problem, exchange)
                seconds = time.monotonic() - began
                if (written := failed_generation(body)) is not None:
                    # A slip of the model, which its agent sends back like any reply that cannot be read.
                    notes.append(f"the provider could not read the model's tool call: {words[:_SHOWN]}")
                    return self._declined(written, "complete" if written.strip() else "empty", notes, seconds)
                if status in _ABOUT_THE_REQUEST and is_filtered(words) and not is_overflow(words):
                    # A reply, not an error: agents say it another way, and a resumed run must come the same way.
                    notes.append(f"filtered: {words[:_SHOWN]}")
                    return self._declined("", "filtered", notes, seconds, cost=0.0)
                # What a model does not take is left out from now on: a lesson is learned once and is no failed attempt.
                if is_about_given_thoughts(words) and attempted is request:
                    # Another model thought in this dialogue, or a record holds no thoughts: asked without them this once.
                    turns = tuple(replace(message, thinking=()) for message in request.messages)
                    attempted = replace(request, messages=turns, effort=None)
                    attempt -= 1
                    continue
                sent = _parts(arguments, attempted) if status in _ABOUT_THE_REQUEST else set()
                lesson = self.abilities.learn(words, sent)
                if lesson is not None:
                    learned.add(lesson)
                    attempt -= 1
                    continue
                failure = self._failure(problem, exchange, words, body, attempt)
                if not isinstance(failure, ModelUnavailable) or attempt >= self._options.retries.attempts:
                    # A refusal for another reason may quote the whole request; only what helped is remembered.
                    self.abilities.refused -= learned & {"stream", "stream_options"}
                    raise failure from None
                await self._sleep(self._pause(failure, attempt))
        self._report(exchange.headers)
        if attempt > 1:
            notes.append(f"answered at attempt {attempt}")
        return self._reply(response, exchange, notes, time.monotonic() - began)

    def _exchange(self, request: ModelRequest) -> Exchange:
        # A hosted model that reasons makes no sound before its first word; on Anthropic's line there are signs of life.
        reasons = self.abilities.reasons or self._effort(request) is not None
        waits = reasons and self._options.api_base is None and self._provider != "anthropic"
        total = self._options.retries.total
        return Exchange(
            silence=self._options.retries.timeout,
            first=total if waits or self._replies_plainly else self._options.retries.timeout,
        )

    async def _asked(self, arguments: dict[str, Any], exchange: Exchange) -> Any:
        total = self._options.retries.total
        try:
            async with asyncio.timeout(total):
                with observed(exchange):
                    response = await self._whole(arguments, exchange)
        except TimeoutError:
            raise self._error(408, f"no whole reply in {total:.0f} s") from None
        # LiteLLM gives no error for these, and each is the server's: tried again, then given up.
        if exchange.error is not None:
            raise self._error(502, "an error stands in the reply's place")
        if response is None or not response.choices:
            raise self._error(502, "the answer holds no reply")
        if failed := FAILED_ENDS.intersection(exchange.ends):
            exchange.error = {"message": f"the reply ended with {min(failed)}", "code": 502}
            raise self._error(502, "the reply failed")
        return response

    async def _whole(self, arguments: dict[str, Any], exchange: Exchange) -> Any:
        if not arguments.get("stream"):
            return await self._litellm.acompletion(**arguments)
        chunks = []
        try:
            stream = await self._litellm.acompletion(**arguments)
            try:
                async for chunk in stream:
                    exchange.begun = exchange.begun or says_something(chunk)
                    chunks.append(chunk)
            finally:
                await stream.aclose()
        except Exception:
            # What was read on the line counts, whatever LiteLLM makes of it: a code in letters is a ValueError there.
            if exchange.plain is None and exchange.error is None:
                raise
        if exchange.error is not None:
            return None
        if exchange.plain is not None:
            self._replies_plainly = True
            plain = {
                name: value for name, value in arguments.items() if name not in ("stream", "stream_options")
            }
            return await self._litellm.acompletion(**plain)
        if not (exchange.whole or getattr(stream, "received_finish_reason", None)):
            raise self._error(503, "the reply broke off")
        return self._litellm.stream_chunk_builder(chunks)

    def _error(self, status: int, words: str) -> Exception:
        error: Exception = self._litellm.exceptions.APIError(
            status_code=status, message=words, llm_provider=self._provider, model=self._name
        )
        return error

    def _is_foreign(self, problem: Exception) -> bool:
        """Whether an exception comes from the provider or its libraries, not from a bug of ours."""
        home = type(problem).__module__.partition(".")[0]
        return (
            type(problem) is Exception
            or home in ("litellm", "openai", "httpx")
            or isinstance(problem, PlainReply)
        )

    # --- the request -----------------------------------------------------------------------------------------

    def _effort(self, request: ModelRequest) -> str | None:
        """Return the effort to ask for; ``auto`` applies only to models listed as reasoning."""
        if request.effort != "auto":
            return request.effort
        return "medium" if self.abilities.reasons else None

    def _fitting(self, effort: str | None) -> str | None:
        """Return the effort, or the next lower one whose thoughts leave room for a reply."""
        most = self.abilities.max_output
        for lower in ("high", "medium"):
            if effort == lower and most is not None and THINKING[lower] + _ROOM_TO_ANSWER > most:
                effort = {"high": "medium", "medium": "low"}[lower]
        return effort

    def arguments(self, request: ModelRequest) -> tuple[dict[str, Any], list[str]]:
        """What LiteLLM is called with, and notes on what the model does not take."""
        abilities = self.abilities
        notes = [
            f"{part} left out: {self._name} does not take it"
            for part in sorted(abilities.refused - {"stream", "stream_options"})
        ]
        arguments: dict[str, Any] = {
            "model": self._name,
            "messages": wire_messages(request, abilities),
            "timeout": self._options.retries.total,
            # LiteLLM repeats server errors silently, which would multiply with our own attempts.
            "max_retries": 0,
            "num_retries": 0,
        }
        parameters: dict[str, Any] = {}
        # LiteLLM makes one call of the several that Ollama streams.
        loses_calls = bool(request.tools) and self._provider in ("ollama", "ollama_chat")
        if self._can_stream and "stream" not in abilities.refused and not loses_calls:
            arguments["stream"] = True
            if "stream_options" not in abilities.refused:
                arguments["stream_options"] = {"include_usage": True}
        if request.temperature is not None:
            parameters["temperature"] = request.temperature
        effort = self._fitting(self._effort(request))
        # Claude's thoughts count as output, and LiteLLM would leave little beside them.
        limit = request.max_tokens or (LONGEST_REPLY if effort is not None and self._is_claude else None)
        if limit is not None:
            limit += thinking_room(effort, reasons=True)
            parameters["max_tokens"] = min(limit, abilities.max_output or limit)
        if effort is not None:
            parameters["reasoning_effort"] = effort
        if request.tools and abilities.calls_tools:
            tools, choice = wire_choice(request, abilities)
            # Anthropic reads the whole dialogue anew when the choice changes: there the prompt alone says it first, and "none", by
            # which LiteLLM would also close the tool that it makes of a schema, is never sent.
            if self._is_claude and (request.spare_cache or request.choice == "none"):
                tools, choice = list(request.tools), None
            parameters["tools"] = [wire_tool(tool) for tool in tools]
            if choice is not None:
                parameters["tool_choice"] = choice
        if (
            self._provider in _KEYED_CACHES
            and self._options.api_base is None
            and not (_is_only_request(request) and request.own is None)
        ):
            parameters["prompt_cache_key"] = cache_key(request)
        if self._marks_cache and not _is_only_request(request):
            mark_for_cache(arguments["messages"], ends=request.choice != "auto")
        elif self._marks_cache and request.own is not None:
            mark_samples(arguments["messages"], request.own)
        if request.reply_schema is not None and abilities.asks_schema(request):
            parameters["response_format"] = wire_schema(request.reply_schema)
        supported = self._supported()
        for parameter, value in parameters.items():
            if parameter in abilities.refused:
                continue
            # A model that LiteLLM's list does not know gets every parameter: its refusal can be read, a lost setting cannot.
            # An effort is sent to a server of one's own whatever the list says of the provider's usual models.
            own_effort = parameter == "reasoning_effort" and self._options.api_base is not None
            if supported is None or parameter in supported or own_effort:
                arguments[parameter] = value
                if own_effort and supported is not None and parameter not in supported:
                    arguments["allowed_openai_params"] = [parameter]
            else:
                notes.append(f"{parameter} left out: {self._name} does not take it")
        if self._options.headers:
            arguments["extra_headers"] = dict(self._options.headers)
        if self._options.body:
            arguments["extra_body"] = dict(self._options.body)
        if self._options.api_base is not None:
            arguments["api_base"] = self._options.api_base
        key = self._options.api_key
        # The client behind `openai/` insists on a key, also for a server that wants none.
        if key is None and self._options.api_base is not None and self._provider == "openai":
            key = os.environ.get("OPENAI_API_KEY") or _PLACEHOLDER
        if key is not None:
            arguments["api_key"] = key
        return arguments, notes

    @property
    def _is_claude(self) -> bool:
        return self._provider == "anthropic" or "claude" in self._name.lower()

    @property
    def _marks_cache(self) -> bool:
        """Whether cacheable parts must be marked: for Anthropic, and for others that serve its models and list caching."""
        needs_marks = self._provider == "anthropic" or (
            self._provider in _CLAUDE_ELSEWHERE and bool(self.abilities.caches)
        )
        return self._is_claude and needs_marks and "cache_control" not in self.abilities.refused

    def _supported(self) -> set[str] | None:
        model = self._name.partition("/")[2]
        names = self._litellm.get_supported_openai_params(model=model, custom_llm_provider=self._provider)
        return set(names) if names else None

    # --- failures --------------------------------------------------------------------------------------------

    def _failure(
        self, problem: Exception, exchange: Exchange, words: str, body: str, attempt: int
    ) -> ModelError | MissingProviderKey:
        """Build the error of a failure; only a `ModelUnavailable` may be retried."""
        status = status_of(problem, exchange)
        excerpt = words[:_SHOWN]
        # LiteLLM dresses a missing key as a server error for some providers, and an empty purse as a rate limit
        has_key = self._options.api_key is not None or bool(
            os.environ.get(f"{self._provider.upper()}_API_KEY")
        )
        if (status == 401 or _asks_for_key(words)) and not has_key:
            return MissingProviderKey(
                f"{self._name} wants a key: set the provider's variable (for {self._provider}, "
                f"{self._provider.upper()}_API_KEY) or use offline/analyst, which needs none"
            )
        if status == 401:
            return AccountRefused(f"{self._name} refuses the key that is set: {excerpt}")
        if is_too_large(words) or (status in (*_ABOUT_THE_REQUEST, 413, 500) and is_overflow(words)):
            window = window_in(words)
            if window is not None:
                self.abilities.context = window
            return ContextOverflow(
                f"the request does not fit into the context of {self._name}: {excerpt}", window
            )
        # A limit that passes may say so in a field only.
        if is_account_refusal(status, body if status == 429 else words):
            return AccountRefused(f"{self._name} refuses: {excerpt}")
        if status == 404:
            return AccountRefused(f"the provider knows no model {self._name}: {excerpt}")
        # Of the 4xx only these four may pass by themselves: timeout, conflict, too early, rate limit.
        if status is not None and 400 <= status < 500 and status not in (408, 409, 425, 429):
            return ModelRefused(f"{self._name} refuses the request: {excerpt}")
        return unavailable(
            f"{self._name} did not answer in {attempt} attempts: {excerpt}", problem, exchange, body
        )

    def _pause(self, failure: ModelUnavailable, attempt: int) -> float:
        drawn = backoff(
            attempt,
            first=self._options.retries.first_wait,
            longest=self._options.retries.longest_wait,
            jitter=self._jitter,
        )
        return min(max(drawn, failure.retry_after or 0.0), self._options.retries.longest_wait)

    # --- the reply -------------------------------------------------------------------------------------------

    def _declined(
        self, text: str, finish: Finish, notes: Sequence[str], seconds: float, *, cost: float | None = None
    ) -> ModelReply:
        return ModelReply(
            text=SECRETS.clean(well_formed(text)),
            model=self._name,
            cost_usd=cost,
            seconds=seconds,
            notes=tuple(notes),
            finish=finish,
            context_window=self.abilities.context,
        )

    def _reply(self, response: Any, exchange: Exchange, notes: list[str], seconds: float) -> ModelReply:
        choice = response.choices[0]
        # a server may write down what it was sent in a reply too; nothing of that may reach the ledger
        text = SECRETS.clean(text_of(choice.message))
        calls, text = tool_calls_of(choice.message, text)
        calls = tuple(replace(call, arguments=SECRETS.clean_values(call.arguments)) for call in calls)
        refusal = exchange.refusal or refusal_in(choice.message)
        finish = finish_of(choice, text, calls, ends=exchange.ends, refused=bool(refusal.strip()))
        if finish == "truncated":
            notes.append("the reply was cut off at the length limit")
        if finish == "refused":
            notes.append(SECRETS.clean(f"refused: {' '.join(well_formed(refusal).split())[:300]}"))
        thoughts = SECRETS.clean(thoughts_of(choice.message) or well_formed(exchange.thoughts))
        signed = (
            exchange.details.values() if self._provider == "openrouter" else signed_thoughts(choice.message)
        )
        if finish == "empty" and thoughts.strip():
            # Some servers' parsers take the whole reply for thought.
            text, thoughts, finish = thoughts, "", "complete"
            notes.append("the reply stood among the thoughts")
        return ModelReply(
            text=text,
            model=well_formed(exchange.model or str(getattr(response, "model", None) or self._name)),
            tool_calls=calls,
            usage=usage_of(response, exchange.usage),
            cost_usd=self._cost(response, exchange.usage),
            seconds=seconds,
            notes=tuple(notes),
            finish=finish,
            context_window=self.abilities.context,
            thoughts=thoughts,
            thinking=tuple(SECRETS.clean_values(dict(block)) for block in signed)
            if self.abilities.thinks_in
            else (),
        )

    def _cost(self, response: Any, counts: Mapping[str, Any]) -> float | None:
        """Return the price of a reply in US dollars; None if LiteLLM has no price, or no tokens were counted."""
        cost = counts.get("cost")
        if self._provider == "openrouter" and isinstance(cost, int | float) and cost >= 0:
            return float(cost)
        if price_per_token(self._name) is None or usage_of(response, counts).input_tokens is None:
            return None
        try:
            cost = self._litellm.completion_cost(completion_response=response, model=unrouted(self._name))
        except Exception as problem:  # LiteLLM raises bare Exception here for whatever it cannot price
            if not self._is_foreign(problem):
                raise
            return None
        return max(0.0, float(cost))


def redact(text: str) -> str:
    """Replace every secret in use, and whatever looks like a key, by ``[key]``."""
    return _SECRETS.sub(MASK, SECRETS.clean(text))


def _asks_for_key(text: str) -> bool:
    return re.search(r"api[_ ]key", text, re.IGNORECASE) is not None and (
        re.search(r"missing|must be set|not set|no api|didn't provide|did not provide", text, re.IGNORECASE)
        is not None
    )


def _is_only_request(request: ModelRequest) -> bool:
    """Whether a request is, barring mishaps, the only one of its dialogue: caching it would be useless."""
    return request.choice != "auto" and not request.tools


def _parts(arguments: dict[str, Any], request: ModelRequest) -> set[str]:
    """List the parts of a request that a model may refuse."""
    parts = set(arguments) & {
        "stream", "stream_options", "tools", "response_format", "temperature", "reasoning_effort", "max_tokens", "prompt_cache_key",
    }  # fmt: skip
    match arguments.get("tool_choice"):
        case "none":
            parts.add(NONE)
        case "required":
            parts.add(REQUIRED)
        case dict():
            parts.add(NAMED)
    turns = arguments["messages"]
    lists = [message["content"] for message in turns if isinstance(message.get("content"), list)]
    if any(part.get("type") == "image_url" for content in lists for part in content):
        parts.add("images")
    if any("cache_control" in holder for content in (*lists, turns) for holder in content):
        parts.add("cache_control")
    return parts
