SELECT host, size FROM tcp WHERE port > 0 AND size DIV port > 3 AND suspicious(host) AND host <> 'h1' AND calm(host)
-- duckdb
SELECT host, size FROM tcp WHERE port > 0 AND size // port > 3 AND host <> 'h1' AND substr(host, 2) <> '3' AND substr(host, 2) <> '5'
