"""The advice for a peer that took the connection and never answered."""

#: Most of them are met by people who have mistaken a port.
MAY_BE_NO_NODE = "it may be no Kafka node, or want TLS"
