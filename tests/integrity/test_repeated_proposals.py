"""The question of a hook used to print every argument three times, so that its end was easy to
miss. Now the page shows each argument once. The page still shows a proposal whole if the proposal
differs from the blocks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inbox.rendering.details import render
from tests.integrity.leaves import visible_text
from wake_client.hook import calls, questions

pytestmark = pytest.mark.once

BASH = {"command": "npm publish --tag k1", "description": "Publish it", "timeout": 600}
EDIT = {"file_path": "/srv/shop/a.py", "old_string": "price = 10k2", "new_string": "price = 12k3"}
KV = {"type": "kv", "items": {"to": "Alice", "from": "Bob"}}
CODE = {"type": "code", "text": "npm publish"}
DIFF = {"type": "diff", "before": "ten", "after": "twelve"}


def shown(blocks: list[Any], proposal: Any) -> str:
    rendered = render(json.dumps({"wake_blocks": 1, "blocks": blocks, "proposal": proposal}))
    assert rendered is not None
    assert rendered.has_all_text
    return visible_text(rendered.html)


@pytest.mark.parametrize(("tool", "arguments"), [("Bash", BASH), ("Edit", EDIT)])
def test_a_question_shows_each_argument_once(tool: str, arguments: dict[str, Any]) -> None:
    call = calls.Call("claude-code", "PreToolUse", "abc123", "/srv/shop", tool, arguments)

    rendered = render(json.dumps(questions.question(call).details))

    assert rendered is not None
    text = visible_text(rendered.html)
    assert f"The proposal has the values above:  {', '.join(arguments)}" in text
    assert "Sent beside" not in text
    last = str(list(arguments.values())[0 if tool == "Bash" else -1])
    assert text.count(last.split()[-1]) == 1


@pytest.mark.parametrize(
    ("blocks", "proposal"),
    [
        ([KV], {"to": "Bob", "from": "Alice"}),
        ([KV, {"type": "kv", "items": {"to": "Bob"}}], {"to": "Bob"}),
        ([KV], {"to": "Alice", "cc": "Mallory"}),
        ([CODE], {"command": "npm publish --force"}),
        ([CODE, CODE], {"command": "npm publish"}),
        ([CODE], {"command": "npm publish", "content": "npm publish"}),
        ([CODE], {"undo": "npm publish"}),
        ([DIFF], {"old_string": "twelve", "new_string": "ten"}),
        ([DIFF], {"new_string": "twelve"}),
        ([{"type": "kv", "items": {"all": 1}}], {"all": True}),
        ([{"type": "kv", "items": {"a": {"b": 1, "c": 2}}}], {"a": {"b": 2, "c": 1}}),
        ([KV], {}),
        ([KV], "Alice"),
    ],
)
def test_another_proposal_is_shown_whole(blocks: list[Any], proposal: Any) -> None:
    text = shown(blocks, proposal)

    assert "The proposal has the values above" not in text
    assert "Sent beside the blocks" in text


def test_a_proposal_is_shown_if_the_blocks_are_not_shown_whole() -> None:
    items = {f"a{number}": number for number in range(500)}
    details = {"wake_blocks": 1, "blocks": [{"type": "kv", "items": items}], "proposal": items}

    rendered = render(json.dumps(details))

    assert rendered is not None
    assert not rendered.has_all_text
    assert "The proposal has the values above" not in rendered.html
