"""The tests of hooks run with both event loops that the broker supports."""

from tests.broker.server.conftest import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
