"""Messages of the control sockets, and the client for them.

`control.sock` accepts every command, `status.sock` only those that read, and `operate.sock` those
of the status page. docs/formats/control-socket.md describes the protocol. Programs other than the
broker use this package, which imports no other package of the gateway.
"""
