SELECT one.size, two.size AS again FROM udp [NOW] AS one, udp [RANGE 15 SECONDS] AS two WHERE one.host = two.host AND one.size > two.size
-- duckdb
SELECT one.size, two.size FROM udp one, udp two WHERE one.host = two.host AND one.size > two.size
AND one.ts >= two.ts AND two.ts >= one.ts - INTERVAL 15 SECONDS
