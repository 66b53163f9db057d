"""Shows to whom a delivery is assigned, and lets owners change the rules of their teams."""
