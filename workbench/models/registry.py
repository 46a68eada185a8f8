"""Open a model by name: from a provider that a package registers, else through LiteLLM.

A name is ``<provider>/<model>``. A package adds a provider with an entry point in ``analyst_workbench.models`` whose name is
the provider and whose value is a factory ``(model name, ModelOptions) -> Model``. ``offline``, the key-free analyst, is
one of them. A registered provider wins over LiteLLM's of the same name.
"""

from typing import Any

from workbench.errors import Option, sentence
from workbench.models.base import Model
from workbench.models.errors import UnknownModel
from workbench.models.model_options import OFFLINE, ModelOptions
from workbench.plug_points import MODELS, load_plugin, plugin_names

__all__ = ["ModelOptions", "open_model", "unknown_model"]  # a package's author takes the options from here


def open_model(name: str, **options: Any) -> Model:
    """Open the model of this name; the arguments are those of :class:`ModelOptions`, None is as if it were not given.

    Raises `UnknownModel`: The name has no provider prefix, or its provider has no model of that name.
    """
    provider, slash, rest = name.partition("/")
    if not slash or not provider or not rest:
        raise UnknownModel(unknown_model(name))
    if provider in plugin_names(MODELS):
        model: Model = load_plugin(MODELS, provider)(name, ModelOptions.given(options))
        return model
    from workbench.models.providers.litellm_client import LiteLLMModel

    return LiteLLMModel(name, **options)


def unknown_model(name: str) -> str:
    """Write the error message for an unknown model name."""
    return sentence(
        f"unknown model {name!r}: use {OFFLINE} (no key needed) or <provider>/<model> as LiteLLM spells it, "
        "for example openai/gpt-4o, anthropic/claude-sonnet-4-5, or openai/<name> with ",
        Option("api_base", "URL"),
    )
