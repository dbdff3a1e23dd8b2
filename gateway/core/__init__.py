"""The rules of MQTT: sessions, QoS 1 and 2, topics, retained messages, wills, limits.

The core is pure. It receives what happened (bytes arrived, a connection was lost, a timer is due, a
batch is durable) and when, and answers with facts (what must survive a power cut) and bytes to
send once those facts are durable. It imports no clock, socket, file, event loop, log or randomness.
"""
