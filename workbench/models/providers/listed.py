"""Load LiteLLM, and look models up in its list."""

import logging
import os
import warnings
from typing import Any

from workbench.models.model_options import THINKING
from workbench.models.providers.connections import prepare_every_client
from workbench.models.providers.litellm_provider import register

#: Ways to a provider that LiteLLM takes in the middle of a name.
_ROUTES = ("responses", "chat", "converse", "invoke")

#: Python's warning about a coroutine of LiteLLM's.
NEVER_AWAITED = r"coroutine '[\w.<>]*(completion|streaming)[\w.<>]*' was never awaited"


def load_litellm() -> Any:
    """Import ``litellm``, set up: local price list, no chatter, no ``.env``, ``offline/analyst`` registered."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # In its default mode the import loads every name of the first .env it finds: from the current folder upwards in a
    # notebook, from the folder of the virtual environment upwards elsewhere. OPENAI_API_BASE there would send the key on.
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    for effort, tokens in THINKING.items():  # its own are 1,024 to 4,096
        os.environ.setdefault(f"DEFAULT_REASONING_EFFORT_{effort.upper()}_THINKING_BUDGET", str(tokens))
    import litellm

    litellm.suppress_debug_info = True
    # its warnings are about its own housekeeping; what matters to a caller comes as an exception
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    # of a reply whose fields have other types than its own model says: we read it ourselves
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    # It prepares a request in a thread and awaits what comes back; a cancellation between the two (a run that stops) drops that.
    warnings.filterwarnings("ignore", message=NEVER_AWAITED, category=RuntimeWarning)
    litellm.telemetry = False
    # else it fetches a tokenizer for open models, to count what a stream did not
    litellm.disable_hf_tokenizer_download = True
    # With aiohttp off LiteLLM sends through httpx, whose traffic test tools can intercept.
    litellm.disable_aiohttp_transport = True
    prepare_every_client()
    register(litellm)
    return litellm


def unrouted(name: str) -> str:
    """Return a model's name without the route in its middle.

    >>> unrouted("openai/responses/gpt-4.1"), unrouted("openai/gpt-4.1")
    ('openai/gpt-4.1', 'openai/gpt-4.1')
    """
    provider, _, rest = name.partition("/")
    route, _, model = rest.partition("/")
    return f"{provider}/{model}" if route in _ROUTES and model else name


def listed_entry(name: str) -> dict[str, Any]:
    """Look a model up in LiteLLM's list, also behind a route (``openai/responses/...``); empty if not listed."""
    costs = load_litellm().model_cost
    name = unrouted(name)
    provider, _, rest = name.partition("/")
    entry: dict[str, Any] = costs.get(name) or costs.get(rest) or {}
    # The bare model name may be listed for another provider, at that provider's price.
    return entry if entry.get("litellm_provider", provider).split("_")[0] in name else {}


def price_per_token(name: str) -> tuple[float, float] | None:
    """Return LiteLLM's price per input and output token in US dollars, or None if not listed.

    A listed price of zero for both counts as "not known" unless the model is the offline one.
    """
    if name.startswith("offline/"):
        return 0.0, 0.0
    entry = listed_entry(name)
    per_input, per_output = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    # A listed 0.0 is not believed: a run must not look free because its price is missing.
    if not per_input and not per_output:
        return None
    return float(per_input or 0.0), float(per_output or 0.0)
