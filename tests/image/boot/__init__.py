"""Boots a made image in QEMU. `make image-test` runs these; nothing else collects them."""
