SELECT host, count(*) AS rows, count(n) AS known, count(1) AS ones, sum(n) AS total, sum(x) AS real_total, avg(n) AS mean,
  min(x) AS least, max(x) AS most, min(Name) AS first, max(day) AS last_day, sum(amount) AS money, max(isRobot) AS any_robot,
  min(moment) AS earliest, window_start, window_end
FROM logs [RANGE 10 MINUTES] GROUP BY host
-- duckdb
SELECT host, count(*) AS rows, count(n) AS known, count(1) AS ones, sum(n)::BIGINT AS total, sum(x) AS real_total,
  avg(n) AS mean, min(x) AS least, max(x) AS most, min(Name) AS first, max(day) AS last_day,
  sum(amount)::DECIMAL(20, 2) AS money, max(isRobot) AS any_robot, min(moment) AS earliest,
  make_timestamp(epoch_us(ts) // 600000000 * 600000000) AS window_start,
  make_timestamp(epoch_us(ts) // 600000000 * 600000000 + 600000000) AS window_end
FROM logs WHERE ts IS NOT NULL GROUP BY host, epoch_us(ts) // 600000000
