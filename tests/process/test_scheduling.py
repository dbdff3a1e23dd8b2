"""Time slices on a processor, as the kernel reports them."""

import os
import subprocess
import sys

from gateway.process.scheduling import SHORT_TURN_NANOSECONDS

KEEPS_TURNS = tuple(int(part) for part in os.uname().release.split(".")[:2]) >= (6, 12)
KEPT = SHORT_TURN_NANOSECONDS if KEEPS_TURNS else 0


def printed_by(program: str) -> list[int]:
    """Run a program in a process with usual time slices, and return the numbers that it prints."""
    given = "import os, subprocess, sys, threading\nfrom gateway.process.scheduling import *\n"
    given += f"take_usual_turns()\n{program}"
    run = subprocess.run(
        [sys.executable, "-c", given], check=True, capture_output=True, text=True, timeout=30
    )
    return [int(number) for number in run.stdout.split()]


def test_a_process_and_the_threads_that_it_starts_have_short_turns_and_its_niceness() -> None:
    program = """
os.nice(3)
take_short_turns()
print(turn_nanoseconds(), os.nice(0))
thread = threading.Thread(target=lambda: print(turn_nanoseconds()))
thread.start()
thread.join()
"""
    assert printed_by(program) == [KEPT, 3, KEPT]


def test_a_child_has_them_until_it_gives_them_up() -> None:
    child = (
        "from gateway.process.scheduling import *; print(turn_nanoseconds()); take_usual_turns()"
    )
    program = f"""
take_short_turns()
subprocess.run([sys.executable, "-c", {child + "; print(turn_nanoseconds())"!r}], check=True)
"""
    first, second = printed_by(program)
    assert first == KEPT
    assert second != SHORT_TURN_NANOSECONDS


def test_another_class_that_an_operator_has_chosen_is_kept() -> None:
    program = """
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
take_short_turns()
print(os.sched_getscheduler(0))
"""
    assert printed_by(program) == [os.SCHED_BATCH]


def test_what_the_system_refuses_is_an_error() -> None:
    program = """
if os.geteuid() == 0:
    os.setuid(65534)
os.getpriority = lambda *_: -20
try:
    take_short_turns()
except PermissionError:
    print(int(turn_nanoseconds() == SHORT_TURN_NANOSECONDS))
"""
    assert printed_by(program) == [0]
