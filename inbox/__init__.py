"""Shows people their agents' deliveries and takes their answers. Each feature has a package."""
