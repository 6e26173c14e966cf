-- The shop's tables. `timestamp` is when a record was produced, `at_ms` when it happened by its own account.

CREATE STREAMING TABLE orders USING PARQUET AS
SELECT orders.*, timestamp FROM STREAM events WHERE topic = 'orders' AND error IS NULL;

CREATE STREAMING TABLE payments USING PARQUET AS
SELECT payments.*, timestamp FROM STREAM events WHERE topic = 'payments' AND error IS NULL;

CREATE STREAMING TABLE clicks USING PARQUET AS
SELECT clicks.*, timestamp FROM STREAM events WHERE topic = 'clicks' AND error IS NULL;

-- Where it changes nothing when something is forgotten, an update ends without a batch of its own for that.
SET spark.sql.streaming.noDataMicroBatches.enabled = false;

-- Orders with their payments. Both sides are remembered for two minutes after they were produced; a payment comes within
-- seconds of its order, and before it only where a broker was down.
CREATE STREAMING TABLE paid_orders USING PARQUET AS
SELECT
  o.id AS `order`,
  p.id AS payment,
  products.category,
  o.quantity,
  p.cents,
  timestamp_millis(p.at_ms) AS paid_at,
  p.timestamp
FROM STREAM orders WATERMARK timestamp DELAY OF INTERVAL 120 SECONDS AS o
JOIN STREAM payments WATERMARK timestamp DELAY OF INTERVAL 120 SECONDS AS p
  ON o.id = p.`order`
  AND p.timestamp BETWEEN o.timestamp - INTERVAL 120 SECONDS AND o.timestamp + INTERVAL 120 SECONDS
JOIN products ON o.product = products.product;

SET spark.sql.streaming.noDataMicroBatches.enabled = true;

-- What is sold in each ten seconds. A window is there once, when nothing more can come for it: a minute after its end
-- by the time of the payments, which come 10 seconds late at the most; the rest is for a broker that is down. What would
-- come later still would be missing here, and in none of the tables.
CREATE TEMPORARY VIEW sales_by_window AS
SELECT
  unix_millis(window.start) AS start_ms,
  category,
  count(*) AS orders,
  sum(quantity) AS units,
  sum(cents) AS cents
FROM STREAM paid_orders WATERMARK paid_at DELAY OF INTERVAL 60 SECONDS
GROUP BY window(paid_at, '10 seconds'), category;

-- How often people look at a category, and how often they order from it: computed anew in each update.
CREATE MATERIALIZED VIEW conversion USING PARQUET AS
SELECT category, count_if(is_click) AS clicks, count_if(NOT is_click) AS orders
FROM (SELECT product, true AS is_click FROM clicks UNION ALL SELECT product, false FROM orders)
JOIN products USING (product)
GROUP BY category;
