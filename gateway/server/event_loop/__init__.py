"""After everything that happened: what the core has to say leaves, and the next batch begins."""
