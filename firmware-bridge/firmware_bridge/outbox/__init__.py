"""The outbox: stores each reading on disk until the broker has confirmed it with PUBCOMP.

An accepted reading survives a power cut and reaches the broker exactly once. Only this package
decides when a reading is durable, and when the packets about it may be sent.
"""
