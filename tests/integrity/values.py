"""Generates details of every shape, as JSON and as typed blocks. All texts of the details are
different."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from inbox.rendering.json_text import Number
from inbox.rendering.shapes import AMOUNTS, SPEAKERS, TEXTS, TIMES

# These names have a meaning in blocks, or in the shapes that the page recognises.
OF_SHAPES = {*SPEAKERS, *TEXTS, *TIMES, *AMOUNTS, "currency", "before", "after"}
OF_BLOCKS = {
    *("type", "text", "title", "language", "before", "after", "columns", "rows", "items", "value"),
    *("url", "label", "options", "id", "recommended", "name", "kind", "multiple", "labels"),
    *("series", "values", "unit", "alt", "caption", "blob", "wake_blocks", "blocks"),
}
KINDS = ["markdown", "text", "code", "diff", "table", "chart", "kv", "json", "link", "choice"]
KINDS += ["field", "file"]

LETTERS = "abc XYZ.,:;!?<>&\"'/{}()=+üßЖ日🙂\u202e\u200b\u00ad\n\t"
UNIQUE = st.integers(10**7, 10**8 - 1)


def _letters(seed: int, letters: str, fewest: int, most: int) -> str:
    """Chooses letters by the number alone. Hypothesis takes a hundred times as long to draw each
    letter of a text, and this module draws thousands of texts for one example."""
    chance = Random(seed)  # noqa: S311 - nothing here is a secret
    return "".join(chance.choices(letters, k=chance.randint(fewest, most)))


WORDS = UNIQUE.map(lambda number: f"{_letters(number, LETTERS, 0, 12)}kw{number}")
LONG = st.builds("{} {}".format, st.integers(2, 400).map(lambda n: "lang " * n), WORDS)
LINE = UNIQUE.map(lambda number: f"k{number} {_letters(number, 'abcdefgh', 1, 20)}")
TIME = st.datetimes().map(lambda at: f"{at.isoformat()}Z")
URLS = st.builds("https://{}.example/{}?k{}".format, st.sampled_from("abc"), LINE, UNIQUE).map(
    lambda url: url.replace(" ", "")
)
NUMBERS = st.one_of(
    UNIQUE.map(str),
    st.builds("{}.{}".format, UNIQUE, st.sampled_from(["5", "50", "999", "1000", "0"])),
    st.builds("-{}".format, UNIQUE),
    st.builds("1.{}e{}".format, UNIQUE, st.integers(2, 300)),
    st.sampled_from(["-0", "0.10", "1E3", "10.999"]),
).map(Number)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, WORDS, WORDS, LONG, URLS, TIME)
NAMES = WORDS | LINE | st.builds("total_k{}".format, UNIQUE)
CURRENCIES = st.sampled_from(["EUR", "USD", "KWD", "eur", "€"])


def _turns(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draws lists that look like a conversation."""
    turn = st.fixed_dictionaries(
        {"from": WORDS, "said": WORDS | LONG}, optional={"at": TIME | WORDS, "note": inner}
    )
    return st.lists(turn, min_size=1, max_size=16)


def _money(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draws objects that look like an amount."""
    amount = NUMBERS | NUMBERS.map(str) | WORDS
    return st.fixed_dictionaries(
        {"currency": CURRENCIES | WORDS},
        optional={"amount": amount, "value": amount, "note": inner},
    )


def _rows(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draws lists of objects with the same names, and perhaps one more member."""
    names = st.lists(LINE, min_size=2, max_size=7, unique=True)
    row = SCALARS | inner
    return names.flatmap(
        lambda names: st.lists(
            st.fixed_dictionaries(dict.fromkeys(names, row), optional={"more": inner}),
            min_size=2,
            max_size=15,
        )
    )


def _changes(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draws objects with a before and an after."""
    lines = st.lists(LINE, max_size=30).map("\n".join)
    side = lines | inner
    return st.fixed_dictionaries({"before": side, "after": side}, optional={"note": inner})


VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=16),
        st.dictionaries(NAMES, inner, max_size=8),
        _turns(inner),
        _money(inner),
        _rows(inner),
        _changes(inner),
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES | st.sampled_from(sorted(OF_SHAPES)), VALUES, max_size=8)

OPTION = st.fixed_dictionaries(
    {"id": LINE, "label": WORDS | LONG},
    optional={"text": WORDS | LONG | VALUES, "recommended": st.booleans(), "command": VALUES},
)


def _a(kind: str, needed: dict[str, Any], /, **optional: Any) -> st.SearchStrategy[Any]:
    """Draws blocks of one kind, correct ones and some with members that no block should have."""
    return st.fixed_dictionaries(
        {"type": st.just(kind), **needed},
        optional={"title": WORDS | LONG | VALUES, "command": VALUES, **optional},
    )


CELLS = st.lists(SCALARS | VALUES, max_size=5)


def _charts() -> st.SearchStrategy[Any]:
    number = st.integers(10**7, 10**8).map(lambda number: Number(str(number)))

    def of_length(count: int) -> st.SearchStrategy[Any]:
        values = st.lists(st.none() | number, min_size=count, max_size=count)
        series = st.fixed_dictionaries({"name": WORDS, "values": values}, optional={"note": VALUES})
        return _a(
            "chart",
            {
                "kind": st.sampled_from(["line", "bar"]),
                "labels": st.lists(WORDS | number, min_size=count, max_size=count),
                "series": st.lists(series, min_size=1, max_size=3),
            },
            unit=LINE | VALUES,
        )

    return st.integers(1, 90).flatmap(of_length)


GOOD_BLOCKS = st.one_of(
    _a("markdown", {"text": LINE}),
    _a("text", {"text": WORDS | LONG}),
    _a("code", {"text": WORDS | LONG}, language=st.sampled_from(["py", "no language"]) | VALUES),
    _a("diff", {"text": WORDS}, before=VALUES),
    _a("diff", {"before": VALUES, "after": VALUES}),
    _a("table", {"columns": CELLS, "rows": st.lists(CELLS, max_size=15)}),
    _charts(),
    _a("kv", {"items": OBJECTS}),
    _a("json", {"value": VALUES}),
    _a("link", {"url": URLS}, label=WORDS | VALUES),
    _a("file", {"blob": LINE, "name": WORDS}),
    _a("image", {"blob": LINE, "alt": WORDS}, caption=WORDS | LONG | VALUES),
    _a(
        "choice",
        {"options": st.lists(OPTION, min_size=1, max_size=4)},
        name=LINE,
        label=WORDS | VALUES,
        multiple=st.booleans(),
    ),
    _a(
        "field",
        {"name": LINE},
        label=WORDS | VALUES,
        kind=st.sampled_from(["text", "long", "number", "boolean"]) | VALUES,
        value=SCALARS | VALUES,
    ),
)
OTHER_BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | LINE},
    optional=dict.fromkeys(sorted(OF_BLOCKS - {"type", "wake_blocks", "blocks"}), VALUES),
)
BLOCKS = GOOD_BLOCKS | GOOD_BLOCKS | OTHER_BLOCKS | VALUES
WITH_BLOCKS = st.builds(
    lambda beside, blocks: {**beside, "wake_blocks": Number("1"), "blocks": blocks},
    st.dictionaries(st.sampled_from(["text", "proposal", "command", "amount"]), VALUES, max_size=3),
    st.lists(BLOCKS, max_size=5),
)
