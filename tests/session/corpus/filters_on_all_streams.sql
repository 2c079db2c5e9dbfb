SELECT t.bytes, u.bytes AS b, s.flag FROM tcp [RANGE 1 SECOND] t, udp [RANGE 2 SECONDS] u, sf [RANGE 3 SECONDS] s
WHERE t.bytes > 0 AND u.bytes < 100 AND s.flag = 'syn' AND t.src_host = u.dest_host AND t.dest_host = s.dest_host
  AND t.src_host > 0
-- duckdb
SELECT t.bytes, u.bytes AS b, s.flag FROM tcp t, udp u, sf s
WHERE t.bytes > 0 AND u.bytes < 100 AND s.flag = 'syn' AND t.src_host = u.dest_host AND t.dest_host = s.dest_host
  AND t.src_host > 0 AND greatest(t.ts, u.ts, s.ts) - t.ts <= INTERVAL 1 SECOND
  AND greatest(t.ts, u.ts, s.ts) - u.ts <= INTERVAL 2 SECOND AND greatest(t.ts, u.ts, s.ts) - s.ts <= INTERVAL 3 SECOND
