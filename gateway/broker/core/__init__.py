"""The rules of MQTT: sessions, QoS 1 and 2, topics, retained messages, wills and limits.

The core is pure. Its inputs are events with their times: bytes arrived, a connection was lost, a
timer is due, a batch is durable. Its outputs are facts (recorded changes that must survive a power
cut), and bytes to send once these facts are durable. The core imports no clock, socket, file, event
loop, log or source of randomness.
"""
