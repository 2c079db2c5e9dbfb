-- statistics {"tcp": {"rows_per_second": 50, "distinct": {"host": 7, "port": 4}}}
SELECT host, size FROM tcp WHERE suspicious(host) AND size < 1000 AND port = 22
-- duckdb
SELECT host, size FROM tcp WHERE host IS NOT NULL AND substr(host, 2) <> '3' AND size < 1000 AND port = 22
