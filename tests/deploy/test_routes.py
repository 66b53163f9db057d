"""The Ingress and the routes of the chart send each request where deploy/nginx.conf sends it."""

from __future__ import annotations

import re

from tests.deploy.chart import Object, of_kind
from tests.wake.server.up import ROOT
from wake.server.http.machine_paths import MACHINE_PATHS

NGINX = (ROOT / "deploy/nginx.conf").read_text()
PATHS = (
    *("/", "/login/", "/deliveries/x/", "/live", "/livelier", "/static/x.css", "/log/checkpoint"),
    *("/wake", "/wake/v1", "/wake/v1/deliver", "/wake/v1/deliveries", "/wake/v1/receipt/x"),
    *("/wake/v1/response/x", "/wake/v1/response/x/", "/wake/v1/responses", "/wakeful"),
    *("/mcp", "/mcp/people", "/mcpx", "/@team/agent", "/@team", "/connect/v1", "/connect/v1/poll"),
    *("/oauth/token/", "/.well-known/agent-card.json", "/slack/actions", "/healthz"),
)
# Requests of these paths may wait. An Ingress sends all of them to `stream`.
MAY_WAIT = re.compile(r"/wake/v1/responses?($|/)")


def test_the_ingress_routes_as_nginx_does() -> None:
    shown = {path: _ingress(path) for path in PATHS}

    assert shown == {
        path: (
            "wake-keys" if _nginx_takes_keys(path) else "wake-pages",
            "wake-stream" if MAY_WAIT.match(path) else f"wake-{_nginx_role(path, query='')}",
        )
        for path in PATHS
    }


def test_the_routes_of_a_gateway_are_those_of_nginx() -> None:
    rules = of_kind("everything", "HTTPRoute")["wake-https"]["spec"]["rules"]
    requests = [(path, query) for path in PATHS for query in ("", "wait=25")]

    shown = {request: _first(rules, *request) for request in requests}

    assert {request: rule["backendRefs"][0]["name"] for request, rule in shown.items()} == {
        request: f"wake-{_nginx_role(*request)}" for request in requests
    }
    # A stream, or a download, may take as long as it needs.
    assert [rule["timeouts"] for rule in rules] == [{"request": "0s"}] * len(rules)


def test_plain_http_is_redirected_for_pages_only() -> None:
    rules = of_kind("everything", "HTTPRoute")["wake-http"]["spec"]["rules"]
    annotations = {
        name: one["metadata"]["annotations"] for name, one in of_kind("usual", "Ingress").items()
    }

    is_passed_on = {path: "backendRefs" in _first(rules, path, "") for path in PATHS}

    assert is_passed_on == {path: _nginx_takes_keys(path) for path in PATHS}
    prefix = "nginx.ingress.kubernetes.io"
    assert annotations["wake-keys"][f"{prefix}/ssl-redirect"] == "false"
    assert annotations["wake-pages"][f"{prefix}/force-ssl-redirect"] == "true"


def test_no_path_that_takes_keys_is_redirected() -> None:
    prefixes = [row.prefix for row in MACHINE_PATHS if row.takes_keys]

    assert {_ingress(f"{prefix}x")[0] for prefix in prefixes} == {"wake-keys"}


def test_the_limits_of_the_ingress_are_those_of_nginx() -> None:
    (every,) = {
        tuple(sorted((key, value) for key, value in given.items() if "ssl" not in key))
        for given in (
            one["metadata"]["annotations"] for one in of_kind("usual", "Ingress").values()
        )
    }
    limits = {key.partition("/")[2]: value for key, value in every}

    assert limits == {
        "proxy-body-size": _directive("client_max_body_size"),
        "proxy-read-timeout": _directive("proxy_read_timeout").removesuffix("s"),
        "proxy-request-buffering": _directive("proxy_request_buffering"),
        "limit-connections": _directive("limit_conn wake_connections"),
    }


def _ingress(path: str) -> tuple[str, str]:
    """Returns the Ingress and the Service of a path: an exact match, or else the longest."""
    ways = [
        (way, one["metadata"]["name"])
        for one in of_kind("usual", "Ingress").values()
        for rule in one["spec"]["rules"]
        for way in rule["http"]["paths"]
        if _matches(way, path)
    ]
    way, name = max(ways, key=lambda one: (one[0]["pathType"] == "Exact", len(one[0]["path"])))
    return name, way["backend"]["service"]["name"]


def _first(rules: list[Object], path: str, query: str) -> Object:
    return next(rule for rule in rules if _route_matches(rule, path, query))


def _directive(name: str) -> str:
    found = re.search(rf"^{name} (\S+);", NGINX, re.MULTILINE)
    assert found, name
    return found[1]


def _nginx_role(path: str, query: str) -> str:
    block = re.search(r"map \$uri \$wake_upstream \{(.*?)\n\}", NGINX, re.DOTALL)
    assert block
    lines = re.findall(r"^ +(\S+) +127\.0\.0\.1:(\d+);", block[1], re.MULTILINE)
    for pattern, port in lines:
        is_regex = pattern.startswith("~")
        if re.search(pattern[1:], path) if is_regex else pattern == path:
            return {"8000": "web", "8001": "stream"}[port]
    return "stream" if "wait=" in query else "web"


def _nginx_takes_keys(path: str) -> bool:
    pattern = re.search(r"location ~ (\^\S+) \{", NGINX)
    assert pattern
    return bool(re.search(pattern[1], path))


def _matches(way: Object, path: str) -> bool:
    prefix = str(way["path"])
    if way["pathType"] == "Exact":
        return path == prefix
    if way["pathType"] == "Prefix":  # by parts of the path
        return f"{path}/".startswith(f"{prefix.rstrip('/')}/")
    return path.startswith(prefix)


def _route_matches(rule: Object, path: str, query: str) -> bool:
    return any(
        _path_matches(match["path"], path)
        and all(re.search(f"(^|&){one['name']}=.", query) for one in match.get("queryParams", []))
        for match in rule["matches"]
    )


def _path_matches(match: Object, path: str) -> bool:
    value = str(match["value"])
    if match["type"] == "RegularExpression":
        return bool(re.fullmatch(value, path))
    return _matches({"path": value, "pathType": match["type"].removeprefix("Path")}, path)
