"""Events of the session log: a log page, the handshakes of a client, and REST."""
