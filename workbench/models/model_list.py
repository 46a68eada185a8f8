"""List the models that the present keys reach, out of LiteLLM's list, with the abilities of each.

Names of variables are looked at, never their values, and nothing is sent anywhere.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from workbench.models.errors import MissingProviderKey
from workbench.models.model_options import OFFLINE
from workbench.models.providers.abilities import whole_count
from workbench.models.providers.listed import load_litellm, price_per_token

#: Providers whose models analysts ask, with the variables that hold their keys as LiteLLM documents them.
KEYS: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY"),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
    "cohere": ("COHERE_API_KEY",),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """One model that can be asked. Prices are US dollars per million tokens; None is not listed."""

    model: str
    context: int | None = None
    longest_reply: int | None = None
    vision: bool = False
    tools: bool = False
    schema: bool = False
    price_in: float | None
    price_out: float | None
    training_end: str

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON values."""
        return asdict(self)


def require_key(model: str, environ: Mapping[str, str]) -> None:
    """Refuse a model whose provider has no key in the environment and accepts nothing else.

    Raises `MissingProviderKey`.
    """
    provider = model.partition("/")[0]
    elsewhere = (f"{provider.upper()}_API_BASE", f"{provider.upper()}_BASE_URL")
    if provider in KEYS and not any(environ.get(name) for name in (*KEYS[provider], *elsewhere)):
        raise MissingProviderKey(
            f"{model} needs an API key: set {' or '.join(KEYS[provider])}, or use {OFFLINE}, which needs none"
        )


def reachable(environ: Mapping[str, str], *, training_end: Any) -> list[ModelEntry]:
    """List the models that the keys of an environment reach; ``offline/analyst`` first, which needs none.

    ``training_end`` maps a model's name to a date, ``never`` or ``unknown``.
    """
    entries = [ModelEntry(model=OFFLINE, price_in=0.0, price_out=0.0, training_end="never")]
    providers = [name for name, keys in KEYS.items() if any(environ.get(key) for key in keys)]
    if not providers:
        return entries
    litellm = load_litellm()
    names: set[str] = set()
    for listed, entry in sorted(litellm.model_cost.items()):
        provider = str(entry.get("litellm_provider", ""))
        if provider not in providers or entry.get("mode") not in ("chat", "responses"):
            continue
        # Fine-tuned names are patterns, and folders in a name are regions of the same model.
        if listed.startswith("ft:") or (provider in ("openai", "anthropic") and "/" in listed):
            continue
        name = listed if listed.startswith(f"{provider}/") else f"{provider}/{listed}"
        if name in names:
            continue
        names.add(name)
        prices = price_per_token(name)
        entries.append(
            ModelEntry(
                model=name,
                context=whole_count(entry.get("max_input_tokens")),
                longest_reply=whole_count(entry.get("max_output_tokens")),
                vision=bool(entry.get("supports_vision")),
                tools=bool(entry.get("supports_function_calling")),
                schema=bool(entry.get("supports_response_schema")),
                price_in=None if prices is None else prices[0] * 1e6,
                price_out=None if prices is None else prices[1] * 1e6,
                training_end=str(training_end(name)),
            )
        )
    return entries
