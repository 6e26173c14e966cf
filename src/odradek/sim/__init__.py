"""A deterministic world for the cores: simulated disks (and later clocks and networks) that fail on demand."""
