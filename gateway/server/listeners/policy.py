"""The admission policy of one listener."""

from gateway.core.sessions.share import Share


class AdmissionPolicy:
    """Which connections a listener accepts, and how many."""

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
        """Clients are let in that name no user."""
        self.share = share
        """What the listener may have of all connections, and how many it has."""
        self.origins = origins
        """Origins whose pages may connect, beside those of the same host."""
        self.paths = paths
        """Paths of URLs at which WebSocket is offered."""
        self.listener = listener
        """The listener's name, for access rules."""
        self.is_over = False
        """The listener is closed, or has another policy: what comes by this one is ended."""
        self.is_local = is_local
        """Only programs on this machine reach it."""
