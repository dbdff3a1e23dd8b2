"""Exports the broker's journal to sealed segment files in log/sealed."""
