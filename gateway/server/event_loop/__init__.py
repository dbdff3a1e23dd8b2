"""After everything that happened: what the core sends leaves, and the next batch begins."""
