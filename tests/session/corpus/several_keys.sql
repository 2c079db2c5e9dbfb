-- Of different widths, and one by an expression of a function.
SELECT t.ts, t.bytes, u.ts AS uts FROM tcp t, udp u
WHERE t.src_host = u.src_host AND u.dest_host = t.dest_host AND bucket(t.src_host) = bucket(t.dest_host) WINDOW 20 SECONDS
-- duckdb
SELECT t.ts, t.bytes, u.ts AS uts FROM tcp t, udp u
WHERE t.src_host = u.src_host AND u.dest_host = t.dest_host
  AND (t.src_host IS NOT NULL AND t.dest_host IS NOT NULL)
  AND greatest(t.ts, u.ts) - t.ts <= INTERVAL 20 SECOND AND greatest(t.ts, u.ts) - u.ts <= INTERVAL 20 SECOND
