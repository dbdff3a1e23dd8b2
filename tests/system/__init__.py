"""Black-box tests of the whole broker: a process, sockets and files, as its users meet them."""
