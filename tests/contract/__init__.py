"""Tests of what programs outside the project rely on, run with real programs."""
