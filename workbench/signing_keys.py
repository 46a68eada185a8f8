"""The analyst's signing key, and the keys of people whose packages they trust by name.

Both stand in the config folder as OpenSSH writes them, so that ``ssh-keygen -lf`` shows the same fingerprint. Trust gives a
signature a name on the screens and does nothing else: a package of a trusted sender is read and re-run as any other is.
"""

import base64
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from proxies.atomic import private_folder, replace_file
from workbench.environment import config_folder
from workbench.errors import UsageError, command

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

#: A public key of 32 bytes as OpenSSH writes it: always 51 bytes with its type, so always 68 letters.
PUBLIC_KEY = re.compile(r"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[A-Za-z0-9+/]{43}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,79}")
_PRIVATE, _PUBLIC, _TRUSTED = "signing_key", "signing_key.pub", "trusted_keys"
_LARGEST = 1_000_000


def new_key() -> str:
    """Make the signing key of this person, readable by nobody else, and return its public key.

    Raises ``UsageError`` if there is one already: what it signed would no longer be theirs.
    """
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
    path = key_path()
    try:
        private_folder(path.parent)
        # O_EXCL never replaces a key, not even one that another process makes at this moment; and the mode is set as the
        # file is created, so there is no instant at which others can open it.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        if not os.path.lexists(path):  # a file, or a link to nothing, where a folder should be
            raise _unusable(path.parent, "it is no folder") from None
        raise UsageError(f"there is a signing key already: {path}; move it away to make another") from None
    except OSError as error:
        raise _unusable(path.parent, error.strerror) from None
    with open(descriptor, "wb") as file:
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    public = public_key_of(key)
    replace_file(path.with_name(_PUBLIC), f"{public}\n".encode())
    return public


def _unusable(folder: Path, why: str | None) -> UsageError:
    return UsageError(
        f"{str(folder)[:200]} cannot be the folder of your keys ({why}): mend that, or set XDG_CONFIG_HOME"
    )


def key_path() -> Path:
    """Return where the signing key stands, whether or not there is one."""
    return config_folder() / _PRIVATE


def signing_key() -> "Ed25519PrivateKey":
    """Return the signing key; raises ``UsageError`` if there is none, or if somebody else can read it."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    path = key_path()
    try:
        with open(path, "rb") as file:
            # Of the open file, not of the path: the path may name another file by the time that its mode is asked for.
            status = os.fstat(file.fileno())
            secret = file.read(_LARGEST)
    except FileNotFoundError:
        raise UsageError("there is no signing key yet: ", command("keys new"), " makes one") from None
    except OSError as error:
        raise UsageError(f"the signing key {path} cannot be read ({error.strerror})") from None
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise UsageError(
            f"others can read the signing key: run `chmod 600 {path}`, and make a new key if anybody did"
        )
    try:
        key = load_ssh_private_key(secret, password=None)
    except (
        ValueError,
        TypeError,
        UnsupportedAlgorithm,
    ):  # damaged, or with a password: no detail of it is shown
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(
            f"{path} is not an ed25519 key without a password: move that file away and make a key"
        )
    return key


def own_public_key() -> str | None:
    """Return the public half of this person's key, or None if they have none."""
    try:
        text = (config_folder() / _PUBLIC).read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        # `keys new` was ended between its two files
        return public_key_of(signing_key()) if key_path().is_file() else None
    except OSError:
        return None
    return check_public_key(text)


def public_key_of(key: "Ed25519PrivateKey") -> str:
    """Return the public half of a key as one line."""
    from cryptography.hazmat.primitives import serialization as form

    return key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH).decode()


def check_public_key(text: str) -> str:
    """Return a public key as one line without its comment; raises ``UsageError`` for anything else."""
    # OpenSSH puts a comment, often user@host, in third place; it belongs neither into a package nor on a screen.
    line = " ".join(text.split()[:2])
    if PUBLIC_KEY.fullmatch(line) is None:
        raise UsageError(
            "this is not a public key: a public key looks like `ssh-ed25519 AAAAC3...`, as `keys show` prints"
        )
    return line


def fingerprint(public_key: str) -> str:
    """Return the fingerprint of a public key, as ``ssh-keygen -l`` prints it: what two people compare by telephone."""
    digest = hashlib.sha256(base64.b64decode(public_key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def trust(name: str, public_key: str) -> None:
    """Give a public key a name on this person's screens.

    Raises ``UsageError`` for an unfit name, and for a name or key that stands for another already.
    """
    key = check_public_key(public_key)
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"{name!r:.80} cannot name a key: use at most 80 letters, digits and . _ @ + -")
    with _alone():
        names = trusted_names()
        if names.get(key) == name:
            return
        # Names that differ in their capitals alone would be taken for each other on a screen.
        if key in names or name.casefold() in map(str.casefold, names.values()):
            raise UsageError(
                f"{name} or this key is on the list already, with another partner: take the line out of {_trusted_path()} first"
            )
        lines = [f"{named} {known}\n" for known, named in {**names, key: name}.items()]
        replace_file(_trusted_path(), "".join(lines).encode())


@contextmanager
def _alone() -> Iterator[None]:
    """Make the folder of the keys and hold its lock: of two lists written at once, one would be lost."""
    folder = config_folder()
    try:
        private_folder(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(folder, error.strerror) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def trusted_names() -> dict[str, str]:
    """Return the names of trusted keys, by public key; raises ``UsageError`` for a list that is damaged."""
    path = _trusted_path()
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"the list of trusted keys {path} cannot be read ({error.strerror})") from None
    names: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        name, _, key = line.strip().partition(" ")
        if not name or name.startswith("#"):
            continue
        if _NAME.fullmatch(name) is None or PUBLIC_KEY.fullmatch(key) is None:
            raise UsageError(
                f"{path}, line {number}: a line is a name and a public key (`NAME ssh-ed25519 AAAAC3...`)"
            )
        names[key] = name
    return names


def _trusted_path() -> Path:
    return config_folder() / _TRUSTED


def signer_name(public_key: str) -> str | None:
    """Return the name that this person gave a key, ``your own key`` for theirs, or None for a stranger's."""
    names = trusted_names()
    return names.get(public_key) or ("your own key" if public_key == own_public_key() else None)


def signer_json(public_key: str | None) -> dict[str, str | None] | None:
    """Return who signed as JSON values; None for what nobody signed."""
    if public_key is None:
        return None
    return {"name": signer_name(public_key), "fingerprint": fingerprint(public_key)}


def signed_line(signer: Mapping[str, str | None] | None) -> str:
    """Return `signer_json` in words: a trusted name, an unknown key's fingerprint, or ``unsigned``."""
    if signer is None:
        return "unsigned"
    return f"signed by {signer['name'] or 'an unknown key (' + str(signer['fingerprint']) + ')'}"
