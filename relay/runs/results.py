"""Reads what an agent's command returned, as its connector reports it."""

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
ARTIFACTS_AT_MOST = 1_000  # of a task, and so of a result
LONGEST_ASSUMPTION = 2_000
IRREVERSIBLE_PROCEEDS = (
    'An irreversible question cannot go ahead without an answer. Use "hold" or "abort", or leave '
    'on_timeout out, which means "hold".'
)
SHORTEST_WINDOW, LONGEST_WINDOW = 60, 604_800
SMALLEST_QUORUM, LARGEST_QUORUM = 2, 5
# The states that a run may end with; only people and callers cancel.
ENDS = {
    Task.State.COMPLETED,
    Task.State.INPUT_REQUIRED,
    Task.State.AUTH_REQUIRED,
    Task.State.FAILED,
    Task.State.REJECTED,
}


@dataclass(frozen=True, slots=True)
class ReportedArtifact:
    """Holds an artifact, or a piece to add to one that is there. `is_last` says that no piece
    follows. A piece with a `number` may have come as progress under that number."""

    artifact_id: str
    parts: list[Json]
    name: str = ""
    description: str = ""
    metadata: Json = field(default_factory=dict)
    append: bool = False
    is_last: bool = False
    number: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Describes the end of a run. What the agent adds about its own question is in `metadata`,
    under `wake`."""

    state: Task.State
    parts: list[Json] = field(default_factory=list)
    metadata: Json = field(default_factory=dict)
    artifacts: list[ReportedArtifact] = field(default_factory=list)
    is_direct: bool = False


def read_result(value: Json) -> Outcome:
    """Reads `{state, message{parts}|text, artifacts?, direct?, timeout_seconds?, assumption?,
    on_timeout?, priority?, quorum?, irreversible?}`. An invalid result becomes a failed run that
    says why, because sending it again would not change it."""
    try:
        return _read(Fields(value, "result"))
    except InvalidParams as reason:
        return failed(f"The agent's answer cannot be read: {reason}")


def failed(why: str) -> Outcome:
    return Outcome(Task.State.FAILED, [{"text": why}])


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


def _read(result: Fields) -> Outcome:
    state = read_state(result.needed("state"))
    if state not in ENDS:
        raise result.wrong("state", f"Must be one of {', '.join(_names(ENDS))}.")
    parts, metadata = _message_of(result)
    direct = result.flag("direct") or False
    return Outcome(
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
    """Returns the artifacts of a result as they are given; raises InvalidParams if there are more
    than one statement can store. Numbered pieces, which a result repeats, count by their
    artifact."""
    given = result.items("artifacts")
    known = {str(name) for one in given if (name := _piece_of(one))}
    others = sum(not _piece_of(one) for one in given)
    if max(len(known), others) > ARTIFACTS_AT_MOST:
        raise result.wrong("artifacts", f"Must be at most {ARTIFACTS_AT_MOST:,} artifacts.")
    return given


def _piece_of(given: Any) -> Any:
    """Returns the id of the artifact that this is a numbered piece of; None if it is not one."""
    if not isinstance(given, dict) or given.get("n") is None:
        return None
    return Fields(given).get("artifactId")


def _whole_or_piece(given: Fields) -> ReportedArtifact:
    """Reads an artifact of a result, which is whole unless it is a numbered piece."""
    artifact = read_artifact(given)
    return artifact if artifact.number else replace(artifact, is_last=True)


def _message_of(result: Fields) -> tuple[list[Json], Json]:
    """Returns the parts and the metadata of the message. A bare `text` becomes one part, of any
    length."""
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
    """Returns what the agent adds for the people who will be asked (docs/protocol.md, Fields).
    Invalid values are left out, because the question itself matters more, but for those without
    which a single person might approve too quickly: raises InvalidParams."""
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
