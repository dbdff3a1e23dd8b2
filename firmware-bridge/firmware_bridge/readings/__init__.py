"""Readings: named values with unit, time and sequence number, and their encoding in payloads.

Readings have the same form for all protocols (docs/formats/readings.md).
"""
