"""From server.properties to typed settings: parsing, rules, support, and changes while the node runs."""
