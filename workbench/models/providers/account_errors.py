"""Tell refusals of the account from refusals of one request, by status and by each provider family's words."""

import re

#: An empty account, a spent budget or a closed account, as OpenAI, Anthropic, Gemini, OpenRouter, DeepSeek, Together, xAI, Groq,
#: Mistral, Perplexity, Fireworks and those who copy them say it, whatever status they send.
_ACCOUNT = re.compile(
    r"insufficient[ _](quota|credits?|balance|funds)|exceeded (your|the) (current|monthly) (quota|usage|spend)|credit balance is too low"
    r"|(out of|no|used all( available)?|(doesn'?t|does not) have any|run out of|not enough) credits|credit limit|billing[ _](hard[ _]limit|not active)"
    r"|billing (is|has been) (disabled|not enabled)|account (is |has been )?(not active|suspended|deactivated|disabled|terminated|overdue|in arrears)"
    r"|(monthly|spending|usage) limit|payment required|top up|arrearage"
    # nothing is served to this account here
    r"|model identifier is invalid|model_not_found|location is not supported|api key not valid",
    re.IGNORECASE,
)
#: A limit that passes by itself within the day is no state of the account.
_PASSES = re.compile(
    r"per[ _-]?(minute|second|hour|day)|requests? per|tokens? per|retry in|retrydelay|try again in|rate[ _]limit reached",
    re.IGNORECASE,
)
_KEY = (401,)
_PURSE_OR_RIGHT = (402, 403)


def is_account_refusal(status: int | None, words: str) -> bool:
    """Whether every other request of the run would be refused in the same way.

    >>> is_account_refusal(402, "Insufficient credits"), is_account_refusal(429, "Rate limit reached for gpt-4o, try again in 2s")
    (True, False)
    """
    if status in (*_KEY, *_PURSE_OR_RIGHT):
        return True
    if status == 404 and re.search(r"model|deployment|engine", words, re.IGNORECASE):
        return True
    none_at_all = re.search(r"limit: 0\b", words) is not None and not re.search(r"limit: [1-9]", words)
    return bool(_ACCOUNT.search(words)) and (none_at_all or not (status == 429 and _PASSES.search(words)))


def status_of_error_body(error: object) -> int:
    """Return the status of an error that was sent as a success: its own code, else one by its words.

    >>> status_of_error_body({"message": "Invalid API key", "code": "invalid_api_key"}), status_of_error_body("model overloaded")
    (401, 503)
    """
    fields = error if isinstance(error, dict) else {"message": str(error)}
    code = fields.get("code", fields.get("status"))
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599:
        return code
    words = " ".join(str(fields.get(name) or "") for name in ("code", "type", "message"))
    for pattern, status in _BY_WORDS:
        if re.search(pattern, words, re.IGNORECASE):
            return status
    return 502


_BY_WORDS = (
    (r"overloaded|unavailable|busy|capacity|try again", 503),
    (_ACCOUNT.pattern, 402),
    (r"rate.?limit|too many requests", 429),
    (r"api.?key|not authenticated|unauthori[sz]ed|authentication", 401),
    (r"permission|forbidden|not allowed", 403),
    (r"context.?length|too long|maximum context|invalid.?request", 400),
    (r"model.*(not found|does not exist|not exist)", 404),
)
