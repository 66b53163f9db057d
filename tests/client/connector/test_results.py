"""The output of a command becomes the result of its run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wake_client.connector.results import read

PARTS = [{"type": "text", "text": "Which colour?"}]


def test_a_state_with_a_message_is_sent() -> None:
    answer = {"state": "input_required", "message": {"role": "agent", "parts": PARTS}}

    outcome = read(json.dumps(answer).encode(), 0)

    assert outcome == {**answer, "exit_code": 0}


def test_the_fields_of_a_question_are_sent_and_no_others() -> None:
    known = {
        "text": "Which colour?",
        "artifacts": [{"artifactId": "sketch", "parts": PARTS}],
        "timeout_seconds": 3600,
        "assumption": "Red.",
        "on_timeout": "proceed",
        "priority": "high",
        "quorum": 2,
        "irreversible": True,
    }

    outcome = read(json.dumps({"state": "input-required", **known, "type": "task"}).encode(), 0)

    assert outcome == {"state": "input_required", **known, "exit_code": 0}


@pytest.mark.parametrize(
    "text",
    ["Painted.", '{"colour": "red"}', '{"st', "[1, 2]", "grün", ""],
)
def test_other_output_is_the_text_of_a_completed_task(text: str) -> None:
    outcome = read(f"  {text}\n".encode(), 0)

    assert outcome == {"state": "completed", "text": text, "exit_code": 0}


ANSWER = {"state": "input_required", "text": "Which colour?"}


@pytest.mark.parametrize(
    "output",
    [
        f"Warning: the pot is old.\n{json.dumps(ANSWER)}",
        f"{json.dumps(ANSWER)}\nBye.",
        f'{{"level": "info"}}\n{json.dumps(ANSWER, indent=2)}\n{{"level": "info"}}\n',
        f'{{"state": "completed"}}\n{json.dumps(ANSWER)}',
        json.dumps(ANSWER | {"artifacts": []}, indent=0),
    ],
)
def test_the_last_object_with_a_state_is_the_answer(output: str) -> None:
    outcome = read(output.encode(), 0)

    assert (outcome["state"], outcome["text"]) == ("input_required", "Which colour?")


@pytest.mark.parametrize(
    "output", ['{"state": "completed"', "Done.\n{'state': 'completed', 'text': 'Red'}"]
)
def test_an_object_that_is_no_json_fails(output: str) -> None:
    outcome = read(output.encode(), 0)

    assert outcome["state"] == "failed"
    assert "not valid JSON" in outcome["text"]


def test_the_result_file_comes_before_what_is_printed() -> None:
    outcome = read(b'{"state": "failed"}', 0, json.dumps(ANSWER).encode())

    assert outcome == {**ANSWER, "exit_code": 0}


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    assert read(b"\xff!", 0)["text"] == "\N{REPLACEMENT CHARACTER}!"


@pytest.mark.parametrize("state", ["working", "canceled", "submitted", "", None, 7, {}])
def test_a_state_that_an_agent_may_not_set_fails(state: Any) -> None:
    outcome = read(json.dumps({"state": state, "text": "secret"}).encode(), 0)

    assert outcome["state"] == "failed"
    assert "secret" not in outcome["text"]


@pytest.mark.parametrize("output", ["Half a report", '{"state": "completed", "text": "All good"}'])
def test_another_exit_status_than_0_fails_without_showing_the_output(output: str) -> None:
    outcome = read(output.encode(), 3)

    assert outcome == {
        "state": "failed",
        "text": "The agent's command ended with status 3.",
        "exit_code": 3,
    }


def test_a_command_that_reports_failure_gives_its_own_reason() -> None:
    outcome = read(b'{"state": "failed", "text": "There is no paint."}', 1)

    assert outcome == {"state": "failed", "text": "There is no paint.", "exit_code": 1}
