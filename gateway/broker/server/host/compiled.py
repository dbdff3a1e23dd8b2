"""Detection of the running build of the core: compiled or plain Python."""

from types import FunctionType
from typing import Final

from gateway.broker.core.sessions.session import Session

COMPILED: Final = not isinstance(Session.__init__, FunctionType)
