"""Where an imported run came from, for every screen that shows it, and whether its sender's signature fits its records."""

import base64
from dataclasses import dataclass
from typing import Any

import orjson

from workbench.formatting import counted
from workbench.signing_keys import signed_line, signer_json
from workbench.store import Store
from workbench.store import events as ev

_PURPOSE = "analyst-workbench package"  # a signature under anything else is worth nothing here


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Where an imported run came from: the package, its signer, what differed. Every screen prints its `line`.

    Not ``taken_in`` is a package that is looked at and stays outside.
    """

    at_utc: str
    package: str
    anyway: bool
    differing: tuple[str, ...]
    signature: ev.PackageSignature | None
    seq: int
    taken_in: bool = True

    @property
    def signer(self) -> str | None:
        """The public key that signed the package; None if nobody did, or not rightly."""
        return self.signature.key if self.signature is not None else None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "at_utc": self.at_utc,
            "package": self.package,
            "anyway": self.anyway,
            "differing": list(self.differing),
            "signed": signer_json(self.signer),
        }

    def line(self) -> str:
        """Return the sentence for the screens."""
        altered = (
            f"; altered: {counted(len(self.differing), 'difference')} at import" if self.differing else ""
        )
        mark = f"Imported {self.at_utc[:10]}" if self.taken_in else "Not imported"
        return (
            f"{mark}, {signed_line(signer_json(self.signer))}: made elsewhere, its records are its sender's"
            f" word{altered}"
        )


def signature_fault(
    store: Store, run_id: str, signature: ev.PackageSignature, *, before: int | None = None
) -> str | None:
    """Say what is wrong with a signature over a run as its rows are now, or return None.

    ``before`` is the sequence number of the import: what this home added to the log later was not signed.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signed = signed_statement(run_id, store.log_head(run_id, before=before), signature.members)
    # OpenSSH's blob is the type and the key, each after its length: the key itself is the last 32 bytes.
    key = base64.b64decode(signature.key.split()[1])[-32:]
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(base64.b64decode(signature.signature), signed)
    except (InvalidSignature, ValueError):  # ValueError: 32 bytes that are no key
        return "the signature does not fit: the package was changed after it was signed, or signed by another key"
    return None


def signed_statement(run_id: str, head: str, members: str) -> bytes:
    """Return what the signature of a package is over; ``members`` is the hash of what is in it."""
    return orjson.dumps([_PURPOSE, 1, run_id, head, members])
