"""Commands to the running broker, and the client of its control socket."""
