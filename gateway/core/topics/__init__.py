"""Topic names and topic filters: which subscriptions and retained messages match (4.7)."""
