"""The demo claim by any real model, printed call by call, with a verdict: what a scripted server cannot show.

Two leaves, four steps each, real kernels, the embedded data, one hour at most. A leaf that does not conclude is a result like any
other, with its cause; nothing (no grammar, no reply put into the model's mouth) forces an answer.

Run: ``make model-check MODEL=openai/NAME [API_BASE=URL]``, or ``make model-check MODEL_FILE=x.gguf`` for a file that llama.cpp
reads (the extra ``local-model``; it is served on the loopback by a process that ends with the check).
"""

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from proxies.asof.clock import Cutoff
from workbench.engine.assembly import open_engine
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.progress import progress_line
from workbench.engine.record.run_files import put_tree
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.errors import UsageError, WorkbenchError
from workbench.models.base import Model, ModelReply, ModelRequest
from workbench.models.errors import ModelError
from workbench.models.roles import open_models
from workbench.offline.examples import EXAMPLE_CUTOFF, EXAMPLES
from workbench.propositions import Tree
from workbench.reports.note_page import write_report
from workbench.store import Store, StoredEvent
from workbench.store import events as ev
from workbench.terminal import printable

LEAVES = 2
STEPS = 4
MINUTES = 60.0
#: Seconds without a token: a prompt of some thousand tokens takes a small machine minutes before the first of them.
SILENCE = 900.0
_STARTS_IN = 300.0


class Watched:
    """A model whose calls are printed as they end: who asked, how long it took, how it ended, how its reply begins."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = model.name
        self.calls = 0
        self.complaints = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        number, began = self.calls, time.monotonic()
        last = request.messages[-1].content
        again = "could not be used: " in last or "cannot be used: " in last
        self.complaints += again
        try:
            reply = await self._model.complete(request)
        except ModelError as error:
            _say(f"call {number:2} {_who(request)} {time.monotonic() - began:6.0f} s  no reply: {error}")
            raise
        usage = reply.usage
        _say(
            f"call {number:2} {_who(request)} {time.monotonic() - began:6.0f} s  {usage.input_tokens or 0:6,} tokens in"
            f" {usage.output_tokens or 0:5,} out  {reply.finish}"
        )
        # The first request of a dialogue is the prompt itself; later ones show outputs or say what was amiss.
        if len(request.messages) > 2:
            _say(f"        {'asked again' if again else 'asked'}: {_line(last)}")
        _say(f"        reply: {_line(reply.text) or '(no text)'}")
        for call in reply.tool_calls:
            _say(f"        calls {call.name}({_line(str(call.arguments))})")
        for note in reply.notes:
            _say(f"        note: {note}")
        return reply


def _who(request: ModelRequest) -> str:
    # The analyzer's dialogue is about its whole tree.
    node = request.nodes[0].id if len(request.nodes) == 1 else "P0"
    return f"{node:4} {request.stage:9}"


def _line(text: str) -> str:
    return " ".join(text.split())[:240]


def _say(text: str) -> None:
    print(printable(text, keep=""), flush=True)


def show(state: RunState, stored: StoredEvent) -> None:
    """Print what a run makes of the replies; the calls themselves print themselves."""
    if not isinstance(stored.event, ev.LeafStep) and (line := progress_line(state, stored)) is not None:
        _say(line)
    if isinstance(stored.event, ev.TreePlanned):
        for leaf in state.tree.leaves():
            _say(f"  {leaf}: {state.tree[leaf].statement}")


def settings_of(options: argparse.Namespace) -> RunSettings:
    """The run's settings: the product's, with the bounds of a check."""
    return with_preset(
        "product",
        model=options.model,
        api_base=options.api_base,
        max_leaves=LEAVES,
        max_proof_steps=STEPS,
        max_tokens=options.max_tokens,
        concurrency=1,
        budget_seconds=60 * options.minutes,
        timeout=SILENCE,
        isolation=options.isolation,
    )


async def check(options: argparse.Namespace, home: Path) -> bool:
    """Run the demo claim and print the verdict; True if every leaf and the root came to a probability."""
    store = Store(home)
    settings = settings_of(options)
    model = Watched(open_models(settings.model, **settings.model_options(os.environ)))
    began = time.monotonic()
    cause = ""
    try:
        async with open_engine(
            store,
            settings,
            environ=os.environ,
            isolation=options.isolation,
            model=model,
            listener=show,
            note=write_report,
        ) as engine:
            cutoff = Cutoff.parse(EXAMPLE_CUTOFF)
            run_id = new_run(store, EXAMPLES[0], cutoff, replace(settings, keyed=engine.keyed))
            _say(f"{settings.model}: {EXAMPLES[0]}, cutoff {EXAMPLE_CUTOFF}")
            try:
                planned = await engine.work(run_id, plan_only=True)
                if len(planned.tree.leaves()) > LEAVES:
                    store.append(
                        run_id,
                        ev.TreeEdited(tree=put_tree(store, first_leaves(planned.tree)), base_seq=planned.seq),
                    )
                    _say(f"  only the first {LEAVES} children of the claim are grounded")
                await engine.work(run_id)
            except WorkbenchError as error:
                cause = str(error)
            state = load_state(store, run_id)
    finally:
        store.close()
    minutes = (time.monotonic() - began) / 60
    _say(f"{model.calls} calls in {minutes:.0f} minutes, {model.complaints} of them asked again")
    for line in verdict(state, cause):
        _say(line)
    return state.finished


def first_leaves(tree: Tree) -> Tree:
    """The root with its first children alone, as leaves."""
    children = tree.root.children
    unwanted = [*children[LEAVES:], *(node for child in children[:LEAVES] for node in tree[child].children)]
    for node in unwanted:
        tree = tree.remove_node(node)
    return tree


def verdict(state: RunState, cause: str) -> Iterator[str]:
    """One line for the tree, each leaf and the root, then the verdict."""
    if not state.planned:
        yield f"verdict: no tree. {cause}"
        return
    for leaf in state.tree.leaves():
        p = state.tree[leaf].p
        trial = state.trial(leaf, 1)
        proof = {True: ", its proof verified", False: ", its proof NOT verified", None: ""}[trial.verified]
        what = f"p = {p:.3f}{proof}" if p is not None else f"no conclusion: {trial.failure or cause}"
        yield f"{leaf}: {what}"
    concluded = sum(state.tree[leaf].p is not None for leaf in state.tree.leaves())
    if state.finished:
        yield f"verdict: a whole run, p = {state.tree.root.p:.3f}"
    else:
        yield f"verdict: {concluded} of {len(state.tree.leaves())} leaves concluded, no probability of the claim. {cause}"


@contextmanager
def served(file: Path, *, threads: int, context: int, log: Path) -> Iterator[str]:
    """Serve a GGUF file on the loopback with llama-cpp-python's own server while the block runs; yield its address."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        sys.executable, "-m", "llama_cpp.server", "--model", str(file), "--host", "127.0.0.1", "--port", str(port),
        "--n_ctx", str(context), "--n_threads", str(threads), "--n_threads_batch", str(threads),
        "--interrupt_requests", "false",
    ]  # fmt: skip
    # The server prefers these two variables to its options; a HOST of the shell would open it to the network.
    environ = {**os.environ, "HOST": "127.0.0.1", "PORT": str(port)}
    with open(log, "wb") as out, subprocess.Popen(words, stdout=out, stderr=out, env=environ) as process:
        try:
            url = f"http://127.0.0.1:{port}/v1"
            patience = time.monotonic() + _STARTS_IN
            while not _answers(url):
                if process.poll() is not None or time.monotonic() > patience:
                    tail = log.read_text(errors="replace").strip().splitlines()[-3:]
                    raise UsageError(f"llama.cpp does not serve {file}: {' | '.join(tail) or 'no answer'}")
                time.sleep(0.5)
            yield url
            if (code := process.poll()) is not None:
                raise UsageError(f"llama.cpp ended by itself in the middle: {_end_of(code, log)}")
        finally:
            process.terminate()


def _end_of(code: int, log: Path) -> str:
    """How a server ended, in a line: by which signal, or by which last words."""
    if code >= 0:
        return " | ".join(log.read_text(errors="replace").strip().splitlines()[-3:]) or f"exit code {code}"
    name = signal.Signals(-code).name
    if name not in ("SIGSEGV", "SIGILL"):
        return name
    # Seen with matrix instructions that a virtual machine names and does not give.
    return (
        f"{name}: it was compiled for another processor; `make clean`, then install it with "
        "CMAKE_ARGS=-DGGML_NATIVE=OFF"
    )


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/models", timeout=5, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="make model-check", description=__doc__.partition("\n")[0])
    parser.add_argument("--model", help="provider/model as LiteLLM spells it")
    parser.add_argument("--api-base", help="base URL of an OpenAI-compatible server")
    parser.add_argument("--model-file", type=Path, help="a GGUF file, served by llama-cpp-python")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--max-tokens", type=int, default=1500, help="longest reply")
    parser.add_argument("--threads", type=int, default=2, help="of llama.cpp")
    parser.add_argument("--context", type=int, default=16_384, help="of llama.cpp, in tokens")
    parser.add_argument("--isolation", help="as for analyze")
    options = parser.parse_args()
    if (options.model is None) == (options.model_file is None):
        parser.error(
            "name MODEL=provider/name (with API_BASE=URL for a server of your own), or MODEL_FILE=x.gguf"
        )
    with tempfile.TemporaryDirectory(prefix="model-check-") as folder:
        home = Path(folder)
        server: AbstractContextManager[Any] = nullcontext(options.api_base)
        if options.model_file is not None:
            options.model = f"openai/{options.model_file.stem}"
            server = served(
                options.model_file.resolve(),
                threads=options.threads,
                context=options.context,
                log=home / "llama.log",
            )
        try:
            with server as options.api_base:
                return 0 if asyncio.run(check(options, home / "runs")) else 1
        except UsageError as error:
            _say(f"model-check: {error}")
            return 2


if __name__ == "__main__":
    sys.exit(main())
