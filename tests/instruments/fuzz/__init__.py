"""Coverage-guided fuzzing: what no author thought of writing down as a test.

Two targets, each a function from bytes to nothing that raises where a promise is broken: `decoder`
(any bytes, read in any pieces) and `connection` (a program of bytes that drives the real broker on
the real store). `make fuzz` runs both; `test_fuzz.py` runs them for a few seconds, replays what was
found before, and shows on planted defects that the fuzzer finds what is there to be found.
"""
