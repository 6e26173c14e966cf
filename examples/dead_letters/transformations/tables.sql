CREATE STREAMING TABLE events USING PARQUET AS
SELECT * FROM STREAM unique_events;

-- Computed anew in each update.
CREATE MATERIALIZED VIEW sales_by_partner USING PARQUET AS
SELECT partner, count(*) AS events, sum(cents) AS cents FROM events GROUP BY partner;
