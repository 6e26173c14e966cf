"""One node: its configuration, its storage, and the shells that connect the cores to disk and network."""
