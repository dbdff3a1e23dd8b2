"""The Delta tables: their columns, and the only code that writes to them."""
