"""The rules of MQTT: sessions, QoS 1 and 2, topics, retained messages, wills and limits.

The core is pure: it does no I/O, and imports no clock, socket, file, event loop, log or source of
randomness. Its input is events, such as received bytes, a lost connection or a due timer. Each
event states the time at which it happened. Its output is facts and packets. A fact is a change of
state that must survive a power cut. A packet that depends on a fact is sent only after the fact has
been stored durably.
"""
