from __future__ import annotations

import errno
import logging
import os

import pytest

from gateway.uploader.faults import Fault, kind_of, sentence_of


def test_a_fault_is_logged_when_it_begins_when_its_cause_changes_and_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    fault = Fault("writing")
    fault.end()
    fault.begin("the disk is away", "disk")
    fault.begin("the disk is still away", "disk")
    fault.begin("the disk is full", "full")
    fault.end()
    fault.end()
    assert [record.getMessage() for record in caplog.records] == [
        "writing fails: the disk is away",
        "writing fails: the disk is full",
        "writing works again",
    ]


def test_the_status_shows_the_latest_sentence_and_since_when_it_has_been_failing() -> None:
    fault = Fault("writing")
    shown = [(fault.sentence, fault.since_ms)]
    fault.begin("the disk is away", "disk")
    began = fault.since_ms
    fault.show("3 files wait")
    shown.append((fault.sentence, fault.since_ms))
    fault.end()
    shown.append((fault.sentence, fault.since_ms))
    assert began is not None
    assert shown == [(None, None), ("3 files wait", began), (None, None)]


@pytest.mark.parametrize(
    ("problem", "ending"),
    [
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
            "free space or make the partition larger",
        ),
        (OSError(errno.EROFS, os.strerror(errno.EROFS)), "replace the card"),
        (OSError("odd"), "odd"),
        (OSError(), "OSError"),
    ],
)
def test_a_failure_is_a_sentence_with_its_fix(problem: Exception, ending: str) -> None:
    assert sentence_of(problem).endswith(ending)


def test_the_same_error_of_two_files_is_one_cause() -> None:
    one, other = (OSError(errno.EIO, "Input/output error", name) for name in ("a", "b"))
    assert kind_of(one) == kind_of(other) != kind_of(OSError(errno.ENOSPC, "full", "a"))
