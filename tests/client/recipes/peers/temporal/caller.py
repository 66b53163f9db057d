"""Runs the activities of the recipe as a worker of Temporal does, in Temporal's own environment for
tests. `start` asks people. `resume` repeats both activities, as after a crash. `replay` runs the
workflow with a history of all its steps."""

import asyncio
import base64
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory
from temporalio.testing import ActivityEnvironment
from temporalio.worker import Replayer

sys.path.insert(0, str(Path(os.environ["FOLDER"]).parent))

import refund

FOLDER = Path(os.environ["FOLDER"])
ARGUMENTS = {"order": "A-1042", "cents": 18_000}


def main(step: str) -> None:
    if step == "replay":
        asyncio.run(Replayer(workflows=[refund.Refunds]).replay_workflow(history()))
        sys.stdout.write("Replayed.\n")
        return
    approvals = refund.connect()
    activities = refund.Activities(approvals)
    worker = ActivityEnvironment()
    worker.info = replace(worker.info, workflow_id=FOLDER.name)
    worker.run(activities.ask, ARGUMENTS)
    if step == "resume" and approvals.answered("Temporal"):
        sys.stdout.write(f"The workflow says: {worker.run(activities.refund, ARGUMENTS)}\n")


def history() -> WorkflowHistory:
    """Returns a history in which the first signal comes too early."""
    events: list[dict[str, Any]] = []

    def add(kind: str, **attributes: Any) -> str:
        name = "".join(part.title() for part in kind.split("_"))
        fields = {f"{name[0].lower()}{name[1:]}EventAttributes": attributes}
        events.append(
            {
                "eventId": str(len(events) + 1),
                "eventTime": "2026-01-01T00:00:00Z",
                "eventType": f"EVENT_TYPE_{kind.upper()}",
                **fields,
            }
        )
        return str(len(events))

    def decide() -> str:
        scheduled = add("workflow_task_scheduled", taskQueue={"name": "refunds"})
        started = add("workflow_task_started", scheduledEventId=scheduled)
        return add(
            "workflow_task_completed",
            scheduledEventId=scheduled,
            startedEventId=started,
            sdkMetadata={"coreUsedFlags": [1, 2, 3]},  # compare the names of activities, too
        )

    def act(name: str, number: int, decision: str, result: Any) -> None:
        scheduled = add(
            "activity_task_scheduled",
            activityId=str(number),
            activityType={"name": name},
            workflowTaskCompletedEventId=decision,
        )
        started = add("activity_task_started", scheduledEventId=scheduled)
        add(
            "activity_task_completed",
            scheduledEventId=scheduled,
            startedEventId=started,
            result={"payloads": [payload(result)]},
        )

    add(
        "workflow_execution_started",
        workflowType={"name": "Refunds"},
        taskQueue={"name": "refunds"},
        input={"payloads": [payload("A-1042")]},
        originalExecutionRunId="run",
    )
    act("ask", 1, decide(), None)
    decide()
    add("workflow_execution_signaled", signalName="answered")
    act("refund", 2, decide(), None)
    decide()
    add("workflow_execution_signaled", signalName="answered")
    act("refund", 3, decide(), "A-1042 is refunded.")
    said = {"payloads": [payload("A-1042 is refunded.")]}
    add("workflow_execution_completed", workflowTaskCompletedEventId=decide(), result=said)
    return WorkflowHistory.from_json("refund-1", {"events": events})


def payload(value: Any) -> dict[str, Any]:
    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    encoding = b"binary/null" if value is None else b"json/plain"
    data = {} if value is None else {"data": text(json.dumps(value).encode())}
    return {"metadata": {"encoding": text(encoding)}, **data}


main(sys.argv[1])
