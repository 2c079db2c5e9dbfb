SELECT t.bytes, u.bytes AS answered, s.place FROM tcp t, udp u, sites s
WHERE t.src_host = u.dest_host AND s.host = t.src_host AND s.place IS NOT NULL WINDOW 2 SECONDS
-- duckdb
SELECT t.bytes, u.bytes AS answered, s.place FROM tcp t, udp u, sites s
WHERE t.src_host = u.dest_host AND s.host = t.src_host AND s.place IS NOT NULL
  AND greatest(t.ts, u.ts) - t.ts <= INTERVAL 2 SECOND AND greatest(t.ts, u.ts) - u.ts <= INTERVAL 2 SECOND
