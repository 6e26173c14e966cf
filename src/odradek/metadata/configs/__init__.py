"""Settings of nodes, topics and groups: definitions, tables, what may change while a node runs, quota filters."""
