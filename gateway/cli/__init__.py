"""The command `oncegate`: a subcommand for each process of the gateway and each task of its
operator.

This package is the composition root. It turns options, environment and configuration file into
settings, passes them to the package that does the work, and turns a refusal into one line and an
exit code (`gateway/cli/failures.py`). Each subcommand imports its package when it runs, so that
`--help` is fast and a device only needs the dependencies of its own processes.
"""
