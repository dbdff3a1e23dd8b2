"""Programs that examine the product as a whole. They have tests of their own.

- `simulation`: the broker with a simulated clock, network and disk, from a seed (`make simulate`).
- `powercut`: the real processes on a file system that loses unsynced writes (`make powercut`).
- `filling`: the whole gateway on a disk that is filled and emptied (`make fill`).
- `fuzz`: arbitrary bytes for decoder, journal and connections (`make fuzz`).
- `benchmarks`: speed, scale and attacks, compared with other brokers (`make bench`, `scale`,
  `hostile`).
"""
