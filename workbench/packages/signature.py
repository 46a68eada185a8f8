"""A signature over a package: who vouches for this run, as it is in this file.

It covers the run's id, the head of its log and the hash of every member. The head can be recomputed from the rows in
whatever home the run lands in, and the log holds the heads of the journals, so that ``verify`` can look at the signature
again long after the package is gone.
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.engine.record.imported_run import signed_statement
from workbench.signing_keys import public_key_of
from workbench.store import PackageRefused, Store
from workbench.store import events as ev

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class _Member(BaseModel):
    """The member ``signature.json``; all else that is signed is recomputed from the package itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: int
    key: ev.PublicKey
    signature: ev.Signature


def members_hash(members: Mapping[str, str]) -> str:
    """Return one hash for the names of a package's members and the hashes of what is in them."""
    return hashlib.sha256(orjson.dumps(dict(members), option=orjson.OPT_SORT_KEYS)).hexdigest()


def sign_package(store: Store, run_id: str, members: Mapping[str, str], key: "Ed25519PrivateKey") -> bytes:
    """Return the member that signs a package of a run whose other members have these hashes."""
    signed = signed_statement(run_id, store.log_head(run_id), members_hash(members))
    member = _Member(version=1, key=public_key_of(key), signature=base64.b64encode(key.sign(signed)).decode())
    return orjson.dumps(member.model_dump(), option=orjson.OPT_INDENT_2) + b"\n"


def read_signature(member: bytes, members: Mapping[str, str]) -> ev.PackageSignature:
    """Return the signature in a member, not yet checked; raises ``PackageRefused`` if it is malformed."""
    try:
        read = _Member.model_validate_json(member)
    except ValidationError:
        raise PackageRefused("its signature.json is no signature") from None
    if read.version != 1:
        raise PackageRefused(f"its signature has version {read.version}: use the newer workbench")
    return ev.PackageSignature(key=read.key, members=members_hash(members), signature=read.signature)
