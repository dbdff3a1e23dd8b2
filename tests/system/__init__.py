"""The whole broker as its users meet it: a process, sockets, files and nothing else."""
