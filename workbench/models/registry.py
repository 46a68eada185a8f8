"""Open a model by name: from a provider that a package registers, else through LiteLLM.

A name is ``<provider>/<model>``. A package adds a provider with an entry point in ``analyst_workbench.models`` whose name is
the provider and whose value is a factory ``(model name, ModelOptions) -> Model``. ``offline``, the key-free analyst, is
one of them. A registered provider wins over LiteLLM's of the same name.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.errors import Option, sentence
from workbench.models.base import Model
from workbench.models.errors import UnknownModel
from workbench.models.model_options import OFFLINE, ModelOptions, ReplyForm, RetrySettings
from workbench.plug_points import MODELS, load_plugin, plugin_names

if TYPE_CHECKING:
    from proxies.broker import Broker

__all__ = ["ModelOptions", "open_model", "unknown_model"]  # a package's author takes the options from here


def open_model(
    name: str,
    *,
    api_base: str | None = None,
    api_key: str | None = None,
    broker: "Broker | None" = None,
    retries: RetrySettings | None = None,
    reply_form: ReplyForm = "auto",
    headers: Mapping[str, str] | None = None,
    body: Mapping[str, object] | None = None,
) -> Model:
    """Open the model of this name; the arguments are those of :class:`ModelOptions`.

    Raises `UnknownModel`: The name has no provider prefix, or its provider has no model of that name.
    """
    provider, slash, rest = name.partition("/")
    if not slash or not provider or not rest:
        raise UnknownModel(unknown_model(name))
    options = ModelOptions(
        api_base=api_base,
        api_key=api_key,
        broker=broker,
        retries=retries or RetrySettings(),
        reply_form=reply_form,
        headers=headers or {},
        body=body or {},
    )
    if provider in plugin_names(MODELS):
        model: Model = load_plugin(MODELS, provider)(name, options)
        return model
    from workbench.models.providers.litellm_client import LiteLLMModel

    return LiteLLMModel(
        name,
        api_base=api_base,
        api_key=api_key,
        retries=options.retries,
        reply_form=reply_form,
        headers=options.headers,
        body=options.body,
    )


def unknown_model(name: str) -> str:
    """Write the error message for an unknown model name."""
    return sentence(
        f"unknown model {name!r}: use {OFFLINE} (no key needed) or <provider>/<model> as LiteLLM spells it, "
        "for example openai/gpt-4o, anthropic/claude-sonnet-4-5, or openai/<name> with ",
        Option("api_base", "URL"),
    )
