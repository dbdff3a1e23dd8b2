"""Detects whether the running broker core is compiled or plain Python."""

from types import FunctionType
from typing import Final

from gateway.broker.core.sessions.session import Session

COMPILED: Final = not isinstance(Session.__init__, FunctionType)
