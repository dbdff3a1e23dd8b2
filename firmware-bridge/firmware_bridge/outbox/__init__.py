"""The outbox: stores each reading on disk from the reading's arrival until the broker's PUBCOMP.

An accepted reading survives a power cut and reaches the broker exactly once. Only this package
decides when a reading is durable, and which packets may be sent after that.
"""
