"""Begin and end of connections and sessions: CONNECT, AUTH, DISCONNECT, limits, revoked rights."""
