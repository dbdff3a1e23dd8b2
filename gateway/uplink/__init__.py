"""The uplink: carries messages between this gateway's broker and an upstream broker, exactly once.

A fleet whose gateways are connected to a clustered broker needs each QoS 2 message exactly once,
despite failing links and killed processes. The uplink is an MQTT client of both brokers and runs in
a process of its own. It communicates with this gateway's broker only in MQTT packets.
"""
