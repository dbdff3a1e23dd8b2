"""The rules of MQTT: sessions, QoS 1 and 2, topics, retained messages, wills, limits.

The core is pure. Its inputs are events (bytes arrived, a connection was lost, a timer is due, a
batch is durable) and their time. Its outputs are facts (which must survive a power cut), and bytes
to send as soon as those facts are durable. It imports no clock, socket, file, event loop, log or
source of randomness.
"""
