SELECT t.bytes, u.bytes AS ubytes FROM tcp [NOW] t INNER JOIN udp [NOW] u ON t.dest_host = u.src_host
-- duckdb
SELECT t.bytes, u.bytes AS ubytes FROM tcp t, udp u WHERE t.dest_host = u.src_host AND t.ts = u.ts
