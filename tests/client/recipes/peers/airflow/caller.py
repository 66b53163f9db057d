"""Runs the DAG of the recipe with `dag.test()`, which plays the scheduler. The process ends when
the sensor waits, and with status 1 when it failed. Each process runs the same DAG run again from
its first task."""

import hashlib
import os
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

# Airflow reads these when it is imported.
os.environ |= {
    "AIRFLOW_HOME": str(Path(os.environ["FOLDER"]).with_name("airflow")),
    "AIRFLOW__CORE__DAGS_FOLDER": str(Path(os.environ["FOLDER"]).parent),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
    "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "false",
    "WAKE_APPROVALS": f"{os.environ['FOLDER']}/approvals.db",
}
sys.path.insert(0, os.environ["AIRFLOW__CORE__DAGS_FOLDER"])

import refund
from airflow.models.taskinstance import TaskInstance
from airflow.utils.db import initdb
from airflow.utils.session import create_session
from sqlalchemy import select

FOLDER = Path(os.environ["FOLDER"])


def main() -> None:
    if not (FOLDER.parent / "airflow" / "airflow.db").exists():
        initdb()
    number = int(hashlib.sha256(FOLDER.name.encode()).hexdigest()[:6], 16)
    date = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(minutes=number)
    earlier = {task.id for task in waiting(date)}
    threading.Thread(target=end_at_the_pause, args=[date, earlier], daemon=True).start()
    run = refund.refunds.test(logical_date=date, run_after=date)
    states = {task.task_id: str(task.state) for task in run.get_task_instances()}
    sys.stdout.write(f"{states}\n")


def end_at_the_pause(date: datetime, earlier: set[UUID]) -> None:
    while True:
        time.sleep(0.2)
        for task in waiting(date):
            if task.id not in earlier:
                os._exit(0 if task.state == "up_for_reschedule" else 1)


def waiting(date: datetime) -> list[TaskInstance]:
    of_the_run = TaskInstance.dag_run.has(logical_date=date)
    waits = TaskInstance.state.in_(["up_for_reschedule", "up_for_retry"])
    with create_session() as session:
        return list(session.scalars(select(TaskInstance).where(of_the_run, waits)))


main()
