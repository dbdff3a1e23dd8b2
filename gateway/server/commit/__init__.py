"""The durability promise: nothing is sent before it is on disk, one blob and one fsync a batch."""
