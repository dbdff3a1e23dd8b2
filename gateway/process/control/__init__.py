"""The client for the broker's control sockets, and the encoding of their messages.

`control.sock` accepts every command, `status.sock` only read-only commands, and `operate.sock` the
commands of the status page. docs/formats/control-socket.md describes the protocol. This package is
for programs that send commands to the broker. It imports no other package of the gateway.
"""
