"""From a model's name to a model: ``offline/analyst`` in this process, everything else through LiteLLM."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.models.base import Model
from workbench.models.errors import UnknownModel

if TYPE_CHECKING:
    from proxies.broker import Broker

OFFLINE = "offline/analyst"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySettings:
    """How often and how long a transient failure is tried again; waits in seconds, doubled each time.

    ``attempts`` counts the first try. The wait before try n + 1 is drawn between half and the whole of
    ``min(first_wait * 2 ** (n - 1), longest_wait)``; a provider's Retry-After, where longer, is obeyed up to
    ``longest_wait``. ``timeout`` is for one try.
    """

    attempts: int = 4
    first_wait: float = 1.0
    longest_wait: float = 30.0
    timeout: float = 300.0


def open_model(
    name: str,
    *,
    api_base: str | None = None,
    api_key: str | None = None,
    broker: "Broker | None" = None,
    retries: RetrySettings | None = None,
) -> Model:
    """The model that answers to ``name``.

    Parameters
    ----------
    name : str
        ``offline/analyst``, or ``<provider>/<model>`` as LiteLLM spells it (``openai/gpt-4o``, ...).
    api_base : str, optional
        Base URL of an OpenAI-compatible (or the provider's own) endpoint instead of the provider's default.
    api_key : str, optional
        Key instead of the one in the provider's environment variable.
    broker : Broker, optional
        Where the offline analyst reads history; one on the embedded data is opened when none is given.
    retries : RetrySettings, optional
        For remote models.

    Raises
    ------
    UnknownModel
        The name has no provider prefix, or names an offline model that does not exist.
    """
    if name == OFFLINE:
        from workbench.models.offline.model import open_offline

        return open_offline(broker)
    provider, slash, rest = name.partition("/")
    if not slash or not provider or not rest or provider == "offline":
        raise UnknownModel(
            f"unknown model {name!r}: use {OFFLINE} (no key needed) or <provider>/<model> as LiteLLM spells it, "
            "for example openai/gpt-4o, anthropic/claude-sonnet-4-5, or openai/<name> with --api-base URL"
        )
    from workbench.models.litellm_client import LiteLLMModel

    return LiteLLMModel(name, api_base=api_base, api_key=api_key, retries=retries or RetrySettings())
