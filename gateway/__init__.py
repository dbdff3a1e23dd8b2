"""The gateway's Python code.

It contains one package for each process, the commands, and the code that the processes share.
"""
