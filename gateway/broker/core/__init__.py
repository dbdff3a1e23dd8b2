"""The rules of MQTT: sessions, QoS 1 and 2, topics, retained messages, wills and limits.

The core is pure: it does no I/O. Its inputs are events, each with the time at which it happened.
For example, bytes were received, a connection was lost, or a timer became due. The core outputs
facts, which are changes of state that must survive a power cut. The core also outputs bytes, which
are sent once the facts are stored durably. The core imports no clock, socket, file, event loop, log
or source of randomness.
"""
