"""Durability: nothing is sent before it is on disk, with one blob and one fsync per batch."""
