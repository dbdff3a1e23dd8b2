"""The control sockets' messages, and the one client of them.

`control.sock` takes every command, `status.sock` those that only read, `operate.sock` the page's;
the contract is
docs/formats/control-socket.md. A ground room for the programs beside the broker: it imports no
other room.
"""
