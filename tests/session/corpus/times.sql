SELECT id, year(ts) AS y, month(moment) AS m, day(ts) AS d, hour(moment) AS h, minute(ts) AS mi, second(moment) AS s,
  date_trunc('hour', ts) AS hours, date_trunc('month', moment) AS months, extract(HOUR FROM ts) AS e, year(day) AS days,
  ts + INTERVAL '90' SECONDS AS later, moment - INTERVAL '1' DAY AS before
FROM logs WHERE ts >= TIMESTAMP '2026-01-01 00:10:00' AND ts < '2026-01-01 00:50:00'
-- duckdb
SELECT id, year(ts)::INT AS y, month(moment)::INT AS m, day(ts)::INT AS d, hour(moment)::INT AS h, minute(ts)::INT AS mi,
  second(moment)::INT AS s, date_trunc('hour', ts) AS hours, date_trunc('month', moment) AS months, hour(ts)::INT AS e,
  year(day)::INT AS days, ts + INTERVAL 90 SECOND AS later, moment - INTERVAL 1 DAY AS before
FROM logs WHERE ts >= TIMESTAMP '2026-01-01 00:10:00' AND ts < TIMESTAMP '2026-01-01 00:50:00'
