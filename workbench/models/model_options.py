"""Define the options of a model: server, key, retries, form of the replies."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from proxies.broker import Broker

OFFLINE = "offline/analyst"
#: What a person may state of a provider's limits.
RATES = ("requests_per_minute", "tokens_per_minute")

#: Tokens of thought that an effort is worth, where a provider wants a number.
THINKING: Mapping[str, int] = {"low": 8_000, "medium": 16_000, "high": 32_000}

ReplyForm = Literal["auto", "text", "schema"]
REPLY_FORMS: tuple[ReplyForm, ...] = ("auto", "text", "schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySettings:
    """Number and length of retries of a transient failure; waits in seconds, doubled each time.

    ``attempts`` counts the first try. The wait before try n + 1 is drawn between half and the whole of
    ``min(first_wait * 2 ** (n - 1), longest_wait)``; a provider's Retry-After, where longer, is obeyed up to
    ``longest_wait``. ``timeout`` is how long a server may be silent, ``total`` how long one try may take in all.
    """

    attempts: int = 4
    first_wait: float = 1.0
    longest_wait: float = 30.0
    timeout: float = 120.0
    total: float = 1200.0

    def with_timeout(self, seconds: float | None) -> "RetrySettings":
        """Return these with another timeout; None changes nothing."""
        return (
            self if seconds is None else replace(self, timeout=seconds, total=max(self.total, 10 * seconds))
        )


#: For a run: its own circuit breaker (``engine.access.outage``) asks again, and knows how the other leaves fare.
ONE_TRY = RetrySettings(attempts=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options for the factory that opens a model."""

    #: Base URL of an OpenAI-compatible (or the provider's own) endpoint instead of the provider's default.
    api_base: str | None = None
    #: Key instead of the one in the provider's environment variable.
    api_key: str | None = None
    #: Date-clamped data, for a model that reads history itself, as the offline analyst does.
    broker: "Broker | None" = None
    #: For remote models.
    retries: RetrySettings = RetrySettings()
    #: ``auto`` asks for a JSON schema where LiteLLM's list says that the model takes one; ``text`` never does, ``schema`` always.
    reply_form: ReplyForm = "auto"
    #: headers, body: Sent with every request beside what LiteLLM sends.
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def given(cls, options: Mapping[str, Any]) -> "ModelOptions":
        """Return the options by name; None is as if it were not given."""
        return cls(**{name: value for name, value in options.items() if value is not None})
