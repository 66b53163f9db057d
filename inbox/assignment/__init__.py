"""Shows whom a delivery is assigned to, and lets owners change the rules of their teams."""
