"""Encoding and decoding of packets of MQTT 3.1, 3.1.1 and 5.0.

Whatever a peer sends, in pieces of any size, becomes either a packet that follows every rule of the
standard that can be checked on the packet alone, or one ``Malformed`` value that names what is
wrong. Rules that need a session, a clock or the configuration (such as whether a client id is in
use or a topic alias is known) are checked in ``gateway.broker.core``.

Pure: no clock, socket, file, asyncio, logging or randomness. Written so that mypyc can compile it
unchanged: plain classes with declared attributes, full types, no metaprogramming.
"""
