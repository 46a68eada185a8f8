"""Any provider through LiteLLM, with one owner of retries (ours), typed errors and honest costs.

LiteLLM is imported at first use, and told before that to read its price list from the package: otherwise its import
makes a network call. Its own retries are off, because they are silent.
"""

import asyncio
import base64
import json
import logging
import os
import random
import re
import time
from collections.abc import Callable
from typing import Any

from workbench.models.base import Message, ModelReply, ModelRequest, ToolCall, ToolSpec, Usage
from workbench.models.errors import (
    MissingProviderKey,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    UnknownModel,
)
from workbench.models.registry import RetrySettings

MALFORMED = "malformed_arguments"
_PLACEHOLDER = "none-needed"
_SECRETS = re.compile(
    r"(sk-[A-Za-z0-9_\-]{6,}|Bearer\s+[A-Za-z0-9._\-]{6,}|(?<=key=)[A-Za-z0-9_\-]{6,}|AIza[A-Za-z0-9_\-]{10,})"
)
_KEY_NAME = re.compile(r"(_API_KEY|_TOKEN|_SECRET|_ACCESS_KEY)$")


def load_litellm() -> Any:
    """Return the ``litellm`` module, set up: local price list, no chatter, no ``.env``, ``offline/analyst`` registered."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # In its default mode the import loads every name of the first .env it finds: from the current folder upwards in a
    # notebook, from the folder of the virtual environment upwards elsewhere. OPENAI_API_BASE there would send the key on.
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    import litellm

    from workbench.models.litellm_provider import register

    litellm.suppress_debug_info = True
    # its warnings are about its own housekeeping; what matters to a caller comes as an exception
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    litellm.telemetry = False
    # With aiohttp off LiteLLM sends through httpx, whose traffic test tools can intercept.
    litellm.disable_aiohttp_transport = True
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
        sleep: Callable[[float], Any] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._name = name
        self._api_base = api_base
        self._api_key = api_key
        self._retries = retries or RetrySettings()
        self._sleep = sleep
        self._jitter = jitter
        self._litellm = load_litellm()
        self._provider = self._known_provider()

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
                f"unknown model {self._name!r}: LiteLLM knows no provider {provider!r}; write openai/<name> with "
                "--api-base URL for an OpenAI-compatible server, or use offline/analyst, which needs no key"
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
        arguments, notes = self._arguments(request)
        began = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            try:
                response = await self._litellm.acompletion(**arguments)
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
                raise self._final_error(problem) from None
        if attempt > 1:
            notes.append(f"answered at attempt {attempt}")
        return self._reply(response, notes, time.monotonic() - began)

    # --- the request -----------------------------------------------------------------------------------------

    def _arguments(self, request: ModelRequest) -> tuple[dict[str, Any], list[str]]:
        notes: list[str] = []
        arguments: dict[str, Any] = {
            "model": self._name,
            "messages": [_message(message) for message in request.messages],
            "timeout": self._retries.timeout,
            # LiteLLM repeats server errors silently, which would multiply with our own attempts.
            "max_retries": 0,
            "num_retries": 0,
        }
        wanted: dict[str, Any] = {}
        if request.temperature is not None:
            wanted["temperature"] = request.temperature
        if request.max_tokens is not None:
            wanted["max_tokens"] = request.max_tokens
        if request.tools:
            wanted["tools"] = [_tool(tool) for tool in request.tools]
        supported = self._supported()
        for parameter, value in wanted.items():
            # A model that LiteLLM's list does not know gets every parameter: its refusal can be read, a lost setting cannot.
            if supported is None or parameter in supported:
                arguments[parameter] = value
            else:
                notes.append(f"{parameter} left out: {self._name} does not take it")
        if self._api_base is not None:
            arguments["api_base"] = self._api_base
        key = self._api_key
        # The client behind `openai/` insists on a key, also for a server that wants none.
        if key is None and self._api_base is not None and self._provider == "openai":
            key = os.environ.get("OPENAI_API_KEY") or _PLACEHOLDER
        if key is not None:
            arguments["api_key"] = key
        return arguments, notes

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
        # Of the 4xx only these four may pass by themselves: timeout, conflict, too early, rate limit.
        if "insufficient_quota" in text or (
            isinstance(status, int) and 400 <= status < 500 and status not in (408, 409, 425, 429)
        ):
            raise ModelRefused(f"{self._name} refuses: {text}") from None
        if attempt >= self._retries.attempts:
            raise ModelUnavailable(f"{self._name} did not answer in {attempt} attempts: {text}") from None
        await self._sleep(self._pause(problem, attempt))

    def _pause(self, problem: Exception, attempt: int) -> float:
        most = min(self._retries.first_wait * 2 ** (attempt - 1), self._retries.longest_wait)
        # Leaves run at once and meet a rate limit together; drawn waits keep them from coming back together.
        drawn: float = most * (0.5 + 0.5 * self._jitter())
        return min(max(drawn, _retry_after(problem)), self._retries.longest_wait)

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
            return ModelRefused(f"{self._name} refuses the key: {text}")
        if isinstance(problem, kinds.NotFoundError):
            return ModelRefused(f"the provider knows no model {self._name}: {text}")
        return ModelRefused(f"{self._name} refuses the request: {text}")

    def _has_key(self) -> bool:
        if self._api_key is not None:
            return True
        return bool(os.environ.get(f"{self._provider.upper()}_API_KEY"))

    def _clean(self, problem: Exception) -> str:
        """The provider's words in one line, without anything that looks like a key."""
        text = " ".join(str(problem).split())
        text = re.sub(r"^litellm\.\w+: ", "", text)
        return redact(text, extra=(self._api_key,))[:600]

    # --- the reply -------------------------------------------------------------------------------------------

    def _reply(self, response: Any, notes: list[str], seconds: float) -> ModelReply:
        choice = response.choices[0]
        usage = getattr(response, "usage", None)
        details = getattr(usage, "prompt_tokens_details", None)
        if choice.finish_reason == "length":
            notes.append("the reply was cut off at the length limit")
        return ModelReply(
            text=choice.message.content or "",
            model=str(getattr(response, "model", None) or self._name),
            tool_calls=tuple(_call(call) for call in (choice.message.tool_calls or ())),
            usage=Usage(
                input_tokens=_count(usage, "prompt_tokens"),
                output_tokens=_count(usage, "completion_tokens"),
                cached_tokens=_count(details, "cached_tokens"),
            ),
            cost_usd=self._cost(response),
            seconds=seconds,
            notes=tuple(notes),
        )

    def _cost(self, response: Any) -> float | None:
        """Price of a reply in US dollars; None if LiteLLM has no price (it would report 0.0)."""
        if price_per_token(self._name) is None:
            return None
        usage = getattr(response, "usage", None)
        if usage is None:
            return None
        try:
            cost = self._litellm.completion_cost(completion_response=response, model=self._name)
        except Exception as problem:  # LiteLLM raises bare Exception here for whatever it cannot price
            if not self._litellm_raised(problem):
                raise
            return None
        return float(cost)

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


def redact(text: str, *, extra: tuple[str | None, ...] = ()) -> str:
    """Return the text with keys, and every value of a key-like environment variable, replaced by ``[key]``."""
    values = [value for value in extra if value]
    # A shorter value would be cut out of ordinary words.
    values += [value for name, value in os.environ.items() if _KEY_NAME.search(name) and len(value) >= 6]
    # Longest first: a value that begins another would be replaced inside it and leave the rest of the key readable.
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "[key]")
    return _SECRETS.sub("[key]", text)


def _asks_for_key(text: str) -> bool:
    return re.search(r"api[_ ]key", text, re.IGNORECASE) is not None and (
        re.search(r"missing|must be set|not set|no api|didn't provide|did not provide", text, re.IGNORECASE)
        is not None
    )


def _retry_after(problem: Exception) -> float:
    """Return the seconds that the provider asked us to wait; 0 if it did not.

    LiteLLM keeps the provider's headers in a field of its own.
    """
    headers = getattr(problem, "litellm_response_headers", None) or {}
    try:
        return max(0.0, float(headers.get("retry-after", 0)))
    except (TypeError, ValueError):
        return 0.0  # an HTTP date; our own pause does


def _message(message: Message) -> dict[str, Any]:
    content: Any = message.content
    if message.images:
        content = [{"type": "text", "text": message.content}]
        content += [
            {
                "type": "image_url",
                "image_url": {"url": "data:image/png;base64," + base64.b64encode(image).decode()},
            }
            for image in message.images
        ]
    turn: dict[str, Any] = {"role": message.role, "content": content}
    if message.tool_calls:
        # OpenAI's format has null, not an empty text, for a turn that only calls tools.
        turn["content"] = content or None
        turn["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        turn["tool_call_id"] = message.tool_call_id
    return turn


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }


def _call(call: Any) -> ToolCall:
    """A tool call; arguments that are no JSON object are handed on under one telling key, for the agent to refuse."""
    text = call.function.arguments or "{}"
    try:
        arguments = json.loads(text)
    except json.JSONDecodeError:
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {MALFORMED: text}
    return ToolCall(id=str(call.id), name=str(call.function.name), arguments=arguments)


def _count(holder: Any, name: str) -> int | None:
    value = getattr(holder, name, None)
    return int(value) if isinstance(value, int) else None
