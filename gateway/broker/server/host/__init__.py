"""Interface to the operating system and the interpreter: clocks, memory, threads, socket files."""
