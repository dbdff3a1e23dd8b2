"""Tests of the bridge: protocols as pure functions, real terminals and brokers, real kills."""
