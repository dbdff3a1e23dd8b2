"""Load generator for any MQTT broker: `oncegate bench`.

It must use far less CPU than the broker that it measures. Messages are therefore built, verified
and acknowledged in bursts, without running Python code for each message. A burst is a matrix of
bytes with one row per message (frames.py). Only received bytes that differ from the expected matrix
are decoded packet by packet. The load generator uses one process, one thread and one epoll loop. It
shares only the wire format with the broker's code.
"""
