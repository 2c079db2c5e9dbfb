-- A slide that does not divide the length.
SELECT isRobot, count(*) AS n, sum(big) AS total, window_start, window_end FROM logs [RANGE 10 MINUTES SLIDE 4 MINUTES] GROUP BY isRobot
-- duckdb
SELECT isRobot AS "isRobot", count(*) AS n, sum(big)::BIGINT AS total, make_timestamp(w) AS window_start, make_timestamp(w + 600000000) AS window_end FROM (
  SELECT *, unnest(range(epoch_us(ts) // 240000000 * 240000000, epoch_us(ts) - 600000000, -240000000)) AS w FROM logs
  WHERE ts IS NOT NULL)
GROUP BY isRobot, w
