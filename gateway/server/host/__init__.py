"""What the broker asks of the system and the interpreter under it: clocks, memory, socket files."""
