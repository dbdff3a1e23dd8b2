"""Encoding and decoding of MQTT packets (versions 3.1, 3.1.1 and 5.0).

The decoder accepts any input, in pieces of any size. It returns packets that follow every rule of
the standard that can be checked on the packet alone. At the first mistake it stops, and stores a
``Malformed`` exception that describes the mistake. Rules that need a session, a clock or the
configuration are checked in ``gateway.broker.core``, for example that a topic alias is known.

The package is pure: it uses no clock, sockets, files, asyncio, logging or randomness. mypyc can
compile it unchanged, because it has plain classes with declared attributes, full types and no
metaprogramming.
"""
