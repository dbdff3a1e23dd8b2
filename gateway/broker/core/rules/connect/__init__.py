"""Rules for how connections and sessions begin and end: CONNECT, AUTH, DISCONNECT, limits."""
