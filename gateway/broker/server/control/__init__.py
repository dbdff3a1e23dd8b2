"""The broker's side of the control sockets (docs/formats/control-socket.md)."""
