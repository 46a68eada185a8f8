"""``doctor``: what works here, what does not, and why."""

import asyncio
import os
import sys
from typing import Annotated, Any

import typer

from workbench.cli.common import command, emit_json


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command()(doctor)


@command
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Say which isolation level works and what refuses a better one, which keys are set, versions and files."""
    report = _report()
    if as_json:
        emit_json(report)
        return
    for name, value in report.items():
        if isinstance(value, dict):
            typer.echo(f"{name}:")
            for key, item in value.items():
                typer.echo(f"  {key:22} {item}")
        elif isinstance(value, list):
            typer.echo(f"{name}: {', '.join(map(str, value)) or 'none'}")
        else:
            typer.echo(f"{name}: {value}")


def _report() -> dict[str, Any]:
    from jupyter_client.kernelspec import KernelSpecManager

    from sandbox import Sandbox
    from workbench.engine.manifest import packages
    from workbench.settings import catalogue_of, home_from
    from workbench.version import __version__

    async def probe() -> tuple[str, list[str], str]:
        sandbox = Sandbox()
        try:
            found = await sandbox.probe()
        finally:
            await sandbox.aclose()
        return found.level, list(found.refused), found.memory

    level, refused, memory = asyncio.run(probe())
    names = {source.key.variable for source in catalogue_of(home_from(os.environ)).sources() if source.key}
    home = home_from(os.environ)
    cache = home / "cache.db"
    specs = KernelSpecManager().find_kernel_specs()
    return {
        "workbench": __version__,
        "python": sys.version.split()[0],
        "home": str(home),
        "isolation": level,
        "isolation_refused": refused,
        "memory": memory,
        "keys_set": sorted(name for name in names if os.environ.get(name)),
        "kernelspec": specs.get("analyst", "not installed: reinstall the package"),
        "cache_bytes": cache.stat().st_size if cache.is_file() else 0,
        "packages": packages(),
    }
