"""Measures the server, and serves the figures to Prometheus (docs/operations.md, Metrics)."""
