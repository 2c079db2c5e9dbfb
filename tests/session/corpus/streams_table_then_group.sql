SELECT s.place, count(*) AS n, min(t.bytes) AS least FROM tcp t, udp u, sites s
WHERE t.src_host = u.dest_host AND s.host = u.dest_host GROUP BY s.place, TUMBLE(15 SECONDS) WINDOW 2 SECONDS
-- duckdb
SELECT s.place, count(*) AS n, min(t.bytes) AS least FROM tcp t, udp u, sites s
WHERE t.src_host = u.dest_host AND s.host = u.dest_host AND abs(epoch_us(t.ts) - epoch_us(u.ts)) <= 2000000
GROUP BY s.place, epoch_us(greatest(t.ts, u.ts)) // 15000000
