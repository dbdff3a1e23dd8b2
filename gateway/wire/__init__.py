"""The wire: bytes to packets and packets to bytes, for MQTT 3.1, 3.1.1 and 5.0.

Why the room exists: whatever a peer sends, however it is cut into pieces, leaves here either as a
packet that keeps every rule of the standard that can be checked on the packet alone, or as one
``Malformed`` value that names what is wrong. What needs a session, a clock or a configuration
(is this client id taken, is that topic alias known) is decided in ``gateway.core``.

Pure: no clock, socket, file, asyncio, logging or randomness. Written so that mypyc compiles it
as it stands: plain classes with declared attributes, full types, no metaprogramming.
"""
