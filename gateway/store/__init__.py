"""What must survive a power cut: the journal, and the state tables as its checkpoint, in SQLite.

One batch is one blob, one frame of the journal, one fsync. The tables follow in bounded steps; what
they lack after a cut is in the journal. The broker is the only writer of both.
"""
