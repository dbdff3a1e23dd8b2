"""Rules for the start and end of connections and sessions: CONNECT, AUTH, DISCONNECT, limits."""
