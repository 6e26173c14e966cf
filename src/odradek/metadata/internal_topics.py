"""Topics that the cluster keeps its own state in: only their coordinators write to them, and clients are told so."""

INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
