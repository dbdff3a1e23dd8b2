"""Commands for the running broker, and the client of the broker's control socket."""
