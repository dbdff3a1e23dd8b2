"""Export of the broker's journal to sealed segments in log/sealed."""
