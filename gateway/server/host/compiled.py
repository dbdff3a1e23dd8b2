"""Detection of the running build of `gateway.wire` and `gateway.core`: compiled or plain Python."""

from types import FunctionType
from typing import Final

from gateway.core.sessions.session import Session

COMPILED: Final = not isinstance(Session.__init__, FunctionType)
