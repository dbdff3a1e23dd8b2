"""The uplink: carries messages between this gateway's broker and an upstream broker, exactly once.

Why this room exists: a fleet of gateways behind a clustered broker needs each message once at
QoS 2, across a link that dies and processes that are killed. It is an MQTT client of both brokers,
in a process of its own: of this gateway's broker it knows the wire format and nothing else.
"""
