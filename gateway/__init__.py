"""The gateway: a package for each process, the commands, and the code that the processes share."""
