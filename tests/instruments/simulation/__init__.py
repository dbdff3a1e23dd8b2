"""Deterministic simulation: the broker's own core, store, committer and event loop, with everything
around them made up from one seed: the clock, the network, the disk's moods, the clients.

Read `world` for how a run goes, `plan` for what can happen, `invariants` for what has to hold,
`mutants` for the proof that it can fail.
"""
