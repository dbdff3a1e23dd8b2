"""Load generator for any MQTT broker: `oncegate bench`.

It must use far less CPU than the broker that it measures, so no Python code runs for a single
message. Bursts of messages are built, verified and acknowledged as matrices of bytes with one row
per message (frames.py). Received bytes that differ from the expected matrix are decoded packet by
packet. The load generator uses one process, one thread and one epoll loop. Of the broker's code it
only uses the wire format.
"""
