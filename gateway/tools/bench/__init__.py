"""A load generator for any MQTT broker: `oncegate bench`.

It must use far less CPU than the broker that it measures, so no Python code runs for a single
message: bursts are built, verified and acknowledged as matrices of bytes with one row per message
(frames.py). Data that differs from the expected matrix is decoded packet by packet. It uses one
process, one thread and one epoll loop, and knows only the wire format of the broker.
"""
