CREATE STREAMING TABLE readings USING PARQUET AS
SELECT * FROM STREAM sent_readings;

-- The average of each sensor in each minute, once, when the minute is over: one minute after its end by the readings'
-- own time. So long Spark waits for late readings; what comes later is in no average.
CREATE STREAMING TABLE averages USING PARQUET AS
SELECT sensor, window.start AS minute, avg(celsius) AS celsius, count(*) AS readings
FROM STREAM readings WATERMARK at DELAY OF INTERVAL 1 MINUTE
GROUP BY window(at, '1 minute'), sensor;

-- Those that came too late: of minutes that are over, what is in no average.
CREATE MATERIALIZED VIEW late_readings USING PARQUET AS
SELECT sent.sensor, sent.minute, sent.readings - coalesce(averages.readings, 0) AS late
FROM (
  SELECT sensor, date_trunc('MINUTE', at) AS minute, count(*) AS readings FROM readings GROUP BY ALL
) AS sent
LEFT JOIN averages ON averages.sensor = sent.sensor AND averages.minute = sent.minute
WHERE sent.minute + INTERVAL 2 MINUTES <= (SELECT max(at) FROM readings)
  AND sent.readings > coalesce(averages.readings, 0);
