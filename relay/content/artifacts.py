"""Selects the artifacts of an answer. Loads no more content than one answer can hold, because a
task may have 100 MB of artifacts.

An artifact that does not fit has one part, a signed link to its JSON (relay/content/blobs.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from database.encrypted_columns import length_of
from relay.content.blobs import url_of_artifact
from relay.content.compact_json import dumps
from relay.models import Artifact, Task

# In characters of JSON, for all tasks of an answer together.
LONGEST = 20_000_000


def of_tasks(tasks: Sequence[Task], longest: int | None = None) -> dict[UUID, list[Artifact]]:
    """Returns the artifacts of these tasks, oldest first, in one query, or in three if some of
    them do not fit."""
    longest = LONGEST if longest is None else longest
    artifacts: dict[UUID, list[Artifact]] = defaultdict(list)
    rows = Artifact.objects.filter(task__in=tasks)
    if sum(task.stored_bytes for task in tasks) > longest:
        fitting = set(_fitting(tasks, longest))
        left_out = rows.exclude(pk__in=fitting).defer("parts_json", "metadata_json")
        rows = rows.filter(pk__in=fitting)
        for artifact in left_out:
            artifact.parts_json, artifact.metadata_json = dumps([_link(artifact)]), ""
            artifacts[artifact.task_id].append(artifact)
    for artifact in rows:
        artifacts[artifact.task_id].append(artifact)
    for of_task in artifacts.values():
        of_task.sort(key=lambda artifact: artifact.pk)
    return artifacts


def _fitting(tasks: Sequence[Task], longest: int) -> list[int]:
    """Returns the ids of the artifacts that fit, oldest first."""
    chars = length_of("parts_json") + length_of("metadata_json")
    sizes = Artifact.objects.filter(task__in=tasks).values_list("pk", chars)
    fitting, size = [], 0
    for pk, length in sizes:
        size += length
        if size > longest:
            break
        fitting.append(pk)
    return fitting


def _link(artifact: Artifact) -> dict[str, str]:
    name = f"{artifact.artifact_id}.json"
    return {"url": url_of_artifact(artifact), "mediaType": "application/json", "filename": name}
