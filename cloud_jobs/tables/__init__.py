"""The Delta tables: their columns, and the one way to write to them."""
