"""The controller: decides the changes of the cluster's metadata.

An operation reads the state, and returns a `ControllerDecision`: records for the metadata log, and the response. It
changes nothing. Only `replay(record)` changes state: on the active controller when it appends a record, and on the
others when the record is committed. Each concern is a control in its own file; `controls` composes them, and
`quorum_controller` is the core that a driver calls with operations, commits, elections and time.
"""
