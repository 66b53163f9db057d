"""The drawings and figures of docs/architecture.md match the code."""

from __future__ import annotations

import re

import pytest

from tests.architecture import documented, figures, imports
from tests.architecture.sources import PACKAGES

pytestmark = pytest.mark.once

HINT = "Run `make figures`: the code has changed."
NUMBER = re.compile(r"\d[\d,]*")
# A table of lengths changes with each commit, and a difference of a few lines does not make it
# wrong.
TOLERANCE = 0.05
MIN_DIFFERENCE = 5


def test_the_drawings_are_those_of_the_imports() -> None:
    assert documented.read("pictures") == figures.pictures(), HINT


def test_the_knots_and_full_directories_are_those_of_the_code() -> None:
    assert documented.read("structure") == figures.structure(), HINT


def test_the_table_of_lengths_is_nearly_that_of_the_code() -> None:
    written, measured = documented.read("figures"), figures.table()

    assert NUMBER.sub("", written) == NUMBER.sub("", measured), HINT
    for old, new in zip(_numbers(written), _numbers(measured), strict=True):
        assert abs(old - new) <= max(MIN_DIFFERENCE, TOLERANCE * new), HINT


def _numbers(text: str) -> list[int]:
    return [int(number.replace(",", "")) for number in NUMBER.findall(text)]


def test_no_packages_of_an_app_import_each_other_in_a_circle() -> None:
    assert {app: imports.knots(imports.inside(app)) for app in PACKAGES} == {
        app: [] for app in PACKAGES
    }


def test_a_circle_is_found_and_drawn_whole() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}

    assert imports.knots(graph) == [["b", "c"]]
    assert "  b --> c\n  c --> b" in imports.picture(graph)


def test_an_import_that_others_imply_is_not_drawn() -> None:
    drawn = imports.picture({"a": {"b", "c"}, "b": {"c"}, "c": set()})

    assert "a --> b" in drawn
    assert "a --> c" not in drawn


def test_no_list_of_urls_is_too_long() -> None:
    assert figures.long_urls() == {}
