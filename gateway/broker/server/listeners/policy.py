"""Defines the admission policy of a listener."""

from typing import Final

from gateway.broker.core.sessions.share import Share

WEBSOCKET_PATHS: Final = ("/mqtt", "/ws", "/")
"""Paths that are accepted if a listener has no `websocket_path`: default paths of clients and
common paths of other brokers."""


class AdmissionPolicy:
    """Rules for accepting connections to a listener, and limits on their number."""

    def __init__(
        self,
        *,
        anonymous: bool,
        share: Share,
        origins: tuple[str, ...] = (),
        paths: tuple[str, ...] = (),
        listener: str = "",
        is_local: bool = False,
    ) -> None:
        self.anonymous = anonymous
        """True if clients without a user name are accepted."""
        self.share = share
        """The limits and counters that all clients of the listener share."""
        self.origins = origins
        """Origins of web pages that may connect, in addition to pages from the same host."""
        self.paths = paths
        """URL paths at which WebSocket connections are accepted."""
        self.listener = listener
        """The listener's name, on which access rules may depend."""
        self.is_over = False
        """True if the listener was closed or got another policy. Connections with this policy must
        close."""
        self.is_local = is_local
        """True if only programs on this machine can connect to the listener."""
