"""Measures the costs of Wake, in ratios to other servers, because absolute figures hold on one
machine only."""
