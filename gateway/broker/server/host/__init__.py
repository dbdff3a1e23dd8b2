"""Interface to operating system and interpreter: clocks, memory, socket files."""
