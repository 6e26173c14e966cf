"""Observing a pipeline that runs: what is sampled every second, kept in its history, and served to Prometheus.

`sampler` asks the clusters where topics end, in threads of its own; `flow_samples` turns that and the events of the
driver into a `Sample`, with rates (`rates`) and lag in time (`lag_times`); `history` keeps the samples in a file of
bounded size; `metrics` and `metrics_server` are the page `/metrics`.
"""
