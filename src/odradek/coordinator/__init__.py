"""Coordinators: state that a cluster keeps in an internal topic, one shard of it per partition."""
