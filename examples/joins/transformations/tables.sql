CREATE STREAMING TABLE orders USING PARQUET AS
SELECT * FROM STREAM sent_orders;

CREATE STREAMING TABLE payments USING PARQUET AS
SELECT * FROM STREAM sent_payments;

-- Orders with their payments, whichever came first. A payment counts within ten minutes of its order, so that Spark need
-- not remember orders and payments forever: only until the watermarks have passed them by as much.
CREATE STREAMING TABLE paid_orders USING PARQUET AS
SELECT
  o.id,
  customers.country,
  o.amount,
  p.method,
  unix_seconds(p.paid_at) - unix_seconds(o.ordered_at) AS waited_s
FROM STREAM orders WATERMARK ordered_at DELAY OF INTERVAL 1 MINUTE AS o
JOIN STREAM payments WATERMARK paid_at DELAY OF INTERVAL 1 MINUTE AS p
  ON p.order_id = o.id
  AND p.paid_at BETWEEN o.ordered_at AND o.ordered_at + INTERVAL 10 MINUTES
LEFT JOIN customers ON customers.customer = o.customer;

-- Computed anew in each update.
CREATE MATERIALIZED VIEW sales_by_country USING PARQUET AS
SELECT country, count(*) AS orders, sum(amount) AS amount FROM paid_orders GROUP BY country;

CREATE MATERIALIZED VIEW unpaid_orders USING PARQUET AS
SELECT * FROM orders LEFT ANTI JOIN paid_orders USING (id);
