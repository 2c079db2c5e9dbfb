SELECT t.src_host, count(*) AS n, avg(u.bytes) AS mean, window_start FROM tcp t, udp u
WHERE t.src_host = u.dest_host AND t.bytes > 0 GROUP BY t.src_host, HOP(10 SECONDS, 5 SECONDS) HAVING count(*) > 1 WINDOW 3 SECONDS
-- duckdb
SELECT src_host, count(*) AS n, avg(bytes) AS mean, make_timestamp(w) AS window_start FROM (
  SELECT *, unnest(range(epoch_us(m) // 5000000 * 5000000, epoch_us(m) - 10000000, -5000000)) AS w FROM (
    SELECT t.src_host, u.bytes, greatest(t.ts, u.ts) AS m FROM tcp t, udp u
    WHERE t.src_host = u.dest_host AND t.bytes > 0 AND abs(epoch_us(t.ts) - epoch_us(u.ts)) <= 3000000))
GROUP BY src_host, w HAVING count(*) > 1
