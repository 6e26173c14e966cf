"""The controller: decides what the cluster's metadata becomes.

An operation looks at the state, and returns a `Decision`: records for the metadata log, and the response. It changes
nothing. `replay(record)` is the only thing that changes state, on the active controller when it appends a record and on
the others when the record is committed. One file a concern; `controls` holds them together, `quorum_controller` is the
core that a driver feeds with operations, commits, elections and time.
"""
