"""Sessions and connections: what a client has here, in memory and without rules."""
