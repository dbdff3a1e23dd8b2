"""Deterministic simulation of the broker in a simulated world.

The broker's core, store, committer and event loop are real. The clock, the network, the disk's
behaviour and the clients are simulated from one seed. `world` describes a run, `plan` the events
that can happen, `invariants` the rules that must hold, and `mutants` the proof that the simulation
can fail.
"""
