"""Reports whether the server works, and whether its disks have room."""
