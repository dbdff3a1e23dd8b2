"""What examines the product as a whole, and is itself tested: not a room's tests, but programs.

- `simulation`: the broker under a made-up clock, network and disk, from a seed (`make simulate`).
- `powercut`: the real processes on a file system that forgets what was not synced
  (`make powercut`).
- `filling`: the whole gateway on a disk that is filled and emptied (`make fill`).
- `fuzz`: any bytes through decoder, journal and connections (`make fuzz`).
- `benchmarks`: speed, scale and attacks, beside other brokers (`make bench`, `scale`, `hostile`).
"""
