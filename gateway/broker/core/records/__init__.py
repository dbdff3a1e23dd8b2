"""The records of a journal blob: layout, writing, reading, and replay after a restart."""
