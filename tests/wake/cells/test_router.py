"""A router with the maps of docs/cells.md sends each request to its cell."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from accounts.access.key_texts import new_text
from tests.documents.blocks import documented
from tests.wake.server.edge.proxies import DEPLOY, HOST, Missing, Proxy, proxied

pytestmark = [pytest.mark.once, pytest.mark.system]

MAPS = re.compile(r"^map \$arg_wait \$wake_by_query \{.*?^\}\nmap \$uri .*?^\}\n", re.M | re.S)
LOCATION = """    location / {
        proxy_pass http://$wake_upstream;
    }
"""
# The addresses of docs/cells.md.
UPSTREAMS = {
    "a-web": "10.0.1.1:8000",
    "a-stream": "10.0.1.1:8001",
    "b-web": "10.0.2.1:8000",
    "b-stream": "10.0.2.1:8001",
}


@contextmanager
def answering_as(name: str) -> Iterator[str]:
    """Runs a server that answers with its name, and yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            moved_to = self.headers.get("X-Moved-To", "")
            has_moved = bool(moved_to) and name.startswith("a")
            self.send_response(421 if has_moved else 200)
            if has_moved:
                self.send_header("Wake-Moved-To", moved_to)
            self.end_headers()
            self.wfile.write(json.dumps({"at": name, **({"body": body} if body else {})}).encode())

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Proxy]:
    example = (DEPLOY / "nginx.conf").read_text()
    maps = documented("docs/cells.md", "map $wake_cell_of_host$")
    maps += documented("docs/cells.md", "map $wake_moved_to")
    locations = documented("docs/cells.md", "error_page 421 = @moved;")
    assert MAPS.search(example)
    assert LOCATION in example
    example = example.replace(LOCATION, locations)
    with ExitStack() as running:
        addresses = {name: running.enter_context(answering_as(name)) for name in UPSTREAMS}
        for name, address in UPSTREAMS.items():
            maps = maps.replace(address, addresses[name])
        example = MAPS.sub(lambda _: maps, example).replace(
            f"server_name {HOST};", f"server_name {HOST} a.{HOST} b.{HOST};"
        )
        try:
            yield running.enter_context(
                proxied("nginx", f"http://{addresses['a-web']}", tmp_path, example=example)
            )
        except Missing as reason:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(reason))


def key(prefix: str) -> str:
    return f"Bearer {new_text(prefix)}"


def test_each_request_reaches_its_cell(router: Proxy, subtests: pytest.Subtests) -> None:
    cases = [
        ("a-web", "", "/wake/v1/deliver", key("wk_live_")),
        ("a-web", "", "/wake/v1/deliver", key("wk_live_a_")),
        ("b-web", "", "/wake/v1/deliver", key("wk_live_b_")),
        ("b-web", "", "/wake/v1/deliver", key("wk_live_b_").replace("Bearer", "bearer")),
        ("b-web", "", "/wake/v1/responses", key("wk_test_b_")),
        ("b-web", "", "/wake/v1/claims", key("wk_gate_b_")),
        ("b-stream", "", "/wake/v1/responses?wait=5", key("wk_live_b_")),
        ("b-stream", "", "/mcp", key("wk_access_b_")),
        ("b-stream", "", "/connect/v1", key("wk_live_b_")),
        ("b-stream", "", "/@research/painter", ""),
        ("b-stream", "", "/@research/painter", key("wk_call_")),
        ("a-stream", "", "/@researchers/painter", ""),
        ("a-stream", "", "/@home/painter", key("wk_call_a_")),
        ("a-web", "", "/wake/v1/deliver", "Basic wk_live_b_"),
        ("a-web", "", "/healthz", ""),
        ("b-web", "b.", "/login/", ""),
        ("b-web", "b.", "/log/checkpoint", ""),
        ("b-stream", "b.", "/live", ""),
        ("b-web", "b.", "/wake/v1/deliver", key("wk_live_a_")),
        ("a-web", "a.", "/wake/v1/deliver", key("wk_live_b_")),
        ("a-stream", "a.", "/@research/painter", ""),
    ]
    for expected, host, path, authorization in cases:
        with subtests.test(f"{host} {path} {authorization[:20]}"):
            with router.client(host=f"{host}{HOST}") as client:
                answer = client.get(path, headers={"Authorization": authorization})
            assert answer.json() == {"at": expected}


def test_a_request_of_a_team_that_moved_is_sent_on(router: Proxy) -> None:
    headers = {"Authorization": key("wk_live_a_"), "X-Moved-To": f"https://b.{HOST}"}
    with router.client() as client:
        sent_on = client.post("/wake/v1/deliver", content="the body", headers=headers)
        waiting = client.get("/wake/v1/responses?wait=5", headers=headers)
        elsewhere = {**headers, "X-Moved-To": "https://elsewhere.example.com"}
        refused = client.post("/wake/v1/deliver", content="the body", headers=elsewhere)

    assert sent_on.json() == {"at": "b-web", "body": "the body"}
    assert waiting.json() == {"at": "b-stream"}
    assert refused.status_code == 421
