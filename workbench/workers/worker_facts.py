"""Compare a worker's facts with the owner's before it gets a job."""

from dataclasses import dataclass
from datetime import UTC, datetime

from proxies.broker import Broker
from sandbox import Sandbox
from sandbox.errors import SandboxError
from workbench.engine.manifest import code_hash
from workbench.engine.new_run import grounder_of
from workbench.engine.run_settings import RunSettings
from workbench.errors import UsageError
from workbench.version import __version__

#: Seconds by which a worker's clock may differ: a cutoff ``now`` and the age of cached data are read from it.
CLOCK_BOUND = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts that owner and worker must share. ``keys`` are names of sources; ``levels`` is empty if none is needed."""

    version: str
    code: str
    catalogue: str
    keys: tuple[str, ...]
    levels: tuple[str, ...] = ()
    grounder_problem: str | None = None


async def own_facts(broker: Broker, sandbox: Sandbox, settings: RunSettings, *, seal: bool) -> Facts:
    """Return the facts of this process; with ``seal`` the levels that work here are tried."""
    problem = None
    try:
        grounder_of(settings)
    except UsageError as error:
        problem = str(error)
    levels: tuple[str, ...] = ()
    if seal:
        try:
            levels = (await sandbox.probe()).available
        except SandboxError as error:
            problem = problem or str(error)
    return Facts(
        version=__version__,
        code=code_hash(),
        catalogue=broker.catalogue.fingerprint(),
        keys=tuple(sorted(broker.settings.keys)),
        levels=levels,
        grounder_problem=problem,
    )


def misfit(owner: Facts, worker: Facts, *, level: str | None, keyed: tuple[str, ...]) -> str | None:
    """Explain why a worker gets no job, in words that follow its name; None if it may have one."""
    if worker.version != owner.version:
        return f"has version {worker.version}, this is {owner.version}: install the same"
    if worker.code != owner.code:
        return f"has version {owner.version} from other sources: install the same"
    if worker.grounder_problem:
        return f"cannot collect evidence: {worker.grounder_problem}"
    if worker.catalogue != owner.catalogue:
        return "has another catalogue of data: copy the `catalogue` folder of WORKBENCH_HOME and install the same sources"
    if level is not None and level not in worker.levels:
        return f"cannot seal kernels at level {level} (it has {', '.join(worker.levels) or 'none'})"
    if lacking := sorted(set(keyed) - set(worker.keys)):
        return (
            f"lacks the keys of {', '.join(lacking)}, which the run reads with: set them where it is started"
        )
    return None


def clock_misfit(before: datetime, worker: datetime, after: datetime) -> str | None:
    """Explain how far a worker's clock is off, read between two readings of ours; None within the bound."""
    ahead = max((before - worker).total_seconds(), (worker - after).total_seconds())
    if ahead <= CLOCK_BOUND:
        return None
    return f"has a clock that is {ahead:.0f} s off (at most {CLOCK_BOUND:g}): set it by NTP"


def utc_now() -> str:
    """Return this machine's time; called on a worker."""
    return datetime.now(UTC).isoformat()
