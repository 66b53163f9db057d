"""Tests the promises about the tasks that other agents send."""
