"""Client of a schema registry: its REST interface, and the prefix that frames values. Needs no Spark."""
