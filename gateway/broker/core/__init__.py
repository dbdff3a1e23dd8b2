"""The rules of MQTT: sessions, QoS 1 and 2, topics, retained messages, wills and limits.

The core is pure: it does no I/O. Its inputs are events and the times at which they happened: bytes
arrived, a connection was lost, a timer is due, a batch is durable. Its outputs are facts, which are
changes of state that must survive a power cut, and bytes to send once these facts are durable. The
core imports no clock, socket, file, event loop, log or source of randomness.
"""
