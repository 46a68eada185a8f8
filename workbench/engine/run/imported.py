"""Where an imported run came from, for every screen that shows it."""

from dataclasses import dataclass
from typing import Any

from workbench.engine.keys import signed_line, signer_json
from workbench.store import events as ev


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
        altered = f"; ALTERED: {len(self.differing)} differences when it came in" if self.differing else ""
        mark = f"IMPORTED {self.at_utc[:10]}" if self.taken_in else "NOT TAKEN IN"
        return (
            f"{mark}, {signed_line(signer_json(self.signer))}: made elsewhere, its records are its sender's"
            f" word{altered}"
        )
