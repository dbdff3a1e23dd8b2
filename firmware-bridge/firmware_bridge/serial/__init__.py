"""Finds, opens, reads and polls serial ports, and reports their state.

Cables are unplugged and sensors send arbitrary bytes. A fault on one serial line must not lose
readings that were accepted, and must not disturb another line.
"""
