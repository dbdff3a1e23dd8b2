"""Events of the session log: the log page, the handshakes of one client, and REST routes."""
