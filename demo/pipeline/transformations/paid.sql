-- Orders with their payments. Both sides are remembered for a minute after they were produced; a payment comes within
-- seconds of its order, before or after it where a broker was down.
CREATE TEMPORARY VIEW paid AS
SELECT
  o.id AS `order`,
  p.id AS payment,
  products.category,
  o.quantity,
  p.cents,
  p.at_ms
FROM STREAM orders WATERMARK produced_at DELAY OF INTERVAL 60 SECONDS AS o
JOIN STREAM payments WATERMARK produced_at DELAY OF INTERVAL 60 SECONDS AS p
  ON o.id = p.`order`
  AND p.produced_at BETWEEN o.produced_at - INTERVAL 60 SECONDS AND o.produced_at + INTERVAL 60 SECONDS
JOIN products ON o.product = products.product;

-- How often people look at a category, and how often they order from it: computed anew in each update.
CREATE MATERIALIZED VIEW conversion AS
SELECT category, clicks, orders
FROM (
  SELECT category, count(*) AS clicks FROM clicks JOIN products USING (product) GROUP BY category
)
FULL JOIN (
  SELECT category, count(*) AS orders FROM orders JOIN products USING (product) GROUP BY category
) USING (category);
