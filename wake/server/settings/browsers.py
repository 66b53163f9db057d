"""Sets what protects people's browsers: cookies, security headers and the content policy."""

import os

from csp.constants import NONE, SELF

from wake.server.settings import env
from wake.server.settings.hosting import WAKE_ORIGIN

# Cookies carry the __Host- prefix if the origin is https; on loopback a browser would refuse it.
# wake/server/http/flash_messages.py and accounts/sign_in/browsers/known_browsers.py use the same
# prefix.
_secure = WAKE_ORIGIN.startswith("https://")
SESSION_ENGINE = "accounts.sign_in.browsers.session_store"
SESSION_COOKIE_NAME = "__Host-sessionid" if _secure else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if _secure else "csrftoken"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _secure
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
MESSAGE_STORAGE = "wake.server.http.flash_messages.Notices"
# In seconds since the last visit (accounts/sign_in/browsers/sessions.py).
SESSION_COOKIE_AGE = 7 * 24 * 3600

SECURE_HSTS_SECONDS = 31_536_000 if _secure else 0
# HSTS covers subdomains only if the operator asks for it, because other hosts of the domain may
# belong to other people and have no TLS.
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = (
    _secure and env.flag("WAKE_HSTS_SUBDOMAINS") is True
)
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if _proxy_scheme := os.environ.get("WAKE_PROXY_SCHEME_HEADER", ""):
    SECURE_PROXY_SSL_HEADER = (f"HTTP_{_proxy_scheme.upper().replace('-', '_')}", "https")
_proxy_client = os.environ.get("WAKE_PROXY_CLIENT_HEADER", "")
WAKE_CLIENT_ADDRESS = (
    f"HTTP_{_proxy_client.upper().replace('-', '_')}" if _proxy_client else "REMOTE_ADDR"
)

WAKE_MAX_REPORT_BYTES = 65_536  # the limit of a browser's report
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "manifest-src": [SELF],
        "worker-src": [SELF],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["default"],
        # Both are needed, because browsers support one or the other (wake/server/csp_reports.py).
        "report-uri": ["/csp-reports"],
        "report-to": ["csp"],
    }
}
