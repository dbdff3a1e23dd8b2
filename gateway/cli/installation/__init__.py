"""Commands about this installation: its configuration, its identity, its version."""
