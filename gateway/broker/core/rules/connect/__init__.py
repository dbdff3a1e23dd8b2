"""Rules for opening and closing connections and sessions: CONNECT, AUTH, DISCONNECT, limits."""
