"""Readings: values with name, unit, time and number, and their payloads in SenML.

Readings have one form, whatever protocol they came in
(docs/formats/readings.md).
"""
