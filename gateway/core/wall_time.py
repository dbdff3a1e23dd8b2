"""Wall time as the core knows it: what the shell said at the beginning of the turn."""


class WallTime:
    """Milliseconds since 1970-01-01 UTC. Decides about expiry, which has to survive a restart."""

    def __init__(self) -> None:
        self.time_ms = 0
