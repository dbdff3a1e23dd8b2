"""The admission policy of one listener."""

from gateway.broker.core.sessions.share import Share


class AdmissionPolicy:
    """Rules about the connections that a listener accepts, and their number."""

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
        """True if clients without a user are accepted."""
        self.share = share
        """The listener's limits and usage."""
        self.origins = origins
        """Origins whose pages may connect, in addition to those of the same host."""
        self.paths = paths
        """URL paths at which WebSocket is offered."""
        self.listener = listener
        """The listener's name, for access rules."""
        self.is_over = False
        """True if the listener is closed, or has another policy: connections with this one are
        ended."""
        self.is_local = is_local
        """True if only programs on this machine can reach it."""
