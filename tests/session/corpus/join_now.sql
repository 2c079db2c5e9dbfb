-- [NOW] is a range of zero: a row meets others only while it is the latest.
SELECT t.ts, t.bytes, u.ts AS uts, u.bytes AS ubytes FROM tcp [NOW] AS t, udp [RANGE 5 SECONDS] AS u
WHERE t.dest_host = u.src_host
-- duckdb
SELECT t.ts, t.bytes, u.ts AS uts, u.bytes AS ubytes FROM tcp t, udp u
WHERE t.dest_host = u.src_host AND t.ts >= u.ts AND t.ts - u.ts <= INTERVAL 5 SECOND
