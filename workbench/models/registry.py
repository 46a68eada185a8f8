"""From a model's name to a model: a provider that a package registers, everything else through LiteLLM.

A name is ``<provider>/<model>``. A package adds a provider with an entry point in ``analyst_workbench.models`` whose name is
the provider and whose value is a factory ``(model name, ModelOptions) -> Model``. ``offline``, the key-free analyst, is
one of them. A registered provider wins over LiteLLM's of the same name.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.models.base import Model
from workbench.models.errors import UnknownModel
from workbench.plugins import MODELS, load_plugin, plugin_names

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How a model is reached, for the factory that opens it.

    Parameters
    ----------
    api_base : str, optional
        Base URL of an OpenAI-compatible (or the provider's own) endpoint instead of the provider's default.
    api_key : str, optional
        Key instead of the one in the provider's environment variable.
    broker : Broker, optional
        Date-clamped data, for a model that reads history itself, as the offline analyst does.
    retries : RetrySettings
        For remote models.
    """

    api_base: str | None = None
    api_key: str | None = None
    broker: "Broker | None" = None
    retries: RetrySettings = RetrySettings()


def open_model(
    name: str,
    *,
    api_base: str | None = None,
    api_key: str | None = None,
    broker: "Broker | None" = None,
    retries: RetrySettings | None = None,
) -> Model:
    """Return the model that answers to ``name``; the arguments are those of :class:`ModelOptions`.

    Raises
    ------
    UnknownModel
        The name has no provider prefix, or its provider has no model of that name.
    """
    provider, slash, rest = name.partition("/")
    if not slash or not provider or not rest:
        raise UnknownModel(unknown_model(name))
    options = ModelOptions(
        api_base=api_base, api_key=api_key, broker=broker, retries=retries or RetrySettings()
    )
    if provider in plugin_names(MODELS):
        model: Model = load_plugin(MODELS, provider)(name, options)
        return model
    from workbench.models.litellm_client import LiteLLMModel

    return LiteLLMModel(name, api_base=api_base, api_key=api_key, retries=options.retries)


def unknown_model(name: str) -> str:
    """Return the error message for an unknown model name, with what to write instead."""
    return (
        f"unknown model {name!r}: use {OFFLINE} (no key needed) or <provider>/<model> as LiteLLM spells it, "
        "for example openai/gpt-4o, anthropic/claude-sonnet-4-5, or openai/<name> with --api-base URL"
    )
