"""Hooks run with both event loops that the broker runs on."""

from tests.broker.server.conftest import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
