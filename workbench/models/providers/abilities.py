"""Record what a model accepts (pictures, tools, a JSON schema, single parameters), and learn it from refusals.

LiteLLM's list says it for the models it knows. For a server at an address of one's own the list says nothing: pictures
and tools are tried, a schema is not. A 400 that names what the model does not take is remembered, so it is met once.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from workbench.models.base import ModelRequest

#: The forms of ``tool_choice``, each learned by itself: a provider may take one and refuse another.
NAMED, REQUIRED, NONE = "tool_choice by name", "tool_choice required", "tool_choice none"
_CHOICE = re.compile(r"tool[_ ]?choice|tool[_ ]?config|forced tool|forces tool use", re.IGNORECASE)
#: Parts of a request that can be left out or said in another way, with the words by which providers refuse them.
_LESSONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("stream_options", re.compile(r"stream_options", re.IGNORECASE)),
    ("stream", re.compile(r"\bstream(?:ing|ed)?\b", re.IGNORECASE)),
    (
        "response_format",
        re.compile(
            r"response_format|json_schema|structured output|output_format|output_config|grammar",
            re.IGNORECASE,
        ),
    ),
    # In this order: a tool that cannot be named is the only one on offer and a call required; then its prompt alone asks for it.
    (NAMED, _CHOICE),
    (REQUIRED, _CHOICE),
    (NONE, _CHOICE),
    ("cache_control", re.compile(r"cache[_ ]?(?:control|point)|prompt caching", re.IGNORECASE)),
    ("prompt_cache_key", re.compile(r"prompt_cache_key", re.IGNORECASE)),
    (
        "tools",
        re.compile(
            r"tool[_ ]choice|tool-call-parser|tools?(?:[_ ](?:use|calling))? (?:is|are) not supported|"
            r"support(?:s|ed)? (?:for )?(?:tools|function|tool)|function calling|`?tools`?\W",
            re.IGNORECASE,
        ),
    ),
    (
        "images",
        re.compile(r"image|vision|multi-?modal|content type|content must be a string", re.IGNORECASE),
    ),
    ("temperature", re.compile(r"temperature", re.IGNORECASE)),
    ("reasoning_effort", re.compile(r"reasoning[_ ]effort|reasoning|thinking|effort", re.IGNORECASE)),
    ("max_tokens", re.compile(r"max_(?:completion_|output_)?tokens", re.IGNORECASE)),
)
_REFUSES = re.compile(
    r"support|unknown|unrecognized|unexpected|invalid|not allowed|not permitted|not available|unavailable|requires|extra|"
    r"(?:does not|no) stream|only|must be|may not|cannot|can't|disabled",
    re.IGNORECASE,
)
# What a server that checks bodies by pydantic hands back of the request: it names every field, and complains of none.
_ECHO = re.compile(r"['\"]?input(?:_value)?['\"]?\s*[:=]\s*.*?(?=\{\\?['\"]type\\?['\"]: |$)")
_WINDOW = (
    re.compile(
        r"(?:maximum context length|context (?:length|window|size)|maximum(?: allowed)?)\D{0,30}?(\d{3,8})",
        re.IGNORECASE,
    ),
    re.compile(r">\s*(\d{3,8})(?: maximum)?", re.IGNORECASE),
)
_OVERFLOW = re.compile(
    r"context[ _](?:length|window|size)|context_length_exceeded|prompt is too long|too many (?:input )?tokens|"
    r"input (?:is too long|token count|length)|token limit reached|exceeds the maximum size|reduce the length|longer than the model",
    re.IGNORECASE,
)
# A limit of tokens a minute that is smaller than this one request, which waiting does not mend.
_TOO_LARGE = re.compile(r"request too large\b.*?\blimit:? (\d{3,8})", re.IGNORECASE)
_GIVEN_THOUGHTS = re.compile(
    r"(?:expected|found|start with a|preceding|latest)\W{1,3}(?:redacted_)?thinking|"
    r"thinking\W{1,3}blocks?|signature\W{1,3}in\W{1,3}thinking|(?:thought|thinking)[ _]signature",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content[ _](?:filter|policy|management)|safety (?:system|settings|policy)|was (?:filtered|flagged)|"
    r"responsible ai|prohibited_content|(?:usage|content) (?:polic|guideline)|requires moderation|request blocked",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Abilities:
    """The parts of a request that a model accepts; ``None`` is unknown. ``refused`` grows while the process runs."""

    vision: bool | None = None
    tools: bool | None = None
    schema: bool | None = None
    names_tools: bool = True
    caches: bool | None = None
    reasons: bool = False
    #: The field of a message in which signed thoughts come and go back; None where nobody wants them.
    thinks_in: str | None = None
    context: int | None = None
    max_output: int | None = None
    refused: set[str] = field(default_factory=set)

    @property
    def shows_images(self) -> bool:
        """Whether pictures are sent; otherwise their captions."""
        return self.vision is not False and "images" not in self.refused

    @property
    def calls_tools(self) -> bool:
        """Whether tools are offered; otherwise they are described in text."""
        return self.tools is not False and "tools" not in self.refused

    @property
    def takes_schema(self) -> bool:
        """Whether replies are requested by their JSON schema."""
        return self.schema is True and "response_format" not in self.refused

    def asks_schema(self, request: ModelRequest) -> bool:
        """Whether this request is sent with its schema.

        Anthropic keeps a schema among the tools and OpenAI puts it before the system message, so one that comes late in a dialogue
        makes a provider that caches read all of it anew; there the text shape is asked for first.
        """
        if request.reply_schema is None or not self.takes_schema:
            return False
        return not (request.spare_cache and self.caches)

    def learn(self, words: str, sent: set[str]) -> str | None:
        """Return the part to leave out after a refusal in these words; None if nothing is learned.

        ``sent`` names the parts that the refused request had. What is learned is not sent again, so a caller that asks again as
        long as something is learned comes to an end. Requests side by side may learn the same.
        """
        words = _ECHO.sub("", words)
        # "Expected `thinking`, but found `tool_use`" is about this dialogue, not about the model.
        if is_about_given_thoughts(words):
            return None
        if is_overflow(words) or is_filtered(words) or not _REFUSES.search(words):
            return None
        for part, pattern in _LESSONS:
            if part in sent and pattern.search(words):
                self.refused.add(part)
                return part
        return None


def is_overflow(words: str) -> bool:
    """Whether a provider's words mean that the request exceeds the model's context."""
    return _OVERFLOW.search(words) is not None


def is_too_large(words: str) -> bool:
    """Whether a request exceeds what the provider takes from this account in a minute."""
    return _TOO_LARGE.search(words) is not None


def is_about_given_thoughts(words: str) -> bool:
    """Whether a provider misses, or does not recognise, the thoughts of an earlier turn."""
    return _GIVEN_THOUGHTS.search(words) is not None


def is_filtered(words: str) -> bool:
    """Whether a provider's content filter stopped the request or the reply."""
    return _FILTERED.search(words) is not None


def window_in(words: str) -> int | None:
    """Parse the context length that a refusal names, in tokens.

    >>> window_in("This model's maximum context length is 8192 tokens. However, your messages resulted in 9012 tokens.")
    8192
    >>> window_in("prompt is too long: 210000 tokens > 200000 maximum")
    200000
    """
    for pattern in (_TOO_LARGE, *_WINDOW):
        if match := pattern.search(words):
            return int(match[1])
    return None


def listed_abilities(litellm: Any, name: str, *, own_address: bool) -> Abilities:
    """Read a model's abilities from LiteLLM's list; none for a server at an own address."""
    if own_address:
        return Abilities()
    try:
        entry = litellm.get_model_info(name)
    except Exception as problem:  # LiteLLM raises bare Exception for a model that it does not list
        if type(problem) is not Exception and not type(problem).__module__.startswith("litellm"):
            raise
        return Abilities()
    return Abilities(
        # The list leaves the field out where it does not know, and where a model takes no pictures; text models are the rule.
        vision=bool(entry.get("supports_vision")),
        tools=None
        if entry.get("supports_function_calling") is None
        else bool(entry["supports_function_calling"]),
        schema=bool(entry.get("supports_response_schema")),
        caches=bool(entry.get("supports_prompt_caching")),
        reasons=bool(entry.get("supports_reasoning")),
        context=whole_count(entry.get("max_input_tokens")),
        max_output=whole_count(entry.get("max_output_tokens")),
    )


def whole_count(value: Any) -> int | None:
    """Return a positive integer of LiteLLM's list; None for anything else."""
    return value if isinstance(value, int) and value > 0 else None
