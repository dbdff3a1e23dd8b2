"""The client for the broker's control sockets, and the encoding of their messages.

`control.sock` accepts all commands, `status.sock` only read-only commands, and `operate.sock` the
commands of the status page. docs/formats/control-socket.md describes the protocol. Programs that
send commands to the broker use this package. It imports no other package of the gateway.
"""
