"""The durability promise: nothing is said before it is on disk, one blob and one fsync a batch."""
