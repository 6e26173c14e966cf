"""Connections that the tasks of a process share."""

from odradek.client.settings.settings import consumer_settings
from odradek.spark.connections import consumer_leaders, leaders_of


def test_reads_with_the_same_settings_share_connections() -> None:
    first = consumer_settings({"bootstrap.servers": "h:1"})
    assert consumer_leaders(first) is consumer_leaders(consumer_settings({"bootstrap.servers": "h:1"}))
    assert consumer_leaders(first) is not consumer_leaders(consumer_settings({"bootstrap.servers": "h:2"}))


def test_each_lane_has_its_own_connections() -> None:
    servers = consumer_settings({"bootstrap.servers": "h:1"}).bootstrap_servers
    assert leaders_of(servers, "c", 1000) is leaders_of(servers, "c", 1000)
    assert leaders_of(servers, "c", 1000, 1) is not leaders_of(servers, "c", 1000, 2)
