"""Price model calls: list prices and a person's own, worst cases, sound usage, and the forecast for a whole run.

Providers leave usage out, or report nonsense (zero, less than nothing). A limit that trusted them would never be reached.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.errors import Option, sentence
from workbench.models.base import Message, ModelReply, ModelRequest, Usage
from workbench.models.model_options import THINKING

#: What a picture counts as in a worst case; the providers' own numbers lie between 85 and 1,600.
_TOKENS_PER_IMAGE = 2_000
#: Tags, roles and tool definitions around each message.
_TOKENS_PER_MESSAGE = 16
#: Longest reply that is reserved for where nobody says how long one may be.
LONGEST_REPLY = 16_384

#: Tokens below which a beginning is not cached (OpenAI, Anthropic), and for the models of Anthropic that cache only longer ones.
LEAST_CACHED, _LEAST_CACHED_LATELY = 1_024, 4_096
_CACHE_LATER = ("haiku", "opus")

CACHED_IN_FULL = sentence(
    "cached input is priced in full: ", Option("price", "MODEL=IN,OUT,CACHED"), " states its price"
)
ESTIMATED = "usage estimated: the provider reported none that can be believed"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token; ``cached`` for input out of the provider's cache, ``written`` for input that it stores; None if not listed."""

    input: float
    output: float
    cached: float | None = None
    written: float | None = None

    def of(self, usage: Usage) -> float:
        """Price a reply; without its own price, cached input costs as much as other input."""
        cached = usage.cached_tokens or 0
        fresh = (usage.input_tokens or 0) - cached
        per_cached = self.input if self.cached is None else self.cached
        return self.input * fresh + per_cached * cached + self.output * (usage.output_tokens or 0)

    def saved(self, model: str, tokens: int, samples: int) -> float:
        """Dollars that a cache takes off requests of one beginning, the first of which is answered before the others are sent."""
        least = _LEAST_CACHED_LATELY if any(name in model for name in _CACHE_LATER) else LEAST_CACHED
        if samples < 2 or tokens < least or self.cached is None:
            return 0.0
        written = self.input if self.written is None else self.written
        return tokens * ((samples - 1) * (self.input - self.cached) - (written - self.input))


def price_of(model: str, prices: Mapping[str, Sequence[float]]) -> Price | None:
    """Look up a model's price: the person's own (per million tokens), else LiteLLM's list price, else None."""
    if model in prices:
        return Price(*(part / 1e6 for part in prices[model]))
    from workbench.models.providers.listed import listed_entry, price_per_token

    listed = price_per_token(model)
    if listed is None:
        return None
    entry = listed_entry(model)
    return Price(
        *listed, entry.get("cache_read_input_token_cost"), entry.get("cache_creation_input_token_cost")
    )


def worst_input_tokens(request: ModelRequest) -> int:
    """Bound the tokens of a request without a tokenizer: half its bytes and an allowance for its frame.

    English has 4 bytes a token, code and JSON 3, Chinese 2 to 3; only random digits come near 2.
    """
    texts = sum(_size(message) for message in request.messages)
    tools = sum(len(tool.description) + len(str(tool.parameters)) for tool in request.tools)
    images = sum(len(message.images) for message in request.messages)
    frame = _TOKENS_PER_MESSAGE * (len(request.messages) + 1)
    return (texts + tools) // 2 + frame + images * _TOKENS_PER_IMAGE


def _size(message: Message) -> int:
    calls = sum(len(str(call.arguments)) + len(call.name) for call in message.tool_calls)
    return len(message.content.encode("utf-8", "replace")) + calls


def with_sound_usage(
    reply: ModelReply, request: ModelRequest, price: Price | None, *, own_price: bool = False
) -> ModelReply:
    """Return a reply whose usage and cost can be charged; missing or absurd counts are estimated and noted.

    A person's ``own_price`` goes before the cost that the client computed. A reply without text may have cost nothing on the output side; a request never costs nothing on the input side.
    """
    if reply.finish == "filtered" and reply.cost_usd == 0.0:
        return reply  # the provider answered with an error: nothing was made
    usage = reply.usage
    good_input = usage.input_tokens is not None and usage.input_tokens > 0
    said_something = bool(reply.text or reply.tool_calls)
    good_output = usage.output_tokens is not None and (
        usage.output_tokens > 0 or (usage.output_tokens == 0 and not said_something)
    )
    if good_input and good_output:
        cached = usage.cached_tokens
        if cached is not None and not 0 <= cached <= (usage.input_tokens or 0):
            usage = replace(usage, cached_tokens=None)
        sound = reply.cost_usd is not None and reply.cost_usd >= 0 and not own_price
        cost = reply.cost_usd if sound else (None if price is None else price.of(usage))
        full = not sound and price is not None and price.cached is None and bool(usage.cached_tokens)
        notes = (*reply.notes, CACHED_IN_FULL) if full else reply.notes
        return replace(reply, usage=usage, cost_usd=cost, notes=notes)
    usage = Usage(
        input_tokens=usage.input_tokens if good_input else request_tokens(reply.model, request),
        output_tokens=usage.output_tokens
        if good_output
        else max(
            1,
            count_tokens(reply.model, reply.text + "".join(str(call.arguments) for call in reply.tool_calls)),
        ),
    )
    return replace(
        reply,
        usage=usage,
        cost_usd=None if price is None else price.of(usage),
        notes=(*reply.notes, ESTIMATED),
    )


def request_tokens(model: str, request: ModelRequest) -> int:
    """Count the tokens of a request: its messages and its tools."""
    tools = [str([tool.name, tool.description, tool.parameters]) for tool in request.tools]
    return count_tokens(model, "\n".join([*(message.content for message in request.messages), *tools]))


def thinking_room(effort: str | None, *, reasons: bool) -> int:
    """Return the tokens that an effort adds to the reply; ``reasons``: whether the model is listed as reasoning."""
    if effort == "auto":
        effort = "medium" if reasons else None
    return THINKING.get(effort or "", 0)


def reasons(model: str) -> bool:
    """Whether a model is listed as thinking before it answers."""
    from workbench.models.providers.listed import listed_entry

    return bool(listed_entry(model).get("supports_reasoning"))


def longest_reply(model: str) -> int:
    """Return the most tokens to reserve for a reply whose request sets no limit."""
    from workbench.models.providers.listed import listed_entry

    listed = listed_entry(model).get("max_output_tokens")
    return min(LONGEST_REPLY, listed) if isinstance(listed, int) and listed > 0 else LONGEST_REPLY


def count_tokens(model: str, text: str) -> int:
    """Count a text's tokens by the model's tokenizer in LiteLLM, else by OpenAI's."""
    from workbench.models.providers.listed import load_litellm

    return int(load_litellm().token_counter(model=model, text=text))


#: Tokens of one reply of a model that writes as people do, unless a run says otherwise (``reply_tokens``); a script's are shorter.
REPLY_TOKENS = 1_000
#: Input tokens of a dialogue's first request where nobody renders it, and what each turn adds to the next request beside its reply
#: (benchmarks.grounders); None where each question stands by itself.
TOKENS: Mapping[str, tuple[int, int | None]] = {
    "analyze": (1_900, 250),
    "step": (1_900, 680),
    "search": (950, 450),
    "belief": (4_900, 650),
    "research": (3_200, None),
    "synthesis": (6_000, None),
    "thought": (1_500, None),
    "prior": (900, None),
    "critic": (1_500, None),
    "route": (600, None),
    "news": (6_000, None),
}
#: The dialogue of a leaf with a language model by its grounder, and its calls; of the notebook six steps, 0.7 corrections (on
#: average) and one conclusion, of which one in five is sent back by the checks of what it says.
LEAF_CALLS: Mapping[str, tuple[str, float]] = {
    "notebook": ("step", 7.9),
    "search": ("search", 6.0),
    "belief": ("belief", 7.0),
    "deep_research": ("research", 18.0),
}
#: The notebook's 7.9 taken apart.
_CALLS_A_STEP, _CALLS_TO_CONCLUDE = 6.7 / 6, 1.2
OFFLINE_CALLS_PER_LEAF = 5.0
#: How far off the averages are, as standard deviations of a logarithm: a model's way of working, which all leaves of a run
#: share, and what differs from leaf to leaf. The range of a forecast covers nine runs in ten if that is right.
_SHARED_SPREAD, _LEAF_SPREAD = 0.45, 0.6
_TWO_SIDED = 1.645


@dataclass(frozen=True, slots=True, kw_only=True)
class CostForecast:
    """Calls and tokens to come, and their price; ``cost_usd`` is None if the price is unknown."""

    model_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    spread: float = 1.0

    @property
    def token_words(self) -> str:
        """The tokens sent and written, in words."""
        return f"{self.input_tokens:,} tokens sent and {self.output_tokens:,} written"

    def range_of(self, value: float) -> tuple[float, float]:
        """Return the range around an average: divided and multiplied by ``spread``."""
        return value / self.spread, value * self.spread


def forecast_cost(
    model: str,
    *,
    leaves: int,
    inner: int,
    trials: int = 1,
    prices: Mapping[str, Sequence[float]] | None = None,
    roles: Mapping[str, str] | None = None,
    grounder: str = "notebook",
    reply_tokens: int | None = None,
    calls_per_leaf: float | None = None,
    most_steps: int | None = None,
    routed: Mapping[str, int] | None = None,
    rendered: Mapping[str, float] | None = None,
    beside: Mapping[str, int] | None = None,
    direct: Mapping[str, int] | None = None,
) -> CostForecast:
    """Forecast the calls, tokens and price of grounding and combining a planned tree; ``--plan-only`` prints it.

    `grounder`: Which kind grounds the leaves; one that is not known here is taken to ask as often as the notebook grounder.
    `direct`: Forecasts of the claim itself, by model; each is one request.

    >>> forecast_cost("offline/analyst", leaves=9, inner=3)
    CostForecast(model_calls=48, input_tokens=0, output_tokens=0, cost_usd=0.0, spread=1.0)
    """
    roles, rendered, reply = roles or {}, rendered or {}, reply_tokens or REPLY_TOKENS
    grounding = roles.get("grounder", model)
    # Who is asked, in which dialogue, how many of them, calls of each.
    calls_planned = [
        (grounding, name, *_dialogue_of_leaf(name, grounding, calls_per_leaf, most_steps), count * trials)
        for name, count in ({grounder: leaves} if routed is None else routed).items()
    ]
    for stage, count in {"synthesis": inner, **(beside or {})}.items():
        per_dialogue, dialogue_count = (1, count) if TOKENS[stage][1] is None else (count, 1)
        calls_planned.append((roles.get(_ROLE_OF[stage], model), stage, stage, per_dialogue, dialogue_count))
    calls_planned += [(name, "direct", "thought", 1, count) for name, count in (direct or {}).items()]
    total = round(sum(calls * dialogues for *_, calls, dialogues in calls_planned))
    # The offline analyst computes: it reads and writes no tokens, and its number of calls is known.
    billed = [plan for plan in calls_planned if plan[3] * plan[4] and not _is_offline(plan[0])]
    if not billed:
        return CostForecast(model_calls=total, input_tokens=0, output_tokens=0, cost_usd=0.0)

    sent = written = 0.0
    cost: float | None = 0.0
    for name, kind, stage, calls, dialogues in billed:
        usual_first, later = TOKENS[stage]
        first = rendered.get(kind, usual_first)
        added = 0 if later is None else reply + later
        # Of a dialogue each request holds what all before it held, which a provider that caches reads at its price for that.
        tokens_in = dialogues * (calls * first + added * calls * (calls - 1) / 2)
        fresh = tokens_in if later is None else dialogues * (first + added * (calls - 1))
        sent, written = sent + tokens_in, written + dialogues * calls * reply
        price = price_of(name, prices or {})
        if price is None or cost is None:
            cost = None
        else:
            cached = price.input if price.cached is None else price.cached
            cost += fresh * price.input + (tokens_in - fresh) * cached
            cost += dialogues * calls * reply * price.output
    groundings = max(1, leaves * trials)
    deviation = math.sqrt(_SHARED_SPREAD**2 + _LEAF_SPREAD**2 / groundings)
    return CostForecast(
        model_calls=total,
        input_tokens=round(sent),
        output_tokens=round(written),
        cost_usd=cost,
        spread=math.exp(_TWO_SIDED * deviation),
    )


#: Whose model a call beside the leaves is asked of, where a run names one.
_ROLE_OF = {
    "synthesis": "synthesizer",
    "analyze": "analyzer",
    "critic": "critic",
    "prior": "synthesizer",
    "route": "grounder",
    "news": "reader",
}


def _dialogue_of_leaf(
    grounder: str, model: str, by_definition: float | None, most_steps: int | None
) -> tuple[str, float]:
    stage, calls = LEAF_CALLS.get(grounder, LEAF_CALLS["notebook"])
    if by_definition is not None:
        return (stage if grounder in LEAF_CALLS else "thought"), by_definition
    if most_steps is not None and stage != "research":
        calls = min(calls, most_steps if stage != "step" else most_steps * _CALLS_A_STEP + _CALLS_TO_CONCLUDE)
    return stage, OFFLINE_CALLS_PER_LEAF if _is_offline(model) else calls


def _is_offline(model: str) -> bool:
    return model.startswith("offline/")
