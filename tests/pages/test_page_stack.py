"""Deep calls of a page do not allocate memory for each call."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest
from django.http import HttpResponse

from pages.page import with_room

CALLS = 300
LEAVES = 6  # frames


def below(depth: int, function: Callable[[], object]) -> object:
    return function() if depth == 0 else below(depth - 1, function)


def call_often() -> None:
    for _ in range(CALLS):
        below(LEAVES, int)


def page_faults_of(function: Callable[[], object]) -> int:
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    function()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_THREAD"), reason="only Linux counts by thread")
def test_no_depth_of_a_page_makes_calls_expensive() -> None:
    """Each call that needs a new chunk of the interpreter's stack causes a page fault."""

    def faults_at(depth: int) -> int:
        def view() -> HttpResponse:
            below(depth, call_often)
            return HttpResponse()

        return page_faults_of(lambda: with_room(view))

    faults = [faults_at(depth) for depth in range(0, 100, LEAVES - 1)]

    assert max(faults) < CALLS / 2
