"""Any text is a valid query, and a form can express the same."""

from __future__ import annotations

from datetime import date
from uuid import UUID

import pytest
from django.http import QueryDict
from hypothesis import assume, given
from hypothesis import strategies as st

from inbox.models.words import normalised
from inbox.search.query_language import FILTERS, KINDS, LONGEST, Query, Term, read, read_form

pytestmark = pytest.mark.once

PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from([f"{name}:" for name in FILTERS]),
    st.sampled_from(["type:output", "is:test", "after:2026-11", "before:2026-12-24", "by:sam"]),
    st.sampled_from(['"', "-", " ", "\u202e", "\x00", "\ud800", "“exact words”", "a:b", "is:"]),
)
TEXTS = st.lists(PIECES, max_size=30).map(" ".join) | st.lists(PIECES, max_size=30).map("".join)


INBOX = ("team", "agent", "type", "window")
HISTORY = ("team", "status", "agent", "by", "from", "to")


def form(values: dict[str, str]) -> QueryDict:
    data = QueryDict(mutable=True)
    data.update(values)
    return data


def test_the_example_of_the_manual_is_parsed() -> None:
    text = (
        "team:garden agent:research type:output is:expired is:held by:sam "
        "before:2026-11-01 after:2026-10-01 "
        "status:approved is:test is:late is:snoozed is:soon is:failed is:used thread:x "
        '"exact words" free words -negation'
    )

    query = read(text)

    assert query == Query(
        terms=(
            Term("exact words", is_exact=True),
            Term("free"),
            Term("words"),
            Term("negation", is_unwanted=True),
        ),
        team="garden",
        agent="research",
        type="output",
        status="approved",
        by="sam",
        thread="x",
        after=date(2026, 10, 1),
        before=date(2026, 11, 1),
        kinds=frozenset(KINDS),
    )
    assert query.notes == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Query()),
        ("TYPE:Output Is:TEST", Query(type="output", kinds=frozenset({"test"}))),
        ('agent:"research agent"', Query(agent="research agent")),
        ("“exact words”", Query(terms=(Term("exact words", is_exact=True),))),
        ('-"exact words"', Query(terms=(Term("exact words", is_exact=True, is_unwanted=True),))),
        ("after:2026 before:2026-02", Query(after=date(2026, 1, 1), before=date(2026, 2, 1))),
        ("follow-up", Query(terms=(Term("follow-up"),))),
        ("https://example.com/a", Query(terms=(Term("https://example.com/a"),))),
        ("agent:\u202erese\u200barch", Query(agent="research")),
        ("10:31", Query(terms=(Term("10:31"),))),
        ("thread:agent:", Query(thread="agent:")),
        ("is:later", Query(kinds=frozenset({"snoozed"}))),
    ],
)
def test_a_valid_query_has_no_message(text: str, expected: Query) -> None:
    assert (read(text), read(text).notes) == (expected, ())


@pytest.mark.parametrize(
    ("text", "expected", "note"),
    [
        ("type:song", Query(), "“type:song” was left out: a type is question, alert, output or"),
        (
            "is:good",
            Query(),
            "“is:good” was left out: it takes expired, failed, held, late, snoozed, soon, "
            "test or used.",
        ),
        ("before:soon", Query(), "a date is written 2026-11-01."),
        ("before:2026-02-30", Query(), "a date is written 2026-11-01."),
        ("after:٢٠٢٦-01-01", Query(), "a date is written 2026-11-01."),
        ("agent:", Query(), "“agent:” was left out: it has no value."),
        ('by:""', Query(), "it has no value."),
        (
            "agent:a agent:b",
            Query(agent="b"),
            "“agent:a” was left out, because agent: can be used only once.",
        ),
        ("-type:output", Query(), "only words can be excluded."),
        ("agnet:x", Query(terms=(Term("agnet:x"),)), "there is no filter agnet:"),
        ("+++", Query(), "“+++” contains no word to search for."),
        ('"never closed', Query(terms=(Term("never closed", is_exact=True),)), "stands alone"),
        ("after:2026-02 before:2026-01", read("after:2026-02 before:2026-01"), "No day is both"),
    ],
)
def test_an_unknown_part_of_a_query_is_reported(text: str, expected: Query, note: str) -> None:
    query = read(text)

    assert query == expected
    assert len(query.notes) == 1
    assert note in query.notes[0]


def test_a_query_of_ten_kilobytes_is_cut_with_a_message() -> None:
    query = read("word " * 2_000)

    assert len(query.terms) == 20
    assert query.notes == (
        "Only the first 1,000 characters were read.",
        "Only the first 20 words were searched for.",
    )


@given(TEXTS)
def test_every_text_is_a_query_that_can_be_shown_and_stored(text: str) -> None:
    query = read(text)

    assert len(query.notes) <= 5
    for written in [str(query), *query.notes]:
        written.encode()
        assert not set(written) & set("\x00\n\r\u202e\u2066\u200b")
    assert all(term.words for term in query.terms)


@given(TEXTS)
def test_a_formatted_query_parses_to_itself(text: str) -> None:
    query = read(text)
    assume(len(str(query)) <= LONGEST)

    assert read(str(query)) == query


@pytest.mark.parametrize("controls", [INBOX, HISTORY])
@given(TEXTS)
def test_a_form_and_its_text_are_the_same_query(controls: tuple[str, ...], text: str) -> None:
    query = read(text)
    assume(len(str(query)) <= LONGEST)

    assert read_form(form(query.as_form(controls))) == query


def test_a_typed_filter_sets_the_control_of_the_form() -> None:
    query = read("by:sam agent:research is:soon team:garden is:late report")

    assert query.as_form(INBOX) == {
        "q": "by:sam is:late report",
        "team": "garden",
        "agent": "research",
        "type": "",
        "window": "soon",
    }
    assert query.as_form(HISTORY)["q"] == "is:late is:soon report"


@given(st.dictionaries(st.sampled_from(["q", "window", "from", "to", *FILTERS]), TEXTS))
def test_every_form_is_a_query(values: dict[str, str]) -> None:
    query = read_form(form(values))
    assume(len(str(query)) <= LONGEST)

    assert read_form(form(query.as_form(HISTORY))) == query


def test_the_last_day_is_included_and_a_typed_filter_wins() -> None:
    data = form({"from": "2026-11-01", "to": "2026-11-30", "agent": "one", "q": "agent:two x"})

    query = read_form(data)

    assert str(query) == "agent:two after:2026-11-01 before:2026-12-01 x"
    assert query.notes == ("“agent:one” was left out, because agent: can be used only once.",)


@pytest.mark.parametrize(
    "text",
    [
        "6f1c8a52-0d1b-4a5e-9c1f-3f0a9f6f2d11",
        " 6F1C8A520D1B4A5E9C1F3F0A9F6F2D11 ",
        '"6f1c8a52-0d1b-4a5e-9c1f-3f0a9f6f2d11"',
        "https://wake.example.com/deliveries/6f1c8a52-0d1b-4a5e-9c1f-3f0a9f6f2d11/",
    ],
)
def test_a_pasted_id_or_address_means_that_delivery(text: str) -> None:
    assert read(text).delivery_id == UUID("6f1c8a52-0d1b-4a5e-9c1f-3f0a9f6f2d11")
    assert read(f"{text} and more").delivery_id is None


@pytest.mark.parametrize("mark", ["\u0301", "\u05b0", "\uff9e"])
def test_a_word_of_combining_marks_is_read_at_once(mark: str) -> None:
    """The time to sort the marks grows with the square of their number."""
    text = "café b" + f"{mark}\u0316" * 200_000 + " next"

    words = normalised(text)

    assert (words[0], words[1][0], words[-1]) == ("cafe", "b", "next")


@given(st.text(max_size=60))
def test_separate_words_stay_separate(text: str) -> None:
    words = normalised(text)

    assert normalised(" ".join(words)) == words
