"""Serves a scripted model as Anthropic's Messages API, so that Claude Code needs no key.

refund_with_claude_agent.py uses it. https://docs.anthropic.com/en/api/messages-streaming, read on
2026-11-26.
"""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
# Gets the results of the tools so far, and returns the next message.
Script = Callable[[list[Block]], list[Block]]


def serve(tool: str, script: Script) -> str:
    """Serves the model that may call `tool` in a thread, and returns its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            has_tool = any(each.get("name") == tool for each in request.get("tools", []))
            message = script(_results(request)) if has_tool else [said("A title.")]
            body = "".join(map(_event, _events(message, request.get("model")))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:  # Claude Code looks whether the server is there
            self.send_response(200)
            self.end_headers()

        def log_message(self, *ignored: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def said(text: str) -> Block:
    return {"type": "text", "text": text}


def called(tool: str, id: str, arguments: dict[str, Any]) -> Block:
    return {"type": "tool_use", "id": id, "name": tool, "input": arguments}


def text_of(result: Block) -> str:
    content = result["content"]
    return content if isinstance(content, str) else "".join(each["text"] for each in content)


def _results(request: Any) -> list[Block]:
    return [
        block
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def _events(blocks: list[Block], model: Any) -> list[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**start, "usage": usage}}]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = said(""), {"type": "text_delta", "text": block["text"]}
        else:
            text = json.dumps(block["input"])
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": text}
        events += [
            {"type": "content_block_start", "index": index, "content_block": empty},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    return [
        *events,
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def _event(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
