"""Errors of the broker.

```
ProxyError
├── LedgerMismatch          another request was recorded at this address     our bug or a changed program
├── CatalogueError          a row of the catalogue is wrong                  our bug, raised at load
├── Refused                 the request cannot be answered as asked          the caller's mistake
│   ├── UnknownPath         no such endpoint (names the nearest)
│   ├── ParameterNotListed  a parameter the endpoint does not take
│   ├── ParameterInvalid    a value of the wrong type, form or choice
│   ├── MissingParameter    a required parameter is absent
│   ├── MissingKey          no key is set for the source
│   ├── NoSuch              the upstream knows nothing under these parameters
│   ├── NoCutoff            the session has not declared a cutoff
│   └── CutoffRefused       cannot be told as of the cutoff, or the cutoff itself is wrong
└── SourceError             the upstream's side
    ├── SourceUnavailable   down, slow or overloaded; was retried; may work later
    ├── SourceRejected      it answered that the request is wrong, or the answer made no sense
    │   ├── NotJson         the answer is not JSON; it leaves the raw cache
    │   └── SchemaDrift     it is not built, or not dated, as the catalogue says; it leaves the raw cache
    └── QuotaExhausted      the plan's calls are used up
```
"""

from proxies.remedies import Command, Option, Remedied

#: Stands in every refusal that no other spelling of the call can mend: no key, or nothing that may be known at the cutoff.
#: It is part of the text, as that is all that the ledger keeps and a cell sees; grounders look for it.
ANOTHER_WAY = "take another source, or do without"


class ProxyError(Remedied):
    """Root of this room's errors. The message is one line: the fault and its remedy."""


class LedgerMismatch(ProxyError):
    """The ledger holds a different request at the same address."""


class CatalogueError(ProxyError):
    """A catalogue file does not load."""


class Refused(ProxyError):
    """The request cannot be answered as asked."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnknownPath(Refused):
    """No endpoint has this path."""


class ParameterNotListed(Refused):
    """The endpoint does not list this parameter."""


class ParameterInvalid(Refused):
    """A parameter has the wrong type, form or choice."""


class MissingParameter(Refused):
    """A required parameter is absent."""


class MissingKey(Refused):
    """No key is set for the source."""


class NoSuch(Refused):
    """The upstream knows nothing of this name: never, no longer and not yet are not told apart."""


def no_answer(source: str, path: str) -> NoSuch:
    """Return the one neutral line for "not found", "no longer" and "not yet"."""
    return NoSuch(f"{source} has no answer to this request: check the parameters of {path}")


class NoCutoff(Refused):
    """A data call came before any cutoff was declared."""


class CutoffRefused(Refused):
    """The endpoint cannot be answered as of the cutoff without later knowledge, or the cutoff itself is wrong."""


class SourceError(ProxyError):
    """The upstream failed."""

    def __init__(self, *reason: str | Command | Option) -> None:
        super().__init__(*reason)
        self.reason = str(self)


class SourceUnavailable(SourceError):
    """The upstream is down, slow or overloaded, also after retries."""


class SourceRejected(SourceError):
    """The upstream refused the request, or answered something that is not an answer."""


class NotJson(SourceRejected):
    """The upstream's answer is not JSON."""


class SchemaDrift(SourceRejected):
    """The upstream's answer is not built as the catalogue says, or hardly a row of it bears a date that can be read."""


class QuotaExhausted(SourceError):
    """The plan's calls are used up."""
