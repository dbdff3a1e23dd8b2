"""What keeps the tables small and quick, and what takes refused segments up again."""
