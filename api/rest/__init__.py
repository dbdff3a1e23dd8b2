"""The REST interface for programs: one module for each group of routes, and `/metrics`."""
