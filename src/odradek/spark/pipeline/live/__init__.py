"""Live mode: the flows of a pipeline as long-running Structured Streaming queries in one Spark session.

`graph` collects the definitions of a project, `sql` those in SQL files; `tables` creates the tables that are missing;
`queries` starts a streaming query for each streaming flow, with the checkpoint that Spark's own engine uses in updates:
a project can switch between updates and live mode at any time. `views` refreshes materialized views; `restarts` decides
when a flow that failed is started again; `engine` puts them together.
"""
