"""Tests that boot a built image in QEMU.

`make image-test` runs them; no other target collects them.
"""
