-- A-Greedy, example 1: a selection alone keeps nothing, so that its window changes nothing.
SELECT tcp.src_host, tcp.dest_host FROM tcp WHERE tcp.dest_host = 2 WINDOW 1 SECOND;
-- duckdb
SELECT src_host, dest_host FROM tcp WHERE dest_host = 2
