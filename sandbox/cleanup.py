"""Cleanup of objects that no caller owns yet."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager


@asynccontextmanager
async def cleanup_on_error(cleanup: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Await ``cleanup`` if the block raises or is cancelled; use it while an object exists that no caller owns yet."""
    async with AsyncExitStack() as stack:
        stack.push_async_callback(cleanup)
        yield
        stack.pop_all()
