"""Power cuts with the real processes, on a file system that loses data without an fsync."""
