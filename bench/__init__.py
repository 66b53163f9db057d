"""Measures what Wake costs, in ratios to other servers: no absolute figure holds elsewhere."""
