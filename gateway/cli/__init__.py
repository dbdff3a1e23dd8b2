"""The command `oncegate`, with a subcommand for each gateway process and each operator task.

This package is the composition root. It reads settings from options, environment variables and the
configuration file, and passes them to the package that does the work. It reports a failure as one
line and an exit code (`gateway/cli/common/failures.py`). Each subcommand imports its package only
when it runs. Thus `--help` is fast, and a device needs only the dependencies of its own processes.

Each module defines a subcommand or a group of subcommands, and `application` registers them all.
The folders `services` and `supervision` run the gateway's processes. `control` and `serial` are for
operators, `access` is for users and certificates, and `installation` is about this machine.
`tables` works with the data that a fleet has uploaded. `tools` contains the load generator and the
audit.
"""
