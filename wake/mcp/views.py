"""Takes MCP at one address by POST, with the keys, limits and errors of the REST API."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec
from django.conf import settings
from django.http import HttpResponse
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, PermissionDenied
from rest_framework.request import Request

from accounts.agents.quota import KeyEnded
from accounts.limits import throttles
from accounts.limits.read_limits import count_read
from pages.characters.names import is_visible
from wake import wire
from wake.api import errors
from wake.api.authentication import key_of
from wake.api.parsers import JsonObject, Malformed, parse_object, parse_strictly, read_body
from wake.api.views import ProtocolView, json_response
from wake.mcp import protocol, tasks, tools, wording
from wake.mcp.cards import resources
from wake.mcp.cards.clients import EXTENSION, SESSION_HEADER, new_session_id
from wake.mcp.http_errors import as_json_rpc, id_in
from wake.mcp.protocol import Json, McpCall, RequestRefused
from wake.mcp.results import text_block

logger = logging.getLogger(__name__)

SERVER = {"name": "wake", "title": "Wake", "version": "1.0"}
CAPABILITIES: Json = {"tools": {"listChanged": False}}
EXTENSIONS: Json = {protocol.TASKS: {}}


class McpView(ProtocolView):
    http_method_names = ["post"]
    body = b""
    # Whether every client gets cards (wake/mcp/cards/), or only those that declare the extension.
    shows_cards = False

    def get_exception_handler(self) -> Callable[..., HttpResponse | None]:
        answer = super().get_exception_handler()

        def answer_in_json_rpc(exception: Exception, context: Any) -> HttpResponse | None:
            refusal = answer(exception, context)
            return refusal and as_json_rpc(refusal, id_in(self.body))

        return answer_in_json_rpc

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Reads the body first, because an error repeats the id of its request. Refuses calls from
        pages of other origins, because such a page would have the key in the browser."""
        self.body = read_body(request._request)
        if request.headers.get("Origin") not in {None, settings.WAKE_ORIGIN}:
            raise PermissionDenied("Pages of other origins may not call this server.")
        super().initial(request, *args, **kwargs)

    def post(self, request: Request) -> HttpResponse:
        count_read(key_of(request).pk)
        value: Any = None
        try:
            value = _parsed(self.body)
            call = protocol.read(value, request.headers, takes_cards=self.shows_cards)
            if call.id is None:
                return HttpResponse(status=202)
            return self._response(request, call)
        except RequestRefused as failure:
            # A body that was refused for U+0000 in a text, for example, still has an id.
            id = id_in(self.body) if value is None else protocol.id_of(value)
            is_stateless = protocol.is_stateless(value, request.headers)
            status = protocol.status_code(failure, id, is_stateless=is_stateless)
            return json_response(protocol.refused(id, failure), status=status)

    def _response(self, request: Request, call: McpCall) -> HttpResponse:
        response = json_response(self._answer(request, call))
        if call.method == "initialize" and call.takes_cards and not self.shows_cards:
            response[SESSION_HEADER] = new_session_id()
        return response

    def _answer(self, request: Request, call: McpCall) -> Json:
        match call.method:
            case "initialize" if not call.is_stateless:
                result = _initialized(call)
            case "server/discover":
                result = {
                    "supportedVersions": list(protocol.VERSIONS),
                    "capabilities": _capabilities(call, EXTENSIONS),
                    "instructions": wording.INSTRUCTIONS,
                }
            case "ping" if not call.is_stateless:
                result = {}
            case "tools/list":
                listed = [tool.listed(with_cards=call.takes_cards) for tool in tools.TOOLS.values()]
                result = {"tools": listed}
            case "tools/call":
                result = _called(request, call, self.body)
            case method if call.is_stateless and method in tasks.METHODS:
                result = _of_task(request, call)
            case method if call.takes_cards and method in resources.METHODS:
                result = _of_resources(call)
            case _:
                raise RequestRefused(protocol.METHOD_NOT_FOUND, "There is no such method here.")
        is_list = call.method in {"server/discover", "tools/list", *resources.METHODS}
        return protocol.answered(call, result, server=SERVER, is_list=is_list)


def _initialized(call: McpCall) -> Json:
    asked = call.params.get("protocolVersion")
    newest = protocol.HANDSHAKE_VERSIONS[0]
    return {
        "protocolVersion": asked if asked in protocol.HANDSHAKE_VERSIONS else newest,
        "capabilities": _capabilities(call, {}),
        "serverInfo": SERVER,
        "instructions": wording.INSTRUCTIONS,
    }


def _capabilities(call: McpCall, extensions: Json) -> Json:
    """Returns the server's capabilities, with those of cards for a client that shows them."""
    if call.takes_cards:
        cards = {"resources": {"listChanged": False}}
        return {**CAPABILITIES, **cards, "extensions": {**extensions, EXTENSION: {}}}
    return {**CAPABILITIES, "extensions": extensions} if extensions else CAPABILITIES


def _called(request: Request, call: McpCall, body: bytes) -> Json:
    tool = tools.TOOLS.get(str(call.params.get("name")))
    if tool is None:
        names = ", ".join(tools.TOOLS)
        raise RequestRefused(
            protocol.INVALID_PARAMS, f"There is no such tool. The tools are {names}."
        )
    caller = tools.Caller(
        key=key_of(request),
        client_name=_client_name(request, call),
        address=throttles.client_address(request),
        takes_tasks=call.takes_tasks,
        takes_cards=call.takes_cards,
    )
    try:
        return tools.run(tool, caller, _arguments(call, body)).as_json()
    except (KeyEnded, AuthenticationFailed, NotAuthenticated, RequestRefused):
        raise
    except Exception as failure:
        return _failed(failure)


def _of_task(request: Request, call: McpCall) -> Json:
    if not call.takes_tasks:
        raise protocol.without_tasks()
    return tasks.run(
        call.method,
        call.params,
        key=key_of(request),
        address=throttles.client_address(request),
        takes_cards=call.takes_cards,
    )


def _of_resources(call: McpCall) -> Json:
    result = resources.run(call.method, call.params)
    if result is None:
        raise RequestRefused(protocol.INVALID_PARAMS, "There is no such resource.")
    return result


def _failed(failure: Exception) -> Json:
    """Returns the error of a tool in the words of the REST API. A model reads this error and can
    correct the call. The model would not see an error of the protocol."""
    error = errors.refusal_of(failure).error
    if error.code == "server_error":
        logger.error("A tool failed", exc_info=failure)
    text = f"{error.code}: {error.message}"
    if error.claimed_at:
        text += f" claimed_at: {wire.instant(error.claimed_at)}"
    if error.status:
        text += f" status: {error.status}"
    return {"content": [text_block(text)], "isError": True}


def _arguments(call: McpCall, body: bytes) -> JsonObject:
    """Returns the arguments with their JSON as it was sent, so that a number keeps its digits."""
    arguments = call.params.get("arguments")
    if arguments is None:
        return JsonObject({}, {})
    if not isinstance(arguments, dict):
        raise RequestRefused(protocol.INVALID_PARAMS, "arguments must be an object.")
    return parse_object(bytes(msgspec.json.decode(body, type=_Sent).params.arguments))


class _Params(msgspec.Struct):
    arguments: msgspec.Raw


class _Sent(msgspec.Struct):
    params: _Params


def _client_name(request: Request, call: McpCall) -> str:
    """Returns the client's name. Before 2026-07-28 only `initialize` contained the name, so other
    calls are identified by their User-Agent."""
    product = request.headers.get("User-Agent", "").partition("/")[0]
    for name in (call.client_name, product):
        line = " ".join(name.split())[:128]
        if line.isprintable() and is_visible(line):
            return line
    return "mcp"


def _parsed(body: bytes) -> Any:
    try:
        return parse_strictly(body)
    except Malformed as failure:
        raise RequestRefused(protocol.PARSE_ERROR, str(failure)) from None
