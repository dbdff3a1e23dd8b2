"""Encoding and decoding of packets of MQTT 3.1, 3.1.1 and 5.0.

The decoder accepts anything that a peer sends, in pieces of any size. The result is either packets
that follow every rule of the standard that can be checked on the packet alone, or one ``Malformed``
value that describes the first mistake. Rules that need a session, a clock or the configuration are
checked in ``gateway.broker.core``, for example that a topic alias is known.

The package is pure: it uses no clock, socket, file, asyncio, logging or randomness. mypyc can
compile it unchanged, because it has plain classes with declared attributes, full types and no
metaprogramming.
"""
