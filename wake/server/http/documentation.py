"""Says which headers the pages of the documentation have. `make docs` builds these pages
(docs/decisions/0081-the-documentation-is-built-by-zensical.md)."""

from __future__ import annotations

import re
from wsgiref.headers import Headers

from csp.utils import build_policy

PREFIX = "/docs/"
# The generator names these files for their content.
IMMUTABLE = re.compile(r"/assets/.+\.[0-9a-f]{8}\.min\.(?:css|js)$")
# The hash of the one style sheet that the theme's script writes into the page, for its search.
# tests/browser/documentation/test_site.py fails if an update of the theme changes it.
STYLE_OF_SEARCH = "'sha256-NwSx/R2V/U4jnW0Tq5pQ53Y/rzPVJ4dqE7D6UTA/J1k='"


def add_headers(headers: Headers, path: str, url: str) -> None:
    """Adds the headers of a page or file below /docs/, and none to other static files."""
    if not url.startswith(PREFIX):
        return
    # A page changes with the next version, so a browser asks each time whether it has changed.
    is_immutable = IMMUTABLE.search(url)
    headers["Cache-Control"] = "public, max-age=31536000, immutable" if is_immutable else "no-cache"
    headers["Content-Security-Policy"] = _policy()
    headers["X-Frame-Options"] = "DENY"


def _policy() -> str:
    """Returns the server's policy without Trusted Types, because the theme's script writes HTML.
    The theme's style sheets contain icons as data: URLs. There is no form to send."""
    return build_policy(
        update={"img-src": ["data:"], "style-src": [STYLE_OF_SEARCH]},
        replace={
            "require-trusted-types-for": None,
            "trusted-types": None,
            "form-action": ["'none'"],
        },
    )
