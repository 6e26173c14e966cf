"""The immutable image of the cluster's metadata, part by part, and the delta that leads to the next one."""
