"""The uplink forwards messages between this gateway's broker and an upstream broker.

Each QoS 2 message is delivered exactly once, even if a connection fails or a process is killed. The
uplink is an MQTT client of both brokers, and runs in a process of its own. Messages are exchanged
with the brokers only over MQTT.
"""
