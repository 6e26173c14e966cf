"""Rules without records: placement of replicas, and election of leaders. They do not depend on how metadata is kept."""
