"""The broker's end of the control sockets: the contract is docs/formats/control-socket.md."""
