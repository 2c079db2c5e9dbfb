-- A-Greedy, example 1: three streams, all columns.
SELECT * FROM tcp, udp, sf WHERE tcp.src_host = udp.dest_host AND udp.dest_host = sf.dest_host WINDOW 1 SECOND;
-- duckdb
SELECT tcp.ts AS tcp_ts, tcp.src_host AS tcp_src_host, tcp.dest_host AS tcp_dest_host, tcp.bytes AS tcp_bytes,
  udp.ts AS udp_ts, udp.src_host AS udp_src_host, udp.dest_host AS udp_dest_host, udp.bytes AS udp_bytes,
  sf.ts AS sf_ts, sf.dest_host AS sf_dest_host, sf.flag AS sf_flag
FROM tcp, udp, sf WHERE tcp.src_host = udp.dest_host AND udp.dest_host = sf.dest_host
  AND greatest(tcp.ts, udp.ts, sf.ts) - tcp.ts <= INTERVAL 1 SECOND
  AND greatest(tcp.ts, udp.ts, sf.ts) - udp.ts <= INTERVAL 1 SECOND
  AND greatest(tcp.ts, udp.ts, sf.ts) - sf.ts <= INTERVAL 1 SECOND
