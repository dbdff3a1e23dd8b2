"""Every reading on disk, from its arrival to PUBCOMP.

Why this room exists: a reading that was accepted survives a power cut, and reaches the broker once.
Only this room decides what is durable, and releases what may be sent after that.
"""
