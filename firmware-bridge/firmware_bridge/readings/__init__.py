"""What a reading is: a value with its name, unit, time and number, and its payload in SenML.

Why this room exists: readings have one form, whatever protocol they came in
(docs/formats/readings.md).
"""
