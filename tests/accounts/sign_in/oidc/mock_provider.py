"""Plays an OpenID Connect provider on a real socket, with its own keys and a sign-in form. A test
can make the provider misbehave."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "wake", "the secret of a client"
Claims = dict[str, Any]


@cache
def new_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})


class MockProvider:
    """Signs in `subject` at once, or asks with a form if `has_form`."""

    def __init__(self) -> None:
        self.accounts: dict[str, Claims] = {
            "n-1": {"email": "nora@corp.example", "email_verified": True, "name": "Nora North"}
        }
        self.subject = "n-1"
        self.deactivated: set[str] = set()
        self.has_form = False
        self.key = new_key("first")
        self.published = [self.key]
        self.says_auth_time = True
        self.asked_at: float | None = None  # None means now
        # A test sets this function to change the claims, so that the provider misbehaves.
        self.change: Callable[[Claims], Claims] = lambda claims: claims
        self.sign: Callable[[Claims], str] = self._sign
        self.metadata: Claims = {}
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.redirects: dict[str, str] = {}
        self.delays: dict[str, float] = {}
        self.answer_issuer: str | None = None
        # Counts the requests by path.
        self.requests: Counter[str] = Counter()
        self.last_authorization: dict[str, str] = {}
        self.last_id_token = ""
        self._codes: dict[str, dict[str, str]] = {}
        self._tokens: dict[str, str] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def rotate(self, kid: str) -> None:
        self.key = new_key(kid)
        self.published = [self.key]

    def answer(
        self, method: str, path: str, query: dict[str, str], form: dict[str, str], auth: str
    ) -> tuple[int, bytes, dict[str, str]]:
        """Returns status, body and headers."""
        self.requests[path] += 1
        time.sleep(self.delays.get(path, 0))
        if path in self.redirects:
            return 302, b"", {"Location": self.redirects[path]}
        if path in self.answers:
            status, body = self.answers[path]
            return status, body, {"Content-Type": "application/json"}
        match path:
            case "/.well-known/openid-configuration":
                return _json(200, self._metadata())
            case "/jwks":
                return _json(200, {"keys": [key.as_dict(private=False) for key in self.published]})
            case "/authorize":
                return self._authorize(query | form)
            case "/token":
                return self._token(form, auth)
            case "/userinfo":
                subject = self._tokens.get(auth.removeprefix("Bearer "), "")
                return _json(200, {"sub": subject, **self.accounts.get(subject, {})})
        return 404, b"", {}

    def _metadata(self) -> Claims:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }

    def _authorize(self, asked: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        self.last_authorization = asked
        if self.has_form and "subject" not in asked:
            return 200, self._form(asked), {"Content-Type": "text/html"}
        subject = asked.get("subject", self.subject)
        answer = {"state": asked["state"], "iss": self.answer_issuer or self.issuer}
        if subject in self.deactivated or subject not in self.accounts:
            answer["error"] = "access_denied"
        else:
            code = secrets.token_urlsafe(16)
            self._codes[code] = {**asked, "subject": subject}
            answer["code"] = code
        return 302, b"", {"Location": f"{asked['redirect_uri']}?{urlencode(answer)}"}

    def _form(self, asked: dict[str, str]) -> bytes:
        hidden = "".join(
            f'<input type="hidden" name="{html.escape(name)}" value="{html.escape(value)}">'
            for name, value in asked.items()
        )
        buttons = "".join(
            f'<button name="subject" value="{subject}">{account["email"]}</button>'
            for subject, account in self.accounts.items()
        )
        page = (
            f"<title>Provider</title><form method=post action=/authorize>{hidden}{buttons}</form>"
        )
        return page.encode()

    def _token(self, form: dict[str, str], auth: str) -> tuple[int, bytes, dict[str, str]]:
        expected = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if auth != f"Basic {expected}":
            return _json(401, {"error": "invalid_client"})
        asked = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or asked["code_challenge_method"] != "S256"
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != form.get("redirect_uri")
        ):
            return _json(400, {"error": "invalid_grant"})
        access_token = secrets.token_urlsafe(16)
        self._tokens[access_token] = asked["subject"]
        self.last_id_token = self.sign(self.change(self._claims(asked, access_token)))
        return _json(
            200,
            {"id_token": self.last_id_token, "access_token": access_token, "token_type": "Bearer"},
        )

    def _claims(self, asked: dict[str, str], access_token: str) -> Claims:
        half = hashlib.sha256(access_token.encode()).digest()[:16]
        claims = {
            "iss": self.issuer,
            "sub": asked["subject"],
            "aud": CLIENT_ID,
            "iat": int(time.time()),
            "exp": int(time.time()) + 300,
            "nonce": asked["nonce"],
            "at_hash": base64.urlsafe_b64encode(half).rstrip(b"=").decode(),
            **self.accounts[asked["subject"]],
        }
        if self.says_auth_time:
            claims["auth_time"] = int(time.time() if self.asked_at is None else self.asked_at)
        return claims

    def _sign(self, claims: Claims) -> str:
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)


def _json(status: int, value: Claims) -> tuple[int, bytes, dict[str, str]]:
    return status, json.dumps(value).encode(), {"Content-Type": "application/json"}


def _handler(provider: MockProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            self._answer(_first(parse_qs(body, keep_blank_values=True)))

        def _answer(self, form: dict[str, str]) -> None:
            parts = urlsplit(self.path)
            status, body, headers = provider.answer(
                self.command,
                parts.path,
                _first(parse_qs(parts.query)),
                form,
                self.headers.get("Authorization", ""),
            )
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # the client gave up
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Stays silent."""

    return Handler


def _first(values: dict[str, list[str]]) -> dict[str, str]:
    return {name: given[0] for name, given in values.items()}
