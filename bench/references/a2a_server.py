"""Serves an agent with the official SDK, with its tasks in PostgreSQL, the reference of
bench/a2a_send.py: `PYTHON bench/references/a2a_server.py PORT DATABASE_URL`.

The server runs in an environment of its own (`a2a-sdk[http-server,postgresql]` and uvicorn), and
imports nothing of this project. The server's agent leaves each task in the state `submitted`, as
Wake does until a connector comes.
"""

# mypy: ignore-errors

import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, Task, TaskState, TaskStatus
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette


class Submits(AgentExecutor):
    async def execute(self, context, event_queue):
        task = Task(
            id=context.task_id,
            context_id=context.context_id,
            status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
            history=[context.message],
        )
        await event_queue.enqueue_event(task)

    async def cancel(self, context, event_queue):
        raise NotImplementedError


def main(port: int, database_url: str) -> None:
    card = AgentCard(
        name="bench", description="Submits", version="1", capabilities=AgentCapabilities()
    )
    # There is one connection for each client of the load. SQLAlchemy closes connections beyond
    # five, and then the CPU time of their backends cannot be read.
    url = database_url.replace("postgresql://", "postgresql+asyncpg://")
    engine = create_async_engine(url, pool_size=8)
    handler = DefaultRequestHandler(
        agent_executor=Submits(), task_store=DatabaseTaskStore(engine), agent_card=card
    )
    server = Starlette(routes=create_jsonrpc_routes(handler, "/"))
    uvicorn.run(server, port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
