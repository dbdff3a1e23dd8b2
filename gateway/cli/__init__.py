"""The command `oncegate`: a subcommand for each process of the gateway and each task of its
operator.

This package is the composition root. It turns options, environment and configuration file into
settings, passes them to the package that does the work, and turns a refusal into one line and an
exit code (`gateway/cli/common/failures.py`). Each subcommand imports its package when it runs, so
that `--help` is fast and a device only needs the dependencies of its own processes.

A module is a subcommand or a group of them, and `application` has them all. Their folders:
`services` and `supervision` run the gateway's processes; `control` and `serial` are for operators;
`access` is for users and certificates; `installation` is for this machine; `tables` reads what a
fleet has uploaded; `tools` measures and proves.
"""
