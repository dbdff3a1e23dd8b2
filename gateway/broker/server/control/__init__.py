"""Control sockets of the broker, and the commands they accept (docs/formats/control-socket.md)."""
