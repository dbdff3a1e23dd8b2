"""What all tests share: whether they run against the core as source or compiled."""

import pytest

from gateway.server.host.compiled import COMPILED


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--compiled`: it would be no use to find nothing wrong with the wrong one."""
    parser.addoption("--compiled", action="store_true", help="refuse to run against the source")


def pytest_report_header(config: pytest.Config) -> str:
    """Say which one runs."""
    if config.getoption("--compiled") and not COMPILED:
        raise pytest.UsageError("--compiled, but gateway.core is plain Python: run make test")
    return f"gateway.core: {'compiled' if COMPILED else 'plain Python'}"
