"""Register ``offline/analyst`` as a custom provider of LiteLLM, for any program that speaks LiteLLM.

    response = await litellm.acompletion(model="offline/analyst", messages=[...])

Stage, propositions and cutoff are read from the messages; ``stage=``, ``cutoff=`` and ``nodes=`` (a list of
``{"id", "statement"}``) may be passed as parameters and take precedence.
"""

import asyncio
from typing import Any

from workbench.models.base import Message, Model, ModelRequest, NodeRef, ToolCall
from workbench.models.errors import ClaimRefused
from workbench.models.model_options import OFFLINE, ModelOptions
from workbench.models.request_text import cutoff_of, nodes_of, stage_of
from workbench.plug_points import MODELS, load_plugin

PROVIDER = "offline"
_PRICE = {
    "litellm_provider": PROVIDER,
    "mode": "chat",
    "input_cost_per_token": 0.0,
    "output_cost_per_token": 0.0,
    "cache_creation_input_token_cost": 0.0,
    "cache_read_input_token_cost": 0.0,
    "max_input_tokens": 1_000_000,
    "max_output_tokens": 100_000,
}


def register(litellm: Any, model: Model | None = None) -> None:
    """Register ``offline/...`` with LiteLLM; once per process, or again with another model."""
    # The map belongs to the whole process: providers that a host program has registered stay in it.
    others = [entry for entry in litellm.custom_provider_map if entry["provider"] != PROVIDER]
    if len(others) < len(litellm.custom_provider_map) and model is None:
        return
    handler = _handler(litellm, model)
    litellm.custom_provider_map = [*others, {"provider": PROVIDER, "custom_handler": handler}]
    litellm.utils.custom_llm_setup()
    # LiteLLM wants a price entry for a custom provider, under the prefixed name.
    litellm.register_model({"offline/analyst": _PRICE})


def request_from(messages: list[dict[str, Any]], parameters: dict[str, Any]) -> ModelRequest:
    """Build a request for in-process models from chat messages and the call's other parameters.

    Raises `ClaimRefused`: The messages state no cutoff.
    """
    turns = tuple(_turn(message) for message in messages)
    nodes = tuple(
        NodeRef(id=node["id"], statement=node["statement"]) for node in parameters.get("nodes") or ()
    )
    cutoff = parameters.get("cutoff") or cutoff_of(turns)
    if not cutoff:
        raise ClaimRefused(
            'offline/analyst needs a line "Knowledge cutoff: YYYY-MM-DD" in the last user message'
        )
    return ModelRequest(
        messages=turns,
        stage=parameters.get("stage") or stage_of(turns),
        nodes=nodes or nodes_of(turns),
        cutoff=cutoff,
    )


def _turn(message: dict[str, Any]) -> Message:
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content if part.get("type") == "text")
    calls = tuple(
        # The offline analyst reads texts only; parsing foreign arguments could fail for nothing.
        ToolCall(id=call["id"], name=call["function"]["name"], arguments={})
        for call in message.get("tool_calls") or ()
    )
    return Message(
        role=message["role"], content=content, tool_calls=calls, tool_call_id=message.get("tool_call_id")
    )


def _handler(litellm: Any, model: Model | None) -> Any:
    class Offline(litellm.CustomLLM):  # type: ignore[misc]
        """Answers LiteLLM's calls from the in-process model."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        async def acompletion(self, *args: Any, **kwargs: Any) -> Any:
            # Opened at the first call: registering happens at every load of LiteLLM, mostly for another model.
            if self.model is None:
                opened: Model = load_plugin(MODELS, PROVIDER)(OFFLINE, ModelOptions())
                self.model = opened
            name = kwargs["model"]
            if name not in ("analyst", "offline/analyst"):
                raise litellm.exceptions.NotFoundError(
                    message=f"unknown model offline/{name}: there is offline/analyst",
                    model=name,
                    llm_provider=PROVIDER,
                )
            request = request_from(kwargs["messages"], kwargs.get("optional_params") or {})
            reply = await self.model.complete(request)
            response = kwargs["model_response"]
            response.model = "offline/analyst"
            response.choices = [
                litellm.Choices(
                    message=litellm.Message(content=reply.text, role="assistant"), finish_reason="stop"
                )
            ]
            response.usage = litellm.Usage(prompt_tokens=0, completion_tokens=0, total_tokens=0)
            return response

        def completion(self, *args: Any, **kwargs: Any) -> Any:
            return asyncio.run(self.acompletion(*args, **kwargs))

    return Offline()
