"""Refusals that are about the account, in each family's words and statuses; and errors that are sent as a success."""

import json

import pytest

from workbench.models.providers.abilities import is_filtered
from workbench.models.providers.account_errors import is_account_refusal, status_of_error_body
from workbench.models.providers.mended_replies import mended, utf8

#: Statuses and words as the providers' documentation and their users' reports have them.
ACCOUNT = [
    ("openai", 401, "Incorrect API key provided: [key]. You can find your API key at ..."),
    ("openai", 429, "You exceeded your current quota, please check your plan and billing details. insufficient_quota"),
    ("openai", 400, "Billing hard limit has been reached: billing_hard_limit_reached"),
    ("openai", 404, "The model `gpt-9` does not exist or you do not have access to it."),
    ("anthropic", 400, "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing"),
    ("anthropic", 403, "Your API key does not have permission to use the specified resource."),
    ("anthropic", 404, "model: claude-9"),
    ("gemini", 400, "API key expired. Billing is disabled: billing has been disabled for this project"),
    ("gemini", 403, "PERMISSION_DENIED: The caller does not have permission"),
    ("gemini", 404, "models/gemini-9 is not found for API version v1beta"),
    ("deepseek", 402, "Insufficient Balance"),
    ("openrouter", 402, "Insufficient credits. Add more using https://openrouter.ai/credits"),
    ("xai", 403, "Your newly created team doesn't have any credits yet."),
    ("xai", 429, "Your team has either used all available credits or reached its monthly spending limit."),
    ("mistral", 401, "Unauthorized"),
    ("together", 402, "Credit limit exceeded, please navigate to billing"),
    ("fireworks", 412, "Account is suspended, possibly due to reaching the monthly spending limit"),
    ("azure", 404, "The API deployment for this resource does not exist."),
    ("perplexity", 401, "You exceeded your current quota"),
    ("bedrock", 400, "The provided model identifier is invalid."),
    ("gemini", 400, "User location is not supported for the API use."),
    ("gemini", 429, "You exceeded your current quota. * Quota exceeded for metric: free_tier_requests, limit: 0, model: x. Please retry in 9s."),
]  # fmt: skip
PASSING = [
    ("openai", 429, "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000. Please try again in 2s."),
    ("gemini", 429, "You exceeded your current quota: GenerateRequestsPerMinutePerProject. Please retry in 33s"),
    ("gemini", 429, "You exceeded your current quota. * metric: a, limit: 2500, model: x * metric: b, limit: 0, model: x. Please retry in 9s."),
    ("groq", 429, "Rate limit reached for model on tokens per day (TPD). Please try again in 7m12s"),
    ("anthropic", 529, "Overloaded"),
    ("anthropic", 429, "This request would exceed your organization's rate limit of 40,000 input tokens per minute"),
    ("any", 503, "Service temporarily unavailable"),
    ("any", 400, "Invalid 'temperature': must be below 2"),
    ("any", 404, "page not found"),
    ("any", None, "Connection error."),
]  # fmt: skip


#: What a provider does not answer of one request, under statuses that else refuse the account.
FILTERED = [
    ("openrouter", 403, "anthropic/claude requires moderation on Anthropic. Your input was flagged for \"violence\"."),
    ("openrouter", 403, "Request blocked: prompt injection patterns detected"),
    ("xai", 403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"),
    ("azure", 400, "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."),
]  # fmt: skip


def test_a_filtered_request_is_told_from_a_refused_account() -> None:
    assert all(is_filtered(words) for *_, words in FILTERED)
    assert not any(is_filtered(words) for *_, words in (*ACCOUNT, *PASSING))


@pytest.mark.parametrize(("family", "status", "words"), ACCOUNT)
def test_a_refused_account_is_told_from_a_refused_request(family: str, status: int, words: str) -> None:
    assert is_account_refusal(status, words)


@pytest.mark.parametrize(("family", "status", "words"), PASSING)
def test_what_passes_by_itself_or_is_one_requests_fault_is_none(
    family: str, status: int | None, words: str
) -> None:
    assert not is_account_refusal(status, words)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("model overloaded", 503),
        ("Not authenticated", 401),
        ({"message": "x", "code": 502}, 502),
        ({"message": "x", "code": "429"}, 429),
        ({"message": "Insufficient credits"}, 402),
        ({"type": "rate_limit_error", "message": "slow down"}, 429),
        ({"message": "The model `p` does not exist"}, 404),
        ({"message": "something broke", "code": True}, 502),
        (["odd"], 502),
    ],
)
def test_an_error_sent_as_a_success_has_the_status_that_it_stands_for(error: object, status: int) -> None:
    assert status_of_error_body(error) == status


def test_of_several_choices_the_first_by_its_number_counts() -> None:
    choices = [{"index": 1, "message": {"content": "b"}}, {"index": 0, "message": {"content": "a"}}]
    answer = json.loads(mended(json.dumps({"choices": choices}).encode()))
    assert [choice["message"]["content"] for choice in answer["choices"]] == ["a", "b"]


def test_an_answer_in_latin_1_is_read_by_its_header() -> None:

    said = '{"a": "Größe"}'
    assert json.loads(utf8(said.encode("latin-1"), "iso-8859-1")) == {"a": "Größe"}
    assert utf8(said.encode(), "iso-8859-1") == said.encode(), "UTF-8 whatever the header says"
    broken = b"\xff\xfe\xfa"
    assert utf8(broken, "no-such-charset") == broken
