"""Finds, opens, reads and polls serial ports, and reports their state.

Cables can be unplugged at any time, and sensors can send arbitrary bytes. A fault on one serial
line must not affect other lines, and must not lose readings that were already accepted.
"""
