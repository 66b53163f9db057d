"""Runs `wake` where the extra `wake-client[keyring]` is installed."""

import sys

from wake_client.__main__ import main

sys.exit(main())
