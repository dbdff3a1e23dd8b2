"""Landed segment files become rows: listed, verified, written batch by batch, each step once."""
