"""Support of the settings of producers, consumers and admin clients; see `odradek.common.config_support`.

A setting that is not listed here has an effect: it is a field of the settings in `odradek.client.settings.settings`,
which a test checks. `docs/settings.md` is made of this table.
"""

from odradek.common.config_support import EFFECTIVE, Support, SupportTable, no_effect, rejected

_PLAINTEXT_ONLY = "Clients speak PLAINTEXT; protect the connection by the network."
_NO_JAVA = "Java classes cannot be loaded"

_UNSUPPORTED = SupportTable(
    (
        (
            rejected("values of configuration providers are not looked up", "Give the values themselves."),
            "config.providers",
        ),
        (rejected(_NO_JAVA, "Call what the interceptors do where records are sent or read."), "interceptor.classes"),
        (rejected("security providers of Java cannot be loaded", "Leave it out."), "security.providers"),
        (
            rejected("transactions in two phases are not supported", "Leave it out."),
            "transaction.two.phase.commit.enable",
        ),
        (no_effect("every address of a host name is tried", harmless=("use_all_dns_ips",)), "client.dns.lookup"),
        (no_effect("metrics are not pushed to brokers", harmless=("false",)), "enable.metrics.push"),
        (no_effect(_NO_JAVA), "metric.reporters"),
        (
            no_effect("metrics have no samples"),
            "metrics.num.samples metrics.recording.level metrics.sample.window.ms",
        ),
        (no_effect("share groups are not supported"), "share.acknowledgement.mode share.acquire.mode"),
    ),
    (
        ("ssl.", rejected("TLS is not supported", _PLAINTEXT_ONLY)),
        ("sasl.", rejected("SASL is not supported", _PLAINTEXT_ONLY)),
    ),
)


def client_support(name: str) -> Support:
    """Support of a setting that Apache Kafka's clients have."""
    return _UNSUPPORTED.find(name) or EFFECTIVE
