"""Records in the journal: layout, writing, reading, and replay after a restart."""
