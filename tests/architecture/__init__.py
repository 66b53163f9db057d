"""Tests that the code keeps what it promises its readers: one-way imports, habits, words and
figures."""
