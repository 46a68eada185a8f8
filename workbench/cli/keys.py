"""``keys``: the key that signs this person's packages, and the names of other people's."""

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.common import command, echo, emit_json
from workbench.engine.keys import (
    check_public_key,
    fingerprint,
    key_path,
    new_key,
    own_public_key,
    trusted_names,
)
from workbench.engine.keys import trust as remember

keys = typer.Typer(
    no_args_is_help=True, help="The key that signs your packages, and whose keys you trust by name."
)


@keys.command("new")
@command
def new() -> None:
    """Make your signing key and print its public half; give that to whoever is to know your packages."""
    public = new_key()
    echo(public)
    echo(f"fingerprint {fingerprint(public)}; the key itself is in {key_path()}, for you alone")


@keys.command("show")
@command
def show(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Print your public key and the keys you trust, with their fingerprints."""
    own, names = own_public_key(), trusted_names()
    if as_json:
        rows = [{"name": name, "key": key, "fingerprint": fingerprint(key)} for key, name in names.items()]
        mine = None if own is None else {"key": own, "fingerprint": fingerprint(own)}
        emit_json({"own": mine, "trusted": rows})
        return
    echo(f"yours: {own}  {fingerprint(own)}" if own else "you have no key: `workbench keys new` makes one")
    for key, name in names.items():
        echo(f"{name}: {key}  {fingerprint(key)}")


@keys.command("trust")
@command
def trust(
    name: Annotated[str, typer.Argument(help="What to call them on your screens.")],
    key: Annotated[str, typer.Argument(help="Their public key in quotes, or a file that holds it.")],
) -> None:
    """Give somebody's public key a name; compare its fingerprint with them first. No package is sealed less for it."""
    # A key in quotes is not looked up as a file; errors="replace" leaves it to the check to say that a file holds no key.
    text = key if key.startswith("ssh-") or not Path(key).is_file() else Path(key).read_text(errors="replace")
    public = check_public_key(text)
    remember(name, public)
    echo(f"{name}: {fingerprint(public)}")
