"""Opens the browser of tests/browser for the tests of this folder alone."""

from tests.browser.conftest import chromium as chromium
from tests.browser.conftest import open_browser as open_browser
