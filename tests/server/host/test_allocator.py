"""Memory that password checks took goes back to the system."""

import subprocess
import sys

CHECKS = """
import re, threading
from gateway.access.passwords import _HASHER
from gateway.server.host.allocator import return_large_blocks

def megabytes():
    with open("/proc/self/smaps_rollup") as file:
        return int(re.search(r"Pss_Anon: *(\\d+)", file.read())[1]) / 1024

return_large_blocks()
entry = _HASHER.hash("secret")
before = megabytes()

def check():
    for _ in range(3):
        assert _HASHER.verify(entry, "secret")

threads = [threading.Thread(target=check) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(megabytes() - before)
"""


def test_threads_that_checked_passwords_keep_nothing_of_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHECKS], capture_output=True, text=True, check=True, timeout=60
    )
    assert float(done.stdout) < 5, "each of two threads kept 19 MiB"
