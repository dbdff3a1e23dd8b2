"""Coverage-guided fuzzing, which finds inputs that no author thought of.

A target is a function that takes bytes and raises if a promise is broken. For example, `decoder`
reads any bytes in any pieces, and `connection` runs a program of bytes against the real broker and
store. `make fuzz` runs all targets. `test_fuzz.py` runs them for a few seconds, replays earlier
findings, and shows that the fuzzer finds planted defects.
"""
