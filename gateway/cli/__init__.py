"""The command `oncegate`: one verb for each process of the gateway and for each task of its
operator.

This room is the composition root: it turns options, environment and file into settings, hands
them to the room that does the work, and turns what that room refuses into one line and an exit
code (`gateway/cli/failures.py`). Each verb imports its room when it runs, so that `--help` is quick
and a device needs only what its processes need.
"""
