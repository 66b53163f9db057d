"""Reads the results of an agent's command, as its connector reports them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from relay.models import Task
from relay.protocol.dialects import FOR_PEOPLE, Json, read_state
from relay.protocol.fields import Fields, InvalidParams
from relay.protocol.parts import read_parts
from wake.models import Delivery

HIGHEST_NUMBER = 2**31 - 1
MAX_ARTIFACTS = 1_000  # a task, and so a result, has at most this many
LONGEST_ASSUMPTION = 2_000
IRREVERSIBLE_PROCEEDS = (
    'An irreversible question cannot go ahead without an answer. Use "hold" or "abort", or leave '
    'on_timeout out, which means "hold".'
)
SHORTEST_WINDOW, LONGEST_WINDOW = 60, 604_800
SMALLEST_QUORUM, LARGEST_QUORUM = 2, 5
# The states in which a run may end. Only people and callers cancel.
ENDS = {
    Task.State.COMPLETED,
    Task.State.INPUT_REQUIRED,
    Task.State.AUTH_REQUIRED,
    Task.State.FAILED,
    Task.State.REJECTED,
}


@dataclass(frozen=True, slots=True)
class ReportedArtifact:
    """Holds an artifact, or a piece to add to an existing one. `is_last` means that no piece
    follows. A piece with a `number` may already have come as progress under that number."""

    artifact_id: str
    parts: list[Json]
    name: str = ""
    description: str = ""
    metadata: Json = field(default_factory=dict)
    append: bool = False
    is_last: bool = False
    number: int = 0


@dataclass(frozen=True, slots=True)
class RunResult:
    """Describes the end of a run. The agent's additions to its question are in `metadata`, under
    `wake`."""

    state: Task.State
    parts: list[Json] = field(default_factory=list)
    metadata: Json = field(default_factory=dict)
    artifacts: list[ReportedArtifact] = field(default_factory=list)
    is_direct: bool = False


def read_result(value: Json) -> RunResult:
    """Reads `{state, message{parts}|text, artifacts?, direct?, timeout_seconds?, assumption?,
    on_timeout?, priority?, quorum?, irreversible?}`. An invalid result becomes a failed run that
    gives the reason, because sending the same result again would not help."""
    try:
        return _read(Fields(value, "result"))
    except InvalidParams as reason:
        return failed(f"The agent's answer cannot be read: {reason}")


def failed(why: str) -> RunResult:
    return RunResult(Task.State.FAILED, [{"text": why}])


def read_artifact(given: Fields) -> ReportedArtifact:
    """Reads an artifact; raises InvalidParams."""
    return ReportedArtifact(
        artifact_id=given.id("artifactId") or str(uuid.uuid4()),
        parts=read_parts(given.get("parts"), given.path_of("parts")),
        name=given.text("name"),
        description=given.text("description"),
        metadata=given.object("metadata"),
        append=given.flag("append") or False,
        is_last=given.flag("lastChunk") or False,
        number=given.number("n", low=1, high=HIGHEST_NUMBER) or 0,
    )


def _read(result: Fields) -> RunResult:
    state = read_state(result.needed("state"))
    if state not in ENDS:
        raise result.wrong("state", f"Must be one of {', '.join(_names(ENDS))}.")
    parts, metadata = _message_of(result)
    direct = result.flag("direct") or False
    return RunResult(
        state=state,
        parts=parts,
        metadata=metadata | _of_the_question(result),
        artifacts=[
            _whole_or_piece(Fields(one, f"{result.path_of('artifacts')}[{number}]"))
            for number, one in enumerate(_artifacts_of(result))
        ],
        is_direct=direct and state == Task.State.COMPLETED and bool(parts),
    )


def _artifacts_of(result: Fields) -> list[Any]:
    """Returns the artifacts of a result in the form that was sent. Raises InvalidParams if one
    statement cannot store so many artifacts. Numbered pieces, which a result repeats, count as one
    artifact."""
    given = result.items("artifacts")
    known = {str(name) for one in given if (name := _piece_of(one))}
    others = sum(not _piece_of(one) for one in given)
    if max(len(known), others) > MAX_ARTIFACTS:
        raise result.wrong("artifacts", f"Must be at most {MAX_ARTIFACTS:,} artifacts.")
    return given


def _piece_of(given: Any) -> Any:
    """Returns the id of the artifact if this is a numbered piece; otherwise None."""
    if not isinstance(given, dict) or given.get("n") is None:
        return None
    return Fields(given).get("artifactId")


def _whole_or_piece(given: Fields) -> ReportedArtifact:
    """Reads an artifact of a result. The artifact is whole unless it is a numbered piece."""
    artifact = read_artifact(given)
    return artifact if artifact.number else replace(artifact, is_last=True)


def _message_of(result: Fields) -> tuple[list[Json], Json]:
    """Returns the parts and the metadata of the message. A plain `text` of any length becomes one
    part."""
    if result.get("message") is not None:
        message = result.inner("message")
        # Only Wake writes FOR_PEOPLE.
        metadata = {k: v for k, v in message.object("metadata").items() if k != FOR_PEOPLE}
        return read_parts(message.get("parts"), message.path_of("parts")), metadata
    text = result.get("text")
    if text is not None and not isinstance(text, str):
        raise result.wrong("text", "Must be a string.")
    return ([{"text": text}] if text else []), {}


def _of_the_question(result: Fields) -> Json:
    """Returns the agent's additions for the people who will be asked (docs/protocol.md, Fields).
    Invalid values are left out, because the question itself matters more. But raises InvalidParams
    for invalid values of fields that keep a single person from approving too quickly."""
    seconds, on_timeout = result.get("timeout_seconds"), result.get("on_timeout")
    assumption, priority = result.get("assumption"), result.get("priority")
    given: Json = {}
    if isinstance(seconds, int) and not isinstance(seconds, bool):
        given["timeout_seconds"] = max(SHORTEST_WINDOW, min(LONGEST_WINDOW, seconds))
    if isinstance(assumption, str) and assumption:
        given["assumption"] = assumption[:LONGEST_ASSUMPTION]
    if on_timeout in Delivery.OnTimeout.values:
        given["on_timeout"] = on_timeout
    is_irreversible = result.flag("irreversible")
    if is_irreversible and on_timeout == Delivery.OnTimeout.PROCEED:
        raise result.wrong("on_timeout", IRREVERSIBLE_PROCEEDS)
    if priority in Delivery.Priority.values:
        given["priority"] = priority
    if quorum := result.number("quorum", low=SMALLEST_QUORUM, high=LARGEST_QUORUM):
        given["quorum"] = quorum
    if is_irreversible:
        given["irreversible"] = True
    return {FOR_PEOPLE: given} if given else {}


def _names(states: Iterable[Any]) -> list[str]:
    return sorted(str(state) for state in states)
