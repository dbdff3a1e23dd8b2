"""A load generator for any MQTT broker: `oncegate bench`.

It must cost far less than the broker that it measures, so it does no work in Python for a single
message: bursts are built, verified and acknowledged as matrices of bytes, one row a message
(frames.py). Whatever is not the expected matrix is looked at one packet at a time, exactly. One
process, one thread, one epoll loop; of the broker it knows the wire format only.
"""
