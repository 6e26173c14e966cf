"""Template `join`: two topics, joined by a key within a time limit. Pure."""

from odradek.spark.pipeline.templates.shared import EXACTLY_ONCE, IGNORED, IMPORTS, PARQUET_SPEC
from odradek.spark.pipeline.templates.template import Template

_EVENTS = f'''\
"""Topics @TOPIC@ and @TOPIC@.payments → tables orders and payments; table paid (paid.sql) → topic @TOPIC@.paid.

Malformed records of both topics → topic @TOPIC@.dead.
"""

{IMPORTS}
# The values of the two topics are JSON objects. Change this to the fields of yours: NOT NULL makes a field required.
ORDER = json("id STRING NOT NULL, customer STRING, amount DOUBLE NOT NULL, ordered_at TIMESTAMP NOT NULL")
PAYMENT = json("order_id STRING NOT NULL, method STRING, paid_at TIMESTAMP NOT NULL")


def records(topic: str) -> DataFrame:
    return (
        spark.readStream.format("odradek")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .option("kafka.isolation.level", "read_committed")  # without records of aborted transactions
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")  # of the first run; later runs continue where the last one ended
        .option("maxOffsetsPerTrigger", 100_000)  # records in a micro-batch
        .option("includeHeaders", "true")  # dead letters keep them
        .load()
    )


# A view stores nothing; each flow that reads it reads the topic. Where a value cannot be decoded, event.data is null
# and event.error says why.
@dp.temporary_view
def decoded_orders() -> DataFrame:
    return records("@TOPIC@").withColumn("event", decode("value", ORDER))


@dp.temporary_view
def decoded_payments() -> DataFrame:
    return records("@TOPIC@.payments").withColumn("event", decode("value", PAYMENT))


# Tables: Parquet files in storage/warehouse/orders and storage/warehouse/payments.
@dp.table
def orders() -> DataFrame:
    return accepted(spark.readStream.table("decoded_orders"), "event.error").select("event.data.*")


@dp.table
def payments() -> DataFrame:
    return accepted(spark.readStream.table("decoded_payments"), "event.error").select("event.data.*")


# Dead letters keep key, value and headers of the record; more headers say where it came from and what was wrong:
#   odradek pipeline dead-letters list
dp.create_sink("dead_letters", "odradek", {{"kafka.bootstrap.servers": BOOTSTRAP, "topic": "@TOPIC@.dead"}})


@dp.append_flow(target="dead_letters")
def dead_orders() -> DataFrame:
    return rejected(spark.readStream.table("decoded_orders"), "event.error", step="orders", with_headers=True)


@dp.append_flow(target="dead_letters")
def dead_payments() -> DataFrame:
    return rejected(spark.readStream.table("decoded_payments"), "event.error", step="payments", with_headers=True)


{EXACTLY_ONCE}\
dp.create_sink(
    "paid_topic",
    "odradek",
    {{
        "kafka.bootstrap.servers": BOOTSTRAP,
        "topic": "@TOPIC@.paid",
        "delivery": "exactly-once",
        "sinkId": "@NAME@-paid",
    }},
)


@dp.append_flow(target="paid_topic")
def send_paid() -> DataFrame:
    return spark.readStream.table("paid").select(F.col("id").alias("key"), F.to_json(F.struct("*")).alias("value"))
'''

_PAID = """\
-- Orders with their payments, whichever came first. A payment counts within ten minutes of its order: that limit, with
-- the watermarks (how long to wait for late records), tells Spark when it can forget an order or a payment.
CREATE STREAMING TABLE paid AS
SELECT o.id, o.customer, o.amount, p.method, unix_seconds(p.paid_at) - unix_seconds(o.ordered_at) AS waited_s
FROM STREAM orders WATERMARK ordered_at DELAY OF INTERVAL 1 MINUTE AS o
JOIN STREAM payments WATERMARK paid_at DELAY OF INTERVAL 1 MINUTE AS p
  ON p.order_id = o.id
  AND p.paid_at BETWEEN o.ordered_at AND o.ordered_at + INTERVAL 10 MINUTES;
"""

_ORDERS = """\
{"id": "o1", "customer": "Ada", "amount": 20.0, "ordered_at": "2026-01-31T12:00:00Z"}
{"id": "o2", "customer": "Kurt", "amount": 12.5, "ordered_at": "2026-01-31T12:01:00Z"}
{"id": "o3", "customer": "Emmy", "amount": 7.0, "ordered_at": "2026-01-31T12:02:00Z"}
"""

_PAYMENTS = """\
{"order_id": "o2", "method": "card", "paid_at": "2026-01-31T12:01:30Z"}
{"order_id": "o1", "method": "transfer", "paid_at": "2026-01-31T12:05:00Z"}
{"order_id": "o3", "method": "card", "paid_at": "2026-01-31T12:30:00Z"}
"""

JOIN = Template(
    name="join",
    summary="two topics joined by a key within a time limit (orders and their payments) into a third topic",
    default_topic="orders",
    topics=("@TOPIC@", "@TOPIC@.payments", "@TOPIC@.paid", "@TOPIC@.dead"),
    files={
        "spark-pipeline.yml": PARQUET_SPEC,
        "transformations/events.py": _EVENTS,
        "transformations/paid.sql": _PAID,
        "orders.jsonl": _ORDERS,
        "payments.jsonl": _PAYMENTS,
        ".gitignore": IGNORED,
    },
    samples={"orders.jsonl": "@TOPIC@", "payments.jsonl": "@TOPIC@.payments"},
    result="odradek consume @TOPIC@.paid --from earliest --until-end",
)
