"""State of sessions and connections in memory, without the rules that change the state."""
