"""Projects of Spark Declarative Pipelines: templates, checks before Spark starts, runs with retries, a status.

A project is Spark's own: a directory with a `spark-pipeline.yml` and the SQL and Python files it names.

    odradek pipeline init shop --topic orders -b localhost:9092     a project in ./shop that runs as it stands
    odradek pipeline init --template list                           what kinds of projects there are
    odradek pipeline check shop                                     before Spark starts; --dry-run lets Spark analyse it
    odradek pipeline run shop                                       one update: all that there is, then the end
    odradek pipeline run shop --continuous                          live: long-running queries, until stopped
    odradek pipeline run shop --continuous --updates --trigger 5s   an update every five seconds, until stopped
    odradek pipeline status shop [--watch]                          flows, lag, dead letters, the last error
    odradek pipeline dead-letters list|show|replay shop             what was rejected, and how it is sent again
    odradek pipeline report shop                                    an HTML report about the last run

PROJECT is a directory or its spec file; without one, that of the current directory. `run` also takes `--retries N` (of
failures that may pass, in a row; 5 unless said), `--master local[2]|spark://…`, `--remote sc://…`, `--conf
spark.…=…` (counts more than `configuration` of the spec), `--refresh TABLE`, `--full-refresh TABLE` and
`--full-refresh-all`.

Two processes run a pipeline. The one a person starts shows progress, hears signals, keeps the state that `status` shows
(`odradek/state.json` in the project's storage), and restarts the other when that fails. The other one is Spark's
driver, a Python process with its JVM: what they print goes to `odradek/spark.log` in the storage. Each ends when the
other one does, however that ended: kill the first with -9 and Spark is gone; kill Spark and it is started again.

`run --format json` prints one object a line. All have `event` and `time_ms` (since 1970):

    check       only if `check` found something, before all others: good, problems (what, file, line, severity)
    started     pipeline, project, storage, log, pid (of `run` itself), continuous
    session     Spark is up: attempt (from 1), driver_pid (Python), jvm_pid (null with --remote), spark (the version)
    standby     with --standby: a second driver is ready to take over: driver_pid
    update      update (from 1), state: running, completed, failed or stopped; seconds at the end; error, may_pass
    flow        flow, update, state: queued, starting, running, completed, failed, skipped or stopped; error (or null)
    progress    a micro-batch is done: flow, update, batch_id, rows_in, rows_out (null where the sink does not tell),
                rows_per_s, duration_ms, lag (records behind the end of its topics, null for a source without offsets),
                offsets (where it is, by topic and partition), rows_in_total and rows_out_total since `run` began
                parts_ms (of the batch, by Spark's names), state_rows, state_bytes, watermark_ms
    live        live mode, state: starting, running (all flows were started), stopped, failed or unsupported; error
    refresh     live mode: a materialized view was computed: flow, duration_ms
    idle        live mode: the flow has processed all that there is; repeated while that is so
    restart     live mode: the flow failed and starts again alone: flow, attempt, retries, wait_s, cause
    late-trigger live mode: the batches of the flow take longer than its trigger: flow, interval_ms, duration_ms
    sample      every second: flows (by name: rows_in_per_s, rows_out_per_s, lag, lag_ms, is_lag_minimum, reads_topics)
                and dead_letters (records by topic)
    retry       attempt (which retry it is), retries, wait_s, cause
    warning     message: something that does not stop the run, such as a state file that cannot be written
    stopping    a signal was heard; an update that runs may go on for ten seconds, unless another one comes
    ended       state: completed, stopped or failed; updates, rows_in, rows_out, seconds, error (or null)

Exit status: 0 when it completed, or when a continuous one was stopped by SIGINT or SIGTERM; 1 when it failed, the cause
in a line or two on stderr; 130 when a single update was stopped before its end.
"""
