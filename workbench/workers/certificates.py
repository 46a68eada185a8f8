"""Certificates of a cluster: an authority for each role, so that a worker cannot pass for the scheduler, nor for a client.

Whoever reaches a scheduler without them can run code on every worker, and workers hold keys to models and data.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from proxies.atomic import open_private, private_folder
from workbench.environment import config_folder
from workbench.errors import UsageError, command

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, Name

AUTHORITY = "ca.pem"
#: Each role's folder holds its certificate, its key, and in ``ca.pem`` the authorities of those that it speaks with.
ROLES = {"scheduler": ("worker", "client"), "worker": ("scheduler",), "client": ("scheduler",)}
#: Names another folder than the config folder's ``dask``.
VARIABLE = "WORKBENCH_DASK_CERTIFICATES"
_DAYS = 365
#: Without a dashboard Dask still serves its logs, to everybody who reaches the port; so that port stays on its machine.
_NO_WEB = "--no-dashboard --dashboard-address 127.0.0.1:0"


def certificate_folder(environ: Mapping[str, str]) -> Path:
    """Return where this person's certificates lie, whether or not there are any."""
    return Path(environ.get(VARIABLE) or config_folder() / "dask")


class ClientCertificate(NamedTuple):
    """The files with which a scheduler is spoken to."""

    authority: Path
    certificate: Path
    key: Path


def new_certificates(folder: Path) -> None:
    """Make an authority and a certificate for the scheduler, for its workers and for its client, good for a year.

    The authorities' own keys are not kept: nobody can add a member later, and a cluster that is to forget one gets new
    certificates all over.

    Raises ``UsageError`` if there are some already.
    """
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec

    if (folder / AUTHORITY).exists() or any((folder / role).exists() for role in ROLES):
        raise UsageError(
            f"{folder} holds certificates already: workers that use them would be cut off; name another folder"
        )
    authorities = {}
    for role in ROLES:
        key, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        name = _common_name(f"workbench {role} authority")
        authorities[role] = _signed(name, name, key, key, authority=True)
        private_folder(folder / role)
        _write(folder / role / f"{role}.pem", _signed(_common_name(role), name, own, key, authority=False))
        with open(folder / role / f"{role}.key", "xb", opener=open_private) as file:
            file.write(own.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
    for role, others in ROLES.items():
        _write(folder / role / AUTHORITY, *(authorities[other] for other in others))


def _common_name(text: str) -> "Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _signed(
    subject: "Name",
    issuer: "Name",
    key: "EllipticCurvePrivateKey",
    by: "EllipticCurvePrivateKey",
    *,
    authority: bool,
) -> "Certificate":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # a worker's clock may be a little behind
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(
            x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True
        )
        # Python 3.13 checks chains strictly, which asks for both identifiers
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=authority,
                crl_sign=authority,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .sign(by, hashes.SHA256())
    )


def _write(path: Path, *certificates: "Certificate") -> None:
    from cryptography.hazmat.primitives import serialization as form

    with open(path, "xb", opener=open_private) as file:
        file.write(b"".join(each.public_bytes(form.Encoding.PEM) for each in certificates))


def client_certificate(folder: Path) -> ClientCertificate:
    """Return the client's certificate of a folder of `new_certificates`, else the one that Dask's configuration names.

    Raises ``UsageError`` where there is none, or if others can read its key: a cluster is not spoken to without.
    """
    role = folder / "client"
    chosen = ClientCertificate(role / AUTHORITY, role / "client.pem", role / "client.key")
    if not chosen.key.is_file():
        chosen = _configured() or chosen
    missing = [path.name for path in chosen if not path.is_file()]
    if missing:
        older = (
            ": those that are there are of one authority for all, as older versions made them"
            if (folder / AUTHORITY).is_file()
            else ""
        )
        raise UsageError(
            f"a cluster is spoken to with certificates only, and {chosen.key.parent} has no {', '.join(missing)}{older}: ",
            command("workers keys"),
            f" makes a set, {VARIABLE} names another folder, and so does Dask's configuration (distributed.comm.tls)",
        )
    if chosen.key.stat().st_mode & 0o077:
        raise UsageError(
            f"others can read the key {chosen.key}: `chmod 600` it, and make new ones if they did"
        )
    if not os.access(chosen.key, os.R_OK):
        raise UsageError(f"the key {chosen.key} cannot be read by this user")
    return chosen


def _configured() -> ClientCertificate | None:
    """The files of a cluster that the user runs without us; Dask's configuration is read, and nothing of it is run."""
    import dask

    tls = "distributed.comm.tls"
    names = [dask.config.get(f"{tls}.{name}", None) for name in ("ca-file", "client.cert", "client.key")]
    authority, certificate, key = names
    if not (authority and certificate):
        return None
    return ClientCertificate(Path(authority), Path(certificate), Path(key or certificate))


def tls_options(folder: Path, role: str) -> list[str]:
    """Return the options with which the commands of Dask take a role's certificate."""
    place = folder / role
    files = {"ca-file": place / AUTHORITY, "cert": place / f"{role}.pem", "key": place / f"{role}.key"}
    return [word for name, path in files.items() for word in (f"--tls-{name}", str(path))]


def command_lines(folder: Path, address: str = "HOST") -> list[str]:
    """Return the commands that start a scheduler and a worker with these certificates, for a person to copy."""
    scheduler, worker = (" ".join(tls_options(folder, role)) for role in ("scheduler", "worker"))
    return [
        f"dask scheduler --protocol tls --host {address} --port 8786 {_NO_WEB} {scheduler}",
        f"dask worker tls://{address}:8786 --no-nanny --nthreads 50 {_NO_WEB} {worker}",
    ]
