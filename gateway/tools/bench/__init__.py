"""A load generator for any MQTT broker (`oncegate bench`).

The load generator must use far less CPU time than the broker that it measures. Messages are
therefore created, verified and acknowledged in bursts, without running Python code for each
message. A burst is a matrix of bytes with one row per message (frames.py). Packets are decoded one
by one only if the received bytes differ from the expected matrix. The load generator uses one
process, one thread and one epoll loop. From the broker's code it uses only `gateway.broker.wire`.
"""
