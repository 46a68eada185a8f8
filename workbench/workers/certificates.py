"""Certificates of a cluster: every scheduler, worker and client shows one of the same authority, or is not spoken to.

Whoever reaches a scheduler without them can run code on every worker, and workers hold keys to models and data.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxies.atomic import open_private, private_folder
from workbench.environment import config_folder
from workbench.errors import UsageError, command

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, Name

AUTHORITY = "ca.pem"
#: Certificate and key of each role; a scheduler and its workers share theirs.
CLIENT = ("client.pem", "client.key")
CLUSTER = ("cluster.pem", "cluster.key")
#: Names another folder than the config folder's ``dask``.
VARIABLE = "WORKBENCH_DASK_CERTIFICATES"
_DAYS = 365
#: Without a dashboard Dask still serves its logs, to everybody who reaches the port; so that port stays on its machine.
_NO_WEB = "--no-dashboard --dashboard-address 127.0.0.1:0"


def certificate_folder(environ: Mapping[str, str]) -> Path:
    """Return where this person's certificates lie, whether or not there are any."""
    return Path(environ.get(VARIABLE) or config_folder() / "dask")


def new_certificates(folder: Path) -> None:
    """Make an authority, a certificate for the cluster and one for its client, good for a year.

    The authority's own key is not kept: nobody can add a member later, and a cluster that is to forget one gets new
    certificates all over.

    Raises ``UsageError`` if there are some already.
    """
    from cryptography.hazmat.primitives.asymmetric import ec

    if (folder / AUTHORITY).exists():
        raise UsageError(
            f"{folder} holds certificates already: workers that use them would be cut off; name another folder"
        )
    private_folder(folder)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    name = _common_name("workbench cluster authority")
    authority = _signed(name, name, authority_key, authority_key, authority=True)
    for files in (CLIENT, CLUSTER):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(
            _common_name(files[0].removesuffix(".pem")), name, key, authority_key, authority=False
        )
        _write(folder, files, certificate, key)
    _write(folder, (AUTHORITY, None), authority, None)  # last: with it the folder counts as full


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


def _write(
    folder: Path,
    files: tuple[str, str | None],
    certificate: "Certificate",
    key: "EllipticCurvePrivateKey | None",
) -> None:
    from cryptography.hazmat.primitives import serialization as form

    if key is not None and files[1] is not None:
        secret = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
        with open(folder / files[1], "xb", opener=open_private) as file:
            file.write(secret)
    with open(folder / files[0], "xb", opener=open_private) as file:
        file.write(certificate.public_bytes(form.Encoding.PEM))


def client_security(folder: Path) -> Any:
    """Return Dask's ``Security`` of a client with the certificates of a folder.

    Raises ``UsageError`` where one is missing, or if others can read the key: a cluster is not spoken to without.
    """
    from distributed import Security

    names = (AUTHORITY, *CLIENT)
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise UsageError(
            f"a cluster is spoken to with certificates only, and {folder} has no {', '.join(missing)}: ",
            command("workers keys"),
            f" makes a set, {VARIABLE} names another folder",
        )
    key = folder / CLIENT[1]
    if key.stat().st_mode & 0o077:
        raise UsageError(f"others can read the key {key}: `chmod 600` it, and make new ones if they did")
    if not os.access(key, os.R_OK):
        raise UsageError(f"the key {key} cannot be read by this user")
    return Security(
        require_encryption=True,
        tls_ca_file=str(folder / AUTHORITY),
        tls_client_cert=str(folder / CLIENT[0]),
        tls_client_key=str(key),
    )


def command_lines(folder: Path, address: str = "HOST") -> list[str]:
    """Return the commands that start a scheduler and a worker with these certificates, for a person to copy."""
    tls = (
        f"--tls-ca-file {folder / AUTHORITY} --tls-cert {folder / CLUSTER[0]} --tls-key {folder / CLUSTER[1]}"
    )
    return [
        f"dask scheduler --protocol tls --host {address} --port 8786 {_NO_WEB} {tls}",
        f"dask worker tls://{address}:8786 --nworkers 1 --nthreads 50 {_NO_WEB} {tls}",
    ]
