"""The embedded series a claim may be about: how people name them, how they are sampled, how far they reach.

The last dates are those the package's documentation states; they are a calendar fact, not a value, so a claim
can be turned down for resolving too late without a look at any datum.
"""

import re
from importlib.resources import files

from pydantic import TypeAdapter

from proxies.yaml_text import parse_yaml
from workbench.questions.series.known_series import Series

_TEXT = (files(__package__ or "") / "embedded_series.yaml").read_text(encoding="utf-8")
_LISTED = TypeAdapter(list[Series]).validate_python(parse_yaml(_TEXT, "embedded_series.yaml"))
SERIES: dict[str, Series] = {series.id: series for series in _LISTED}

#: The last day on which any of them has a value.
DATA_END = max(series.last for series in SERIES.values() if series.last)

KNOWN = "S&P 500, NASDAQ, VIX, WTI, the BAA-AAA spread, AAA and BAA yields, core CPI"

_NAMES = [(series.id, re.compile(series.pattern, re.IGNORECASE)) for series in SERIES.values()]


def replace_names(text: str) -> str:
    """Return the text with every known series written as ``<ID>``, an article before it swallowed.

    >>> replace_names("The S&P 500 outperforms the Nasdaq")
    '<SP500> outperforms <NASDAQ>'
    """
    for name, pattern in _NAMES:
        text = re.sub(rf"(?:\bthe )?(?:{pattern.pattern})", f"<{name}>", text, flags=re.IGNORECASE)
    return text
