"""Starts the proxies of deploy/ on free ports in front of a test's server."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import trustme
from django.conf import settings

DEPLOY = Path(settings.BASE_DIR) / "deploy"
HOST = "wake.example.com"
PROGRAMS = {"caddy": "Caddyfile", "nginx": "nginx.conf", "haproxy": "haproxy.cfg"}
PATIENCE_SECONDS = 30


class Missing(Exception):
    """Says that the proxy is not installed here."""


@dataclass
class Proxy:
    http_port: int
    https_port: int
    trust: ssl.SSLContext

    def client(self, scheme: str = "https", host: str = HOST) -> httpx.Client:
        port = self.https_port if scheme == "https" else self.http_port
        return httpx.Client(
            base_url=f"{scheme}://{host}:{port}",
            transport=_AtHome(verify=self.trust),
            timeout=60,
        )

    def connect(self) -> socket.socket:
        """Opens a TLS connection, for requests that no HTTP client would send."""
        plain = socket.create_connection(("127.0.0.1", self.https_port), timeout=60)
        return self.trust.wrap_socket(plain, server_hostname=HOST)


class _AtHome(httpx.HTTPTransport):
    """Finds the public name on this machine."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "sni_hostname": HOST}
        request.headers["Host"] = request.url.host
        request.url = request.url.copy_with(host="127.0.0.1")
        return super().handle_request(request)


@contextmanager
def proxied(name: str, origin: str, folder: Path, *, example: str | None = None) -> Iterator[Proxy]:
    """Runs the proxy with its file in deploy/, or with the text of another example. Raises Missing
    if the proxy is not installed."""
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if program is None:
        raise Missing(f"{name} is not installed")
    authority = trustme.CA()
    certificate = authority.issue_cert(HOST)
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    for part in certificate.cert_chain_pems:
        part.write_to_path(folder / "cert.pem", append=True)
    certificate.private_key_and_cert_chain_pem.write_to_path(folder / "both.pem")
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    proxy = Proxy(_free_port(), _free_port(), trust)
    if example is None:
        example = (DEPLOY / PROGRAMS[name]).read_text()
    text = _as_here(name, example, urlsplit(origin).netloc, proxy, folder)
    config = folder / PROGRAMS[name]
    config.write_text(text)
    commands = {
        "caddy": [program, "run", "--adapter", "caddyfile", "--config", str(config)],
        "nginx": [program, "-p", str(folder), "-c", str(config), "-g", "daemon off;"],
        "haproxy": [program, "-db", "-f", str(config)],
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            commands[name],
            env={"HOME": str(folder), "XDG_DATA_HOME": str(folder), "PATH": "/usr/bin:/usr/sbin"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(proxy, process, folder / "log")
        yield proxy
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _as_here(name: str, text: str, upstream: str, proxy: Proxy, folder: Path) -> str:
    """Returns the example with the ports, the certificate and the folder of this test."""
    for port in (8000, 8001):
        text = text.replace(f"127.0.0.1:{port}", upstream)
    ports = {"http_port": proxy.http_port, "https_port": proxy.https_port}
    if name == "caddy":
        # Caddy waits this long for the rest of a body before it passes an answer on.
        assert "read_body 60s" in text
        text = text.replace("read_body 60s", "read_body 15s")
        options = "".join(f"\t{option} {port}\n" for option, port in ports.items())
        options += "\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n"
        text = text.replace("{\n\tservers", f"{{\n{options}\tservers", 1)
        own = f"\ttls {folder}/cert.pem {folder}/key.pem\n"
        return text.replace(f"\n{HOST} {{\n", f"\n{HOST} {{\n{own}", 1)
    if name == "nginx":
        text = text.replace("listen 443", f"listen 127.0.0.1:{proxy.https_port}")
        text = text.replace("listen 80", f"listen 127.0.0.1:{proxy.http_port}")
        text = text.replace(f"/etc/ssl/{HOST}.pem", f"{folder}/cert.pem")
        text = text.replace(f"/etc/ssl/{HOST}.key", f"{folder}/key.pem")
        folders = "".join(
            f"{kind}_temp_path {folder}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        around = f"pid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n"
        return f"{around}{folders}{text}}}\n"
    text = text.replace("bind :80", f"bind 127.0.0.1:{proxy.http_port}")
    text = text.replace("bind :443", f"bind 127.0.0.1:{proxy.https_port}")
    return text.replace(f"/etc/haproxy/{HOST}.pem", f"{folder}/both.pem")


def _wait_for(proxy: Proxy, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            with proxy.client() as client:
                if client.get("/healthz").status_code == 200:
                    return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
