"""Receives callbacks in an ASGI application or in Django. Callbacks are verified, handled once, and
answered with 204.

receiver = Receiver(os.environ["WAKE_SIGNING_SECRET"], handle)
receiver.add_to(app, "/wake")                      # Starlette, FastAPI
path("wake", receiver.django_view())               # Django

The receiver itself is an ASGI application, for any other ASGI framework. Starlette's own
`app.mount("/wake", receiver)` redirects POST /wake to /wake/, and Wake follows no redirects.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from wake_client.answers import Answer
from wake_client.errors import NotWake
from wake_client.webhooks import SignatureMismatch, verify

MAX_BYTES = 1_048_576
MAX_IDS = 10_000
Handle = Callable[[Answer], object]
Scope = Mapping[str, Any]
Message = dict[str, Any]


class Seen(Protocol):
    """Remembers the ids of handled deliveries. Several processes need a shared implementation, such
    as a table with a unique column."""

    def __contains__(self, delivery_id: str) -> bool: ...

    def add(self, delivery_id: str) -> None: ...


class Routes(Protocol):
    """Serves an ASGI application at a path, as Starlette and FastAPI do."""

    def add_route(self, path: str, route: Any, /, *, include_in_schema: bool = ...) -> object: ...


class SeenInMemory:
    """Remembers the last ids of this process, 10,000 unless `max_ids` says otherwise."""

    def __init__(self, *, max_ids: int = MAX_IDS) -> None:
        self._max_ids = max_ids
        self._ids: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, delivery_id: str) -> bool:
        return delivery_id in self._ids

    def add(self, delivery_id: str) -> None:
        with self._lock:
            self._ids[delivery_id] = None
            if len(self._ids) > self._max_ids:
                self._ids.popitem(last=False)


class Receiver:
    """Calls `handle` with each answer. An answer is handled again only if `handle` raised, because
    the server then sends it again. The receiver is an ASGI application."""

    def __init__(self, secret: str, handle: Handle, *, seen: Seen | None = None) -> None:
        """`secret` is the whole `whsec_...`; `handle` may be a coroutine function under ASGI."""
        self.secret = secret
        self.handle = handle
        self.seen: Seen = SeenInMemory() if seen is None else seen

    async def __call__(
        self,
        scope: Scope,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            raise RuntimeError("The receiver of callbacks takes HTTP requests only.")
        body = await _body(receive)
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        status, answer = self._checked(scope["method"], body, headers)
        if answer is not None:
            if inspect.iscoroutinefunction(self.handle):
                await self.handle(answer)
            else:
                await asyncio.to_thread(self.handle, answer)
            self.seen.add(answer.delivery_id)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def add_to(self, app: Routes, path: str) -> None:
        """Receives callbacks at this path of a Starlette or FastAPI application, with and without a
        slash at the end."""
        path = path.rstrip("/")
        for each in (path, f"{path}/") if path else ("/",):
            app.add_route(each, self, include_in_schema=False)

    def django_view(self) -> Callable[[Any], Any]:
        """Returns a view of Django without CSRF protection, because a callback is signed."""
        response_class = importlib.import_module("django.http").HttpResponse

        def wake_callback(request: Any) -> Any:
            body = request.read(MAX_BYTES + 1)
            status, answer = self._checked(request.method, body, request.headers)
            if answer is not None:
                self.handle(answer)
                self.seen.add(answer.delivery_id)
            return response_class(status=status)

        wake_callback.csrf_exempt = True  # type: ignore[attr-defined]
        return wake_callback

    def _checked(
        self, method: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, Answer | None]:
        """Returns the status code, and the answer if it is to be handled. A test callback is
        `pending` and has no delivery."""
        if method != "POST":
            return 405, None
        if len(body) > MAX_BYTES:
            return 413, None
        try:
            answer = verify(body, headers, self.secret)
        except SignatureMismatch:
            return 401, None
        except NotWake:
            return 400, None
        is_new = answer.is_answered and answer.delivery_id not in self.seen
        return 204, answer if is_new else None


async def _body(receive: Callable[[], Awaitable[Message]]) -> bytes:
    """Reads the body, but at most one byte more than the limit."""
    body, has_more = b"", True
    while has_more and len(body) <= MAX_BYTES:
        message = await receive()
        body += message.get("body", b"")
        has_more = message.get("more_body", False) and message["type"] == "http.request"
    return body
