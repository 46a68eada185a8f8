"""Any provider through LiteLLM, with one owner of retries (ours), typed errors and honest costs.

LiteLLM is imported at first use, and told before that to read its price list from the package: otherwise its import
makes a network call. Its own retries are off, because they are silent.
"""

import asyncio
import logging
import os
import random
import re
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from proxies.fetch.pacing import backoff
from proxies.secret_registry import MASK, SECRETS
from workbench.errors import Option
from workbench.models.base import ModelReply, ModelRequest
from workbench.models.errors import (
    AccountRefused,
    ContextOverflow,
    MissingProviderKey,
    ModelError,
    ModelRefused,
    UnknownModel,
)
from workbench.models.model_options import ReplyForm, RetrySettings
from workbench.models.providers.abilities import (
    NAMED,
    NONE,
    REQUIRED,
    is_filtered,
    is_overflow,
    listed_abilities,
    window_in,
)
from workbench.models.providers.account_errors import is_account_refusal
from workbench.models.providers.answer_repair import MendingClient
from workbench.models.providers.connections import (
    close_with_the_loop,
    guard_replies,
    note_client,
    note_prepared_requests,
    nothing_left_behind,
    prepare_every_client,
)
from workbench.models.providers.failures import asked_pause, headers_of, unavailable
from workbench.models.providers.litellm_messages import (
    cache_key,
    mark_for_cache,
    wire_choice,
    wire_messages,
    wire_schema,
    wire_tool,
)
from workbench.models.providers.litellm_provider import register
from workbench.models.providers.litellm_reply import (
    MALFORMED,
    finish_of,
    refusal_of,
    text_of,
    thoughts_of,
    tool_calls_of,
    usage_of,
    well_formed,
)
from workbench.models.providers.streaming.exchange import Patience, StreamMemory, patience_of, wire

__all__ = ["MALFORMED", "LiteLLMModel", "load_litellm", "price_per_token", "redact"]

#: Providers that take ``prompt_cache_key``; elsewhere a field that nobody knows may be refused.
_KEYED_CACHES = ("openai", "azure")
_CLAUDE_ELSEWHERE = ("bedrock", "vertex_ai", "openrouter")
#: Where LiteLLM leaves the named form of ``tool_choice`` out without a word (Mistral has none, Ollama no choice at all).
_UNNAMED = ("mistral", "codestral", "ollama", "ollama_chat")
_PLACEHOLDER = "none-needed"
_SECRETS = re.compile(
    r"(sk-[A-Za-z0-9_\-]{6,}|Bearer\s+[A-Za-z0-9._\-]{6,}|(?<=key=)[A-Za-z0-9_\-]{6,}|AIza[A-Za-z0-9_\-]{10,})"
)


def load_litellm() -> Any:
    """Return the ``litellm`` module, set up: local price list, no chatter, no ``.env``, ``offline/analyst`` registered."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # In its default mode the import loads every name of the first .env it finds: from the current folder upwards in a
    # notebook, from the folder of the virtual environment upwards elsewhere. OPENAI_API_BASE there would send the key on.
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    import litellm

    litellm.suppress_debug_info = True
    # its warnings are about its own housekeeping; what matters to a caller comes as an exception
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    # of a reply whose fields have other types than its own model says: we read it ourselves
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    litellm.telemetry = False
    # With aiohttp off LiteLLM sends through httpx, whose traffic test tools can intercept.
    litellm.disable_aiohttp_transport = True
    prepare_every_client()
    note_prepared_requests()
    register(litellm)
    return litellm


class LiteLLMModel:
    """A remote model.

    Parameters
    ----------
    name : str
        ``<provider>/<model>`` as LiteLLM spells it.
    api_base, api_key : str, optional
        Instead of the provider's own address and environment variable. ``openai/<m>`` at an own address gets a
        placeholder key if none is set, because such servers often want none and the client library insists.
    retries : RetrySettings
    reply_form, headers, body
        As in ``ModelOptions``.
    sleep, jitter : callable
        Seams for tests: how to wait, and a number in [0, 1).

    Raises
    ------
    UnknownModel
        LiteLLM knows no such provider.
    """

    def __init__(
        self,
        name: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        retries: RetrySettings | None = None,
        reply_form: ReplyForm = "auto",
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        sleep: Callable[[float], Any] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._name = name
        self._api_base = api_base
        self._api_key = api_key
        SECRETS.add(api_key)
        SECRETS.add_address(api_base)
        self._retries = retries or RetrySettings()
        self._sleep = sleep
        self._jitter = jitter
        self._headers = dict(headers or {})
        self._body = dict(body or {})
        self._litellm = load_litellm()
        self._provider = self._known_provider()
        self.abilities = listed_abilities(self._litellm, name, own_address=api_base is not None)
        self.abilities.names_tools = self._provider not in _UNNAMED
        if reply_form != "auto":
            self.abilities.schema = reply_form == "schema"
        # By event loop: a connection belongs to the loop that opened it.
        self._clients: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._streams = StreamMemory()
        self._report: Callable[[Mapping[str, str]], None] = lambda headers: None

    def report_limits(self, listener: Callable[[Mapping[str, str]], None]) -> None:
        """Call ``listener`` with the headers of every answer, in which a provider states its limits."""
        self._report = listener

    def __repr__(self) -> str:
        return f"LiteLLMModel({self._name!r}, api_base={self._api_base!r})"

    @property
    def name(self) -> str:
        """Name as given, provider prefix included."""
        return self._name

    def _known_provider(self) -> str:
        provider = self._name.partition("/")[0]
        known = {str(getattr(item, "value", item)) for item in self._litellm.provider_list}
        if provider not in known:
            raise UnknownModel(
                f"unknown model {self._name!r}: LiteLLM knows no provider {provider!r}; write openai/<name> with ",
                Option("api_base", "URL"),
                " for an OpenAI-compatible server, or use offline/analyst, which needs no key",
            )
        return provider

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Ask the provider, again after transient failures.

        Raises
        ------
        ModelUnavailable
            Transient failures outlived all attempts.
        ModelRefused
            The provider rejects the request, the key or the model's name.
        MissingProviderKey
            No key is set and the provider wants one.
        """
        await close_with_the_loop(self._litellm)
        arguments, notes = self._arguments(request)
        began = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            try:
                with nothing_left_behind(), patience_of(self._patience(request)):
                    response = await self._litellm.acompletion(**arguments)
                self._report(headers_of(response))
                # An empty answer is raised as LiteLLM's own error, so that it goes the way of a failing server: tried
                # again, then given up.
                if not response.choices:
                    raise self._litellm.exceptions.APIError(
                        status_code=502,
                        message="the answer holds no reply",
                        llm_provider=self._provider,
                        model=self._name,
                    )
                break
            except self._litellm.exceptions.APIError as problem:
                await self._wait_or_raise(problem, attempt)
            except self._transient() as problem:
                await self._wait_or_raise(problem, attempt)
            except self._final() as problem:
                words = self._clean(problem)
                if is_filtered(words) and not is_overflow(words):
                    # A reply, not an error: agents say it another way, and a resumed run must come the same way.
                    return self._filtered(words, notes, time.monotonic() - began)
                # What a model does not take is left out from now on: a lesson is learned once and is no failed attempt.
                # LiteLLM's words leave out the parameter that OpenAI names beside its own.
                field = getattr(problem, "param", None)
                if isinstance(field, str) and field.isidentifier():
                    words = f"{words} ({field})"
                if self.abilities.learn(words, _parts(arguments, request)) is None:
                    raise self._final_error(problem) from None
                attempt -= 1
                arguments, notes = self._arguments(request)
        if attempt > 1:
            notes.append(f"answered at attempt {attempt}")
        return self._reply(response, notes, time.monotonic() - began)

    def _patience(self, request: ModelRequest) -> Patience:
        return Patience(
            silence=self._retries.timeout,
            total=self._retries.total,
            reasons=self._api_base is None and (self.abilities.reasons or self._effort(request) is not None),
            memory=self._streams,
        )

    # --- the request -----------------------------------------------------------------------------------------

    def _effort(self, request: ModelRequest) -> str | None:
        """The effort that is asked for; ``auto`` asks those models alone of which LiteLLM's list says that they reason."""
        if request.effort != "auto":
            return request.effort
        return "medium" if self.abilities.reasons else None

    def _arguments(self, request: ModelRequest) -> tuple[dict[str, Any], list[str]]:
        abilities = self.abilities
        notes = [f"{part} left out: {self._name} does not take it" for part in sorted(abilities.refused)]
        arguments: dict[str, Any] = {
            "model": self._name,
            "messages": wire_messages(request, abilities),
            "timeout": self._retries.total,
            # LiteLLM repeats server errors silently, which would multiply with our own attempts.
            "max_retries": 0,
            "num_retries": 0,
        }
        wanted: dict[str, Any] = {}
        if request.temperature is not None:
            wanted["temperature"] = request.temperature
        if request.max_tokens is not None:
            wanted["max_tokens"] = min(request.max_tokens, abilities.max_output or request.max_tokens)
        if (effort := self._effort(request)) is not None:
            wanted["reasoning_effort"] = effort
        if request.tools and abilities.calls_tools:
            tools, choice = wire_choice(request, abilities)
            # Anthropic reads the whole dialogue anew when the choice changes: there the prompt alone says it first, and "none", by
            # which LiteLLM would also close the tool that it makes of a schema, is never sent.
            if self._is_claude and (request.spare_cache or request.choice == "none"):
                tools, choice = list(request.tools), None
            wanted["tools"] = [wire_tool(tool) for tool in tools]
            if choice is not None:
                wanted["tool_choice"] = choice
        if self._provider in _KEYED_CACHES and self._api_base is None and not _is_only_request(request):
            wanted["prompt_cache_key"] = cache_key(request)
        if self._marks_cache and not _is_only_request(request):
            mark_for_cache(arguments["messages"], ends=request.choice != "auto")
        if request.reply_schema is not None and abilities.asks_schema(request):
            wanted["response_format"] = wire_schema(request.reply_schema)
        supported = self._supported()
        for parameter, value in wanted.items():
            if parameter in abilities.refused:
                continue
            # A model that LiteLLM's list does not know gets every parameter: its refusal can be read, a lost setting cannot.
            # An effort is sent to a server of one's own whatever the list says of the provider's usual models.
            own_effort = parameter == "reasoning_effort" and self._api_base is not None
            if supported is None or parameter in supported or own_effort:
                arguments[parameter] = value
                if own_effort and supported is not None and parameter not in supported:
                    arguments["allowed_openai_params"] = [parameter]
            else:
                notes.append(f"{parameter} left out: {self._name} does not take it")
        if self._headers:
            arguments["extra_headers"] = dict(self._headers)
        if self._body:
            arguments["extra_body"] = dict(self._body)
        if self._api_base is not None:
            arguments["api_base"] = self._api_base
        key = self._api_key
        # The client behind `openai/` insists on a key, also for a server that wants none.
        if key is None and self._api_base is not None and self._provider == "openai":
            key = os.environ.get("OPENAI_API_KEY") or _PLACEHOLDER
        if key is not None:
            arguments["api_key"] = key
        if self._provider == "openai" and self._api_base is not None and key is not None:
            arguments["client"] = self._client(key)
        return arguments, notes

    @property
    def _is_claude(self) -> bool:
        return self._provider == "anthropic" or "claude" in self._name.lower()

    @property
    def _marks_cache(self) -> bool:
        """Whether what may be cached must be marked: by Anthropic, and by others who serve its models and say so."""
        known = self._provider == "anthropic" or (
            self._provider in _CLAUDE_ELSEWHERE and bool(self.abilities.caches)
        )
        return self._is_claude and known and "cache_control" not in self.abilities.refused

    def _client(self, key: str) -> Any:
        """The OpenAI client for a server of one's own: it mends odd answers before LiteLLM sees them."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            import openai

            http_client = MendingClient(timeout=None, transport=wire())
            guard_replies(http_client)
            client = openai.AsyncOpenAI(
                api_key=key, base_url=self._api_base, max_retries=0, http_client=http_client
            )
            self._clients[loop] = client
            note_client(client)
        return client

    def _supported(self) -> set[str] | None:
        model = self._name.partition("/")[2]
        names = self._litellm.get_supported_openai_params(model=model, custom_llm_provider=self._provider)
        return set(names) if names else None

    # --- failures --------------------------------------------------------------------------------------------

    def _transient(self) -> tuple[type[Exception], ...]:
        kinds = self._litellm.exceptions
        return (
            kinds.RateLimitError,
            kinds.Timeout,
            kinds.APIConnectionError,
            kinds.InternalServerError,
            kinds.ServiceUnavailableError,
            kinds.BadGatewayError,
        )

    def _final(self) -> tuple[type[Exception], ...]:
        kinds = self._litellm.exceptions
        return (
            kinds.AuthenticationError,
            kinds.PermissionDeniedError,
            kinds.NotFoundError,
            kinds.BadRequestError,
            kinds.UnprocessableEntityError,
            kinds.APIResponseValidationError,
        )

    async def _wait_or_raise(self, problem: Exception, attempt: int) -> None:
        text = self._clean(problem)
        status = getattr(problem, "status_code", None)
        # LiteLLM dresses a missing key as a server error for some providers, and an empty purse as a rate limit
        if _asks_for_key(text) and not self._has_key():
            raise self._final_error(problem) from None
        if is_account_refusal(status, text):
            raise AccountRefused(f"{self._name} refuses: {text}") from None
        # Of the 4xx only these four may pass by themselves: timeout, conflict, too early, rate limit.
        if isinstance(status, int) and 400 <= status < 500 and status not in (408, 409, 425, 429):
            raise ModelRefused(f"{self._name} refuses: {text}") from None
        if attempt >= self._retries.attempts:
            raise unavailable(f"{self._name} did not answer in {attempt} attempts: {text}", problem) from None
        await self._sleep(self._pause(problem, attempt))

    def _pause(self, problem: Exception, attempt: int) -> float:
        drawn = backoff(
            attempt, first=self._retries.first_wait, longest=self._retries.longest_wait, jitter=self._jitter
        )
        return min(max(drawn, asked_pause(problem) or 0.0), self._retries.longest_wait)

    def _final_error(self, problem: Exception) -> ModelError | MissingProviderKey:
        text = self._clean(problem)
        kinds = self._litellm.exceptions
        unlocked = isinstance(problem, kinds.AuthenticationError) or _asks_for_key(text)
        if unlocked and not self._has_key():
            return MissingProviderKey(
                f"{self._name} wants a key: set the provider's variable (for {self._provider}, "
                f"{self._provider.upper()}_API_KEY) or use offline/analyst, which needs none"
            )
        if isinstance(problem, kinds.AuthenticationError):
            return AccountRefused(f"{self._name} refuses the key that is set: {text}")
        if isinstance(problem, kinds.ContextWindowExceededError) or is_overflow(text):
            window = window_in(text)
            if window is not None:
                self.abilities.context = window
            return ContextOverflow(
                f"the request does not fit into the context of {self._name}: {text}", window
            )
        if isinstance(problem, kinds.NotFoundError):
            return AccountRefused(f"the provider knows no model {self._name}: {text}")
        if is_account_refusal(getattr(problem, "status_code", None), text):
            return AccountRefused(f"{self._name} refuses: {text}")
        return ModelRefused(f"{self._name} refuses the request: {text}")

    def _has_key(self) -> bool:
        if self._api_key is not None:
            return True
        return bool(os.environ.get(f"{self._provider.upper()}_API_KEY"))

    def _clean(self, problem: Exception) -> str:
        """The provider's words in one line, without anything that looks like a key."""
        text = " ".join(well_formed(str(problem)).split())
        text = re.sub(r"^litellm\.\w+: ", "", text)
        return redact(text)[:600]

    # --- the reply -------------------------------------------------------------------------------------------

    def _filtered(self, words: str, notes: list[str], seconds: float) -> ModelReply:
        return ModelReply(
            text="",
            model=self._name,
            cost_usd=0.0,
            seconds=seconds,
            notes=(*notes, f"filtered: {words}"),
            finish="filtered",
            context_window=self.abilities.context,
        )

    def _reply(self, response: Any, notes: list[str], seconds: float) -> ModelReply:
        choice = response.choices[0]
        # a server may write down what it was sent in a reply too; nothing of that may reach the ledger
        text = SECRETS.clean(text_of(choice.message))
        calls, text = tool_calls_of(choice.message, text)
        calls = tuple(replace(call, arguments=SECRETS.clean_values(call.arguments)) for call in calls)
        finish = finish_of(choice, text, calls)
        if finish == "truncated":
            notes.append("the reply was cut off at the length limit")
        if finish == "refused":
            notes.append(SECRETS.clean(f"refused: {refusal_of(choice.message)}"))
        thoughts = SECRETS.clean(thoughts_of(choice.message))
        if finish == "empty" and thoughts.strip():
            # Some servers' parsers take the whole reply for thought.
            text, thoughts, finish = thoughts, "", "complete"
            notes.append("the reply stood among the thoughts")
        return ModelReply(
            text=text,
            model=well_formed(str(getattr(response, "model", None) or self._name)),
            tool_calls=calls,
            usage=usage_of(response),
            cost_usd=self._cost(response),
            seconds=seconds,
            notes=tuple(notes),
            finish=finish,
            context_window=self.abilities.context,
            thoughts=thoughts,
        )

    def _cost(self, response: Any) -> float | None:
        """Price of a reply in US dollars; None if LiteLLM has no price (it would report 0.0), or no tokens were counted."""
        if price_per_token(self._name) is None or usage_of(response).input_tokens is None:
            return None
        try:
            cost = self._litellm.completion_cost(completion_response=response, model=self._name)
        except Exception as problem:  # LiteLLM raises bare Exception here for whatever it cannot price
            if not self._litellm_raised(problem):
                raise
            return None
        return max(0.0, float(cost))

    def _litellm_raised(self, problem: Exception) -> bool:
        return type(problem) is Exception or type(problem).__module__.startswith("litellm")


def price_per_token(name: str) -> tuple[float, float] | None:
    """Return US dollars per input and output token as LiteLLM lists them, or None if it lists nothing.

    A listed price of zero for both counts as "not known" unless the model is the offline one.
    """
    if name.startswith("offline/"):
        return 0.0, 0.0
    litellm = load_litellm()
    entry = litellm.model_cost.get(name) or litellm.model_cost.get(name.partition("/")[2])
    # The bare model name may be listed for another provider, at that provider's price.
    if entry is None or entry.get("litellm_provider", name.partition("/")[0]).split("_")[0] not in name:
        return None
    per_input, per_output = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    # A listed 0.0 is not believed: a run must not look free because its price is missing.
    if not per_input and not per_output:
        return None
    return float(per_input or 0.0), float(per_output or 0.0)


def redact(text: str) -> str:
    """Return the text with every secret in use, and what looks like a key, replaced by ``[key]``."""
    return _SECRETS.sub(MASK, SECRETS.clean(text))


def _asks_for_key(text: str) -> bool:
    return re.search(r"api[_ ]key", text, re.IGNORECASE) is not None and (
        re.search(r"missing|must be set|not set|no api|didn't provide|did not provide", text, re.IGNORECASE)
        is not None
    )


def _is_only_request(request: ModelRequest) -> bool:
    """Whether a request is, but for mishaps, the only one of its dialogue: nothing will be read from a cache again."""
    return request.choice != "auto" and not request.tools


def _parts(arguments: dict[str, Any], request: ModelRequest) -> set[str]:
    """What a request sent that a model may not take."""
    parts = set(arguments) & {
        "tools", "response_format", "temperature", "reasoning_effort", "max_tokens", "prompt_cache_key",
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
