"""What is half made and known to nobody else is ended where its making fails or is cancelled."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager


@asynccontextmanager
async def ended_on_failure(end: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Run the block; where it raises, or is cancelled, `end` is awaited before the exception goes on."""
    async with AsyncExitStack() as undo:
        undo.push_async_callback(end)
        yield
        undo.pop_all()
