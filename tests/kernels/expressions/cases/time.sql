year(z)
month(z)
day(z)
hour(z)
minute(z)
second(z)
year(q)
month(q)
day(q)
hour(q)
minute(q)
second(q)
year(y)
month(y)
day(y)
date_trunc('year', z)
date_trunc('quarter', z)
date_trunc('month', z)
date_trunc('week', z)
date_trunc('day', z)
date_trunc('hour', z)
date_trunc('minute', z)
date_trunc('second', z)
date_trunc('millisecond', z)
date_trunc('week', q)
date_trunc('quarter', q)
date_trunc('hour', q)
date_trunc('YEAR', q)
z - z
q - q
z - TIMESTAMP '2000-01-01 00:00:00'
z + INTERVAL '1' DAY
z - INTERVAL '90' MINUTES
q + INTERVAL '-1' SECOND
INTERVAL '1' DAY + z
z + g
z - g
q + g
g + g
g - g
g > INTERVAL '1' HOUR
z + g > z
z > y
extract(YEAR FROM z)
extract(HOUR FROM q)
g = INTERVAL '36' HOURS
date_trunc('day', z) = z
z - date_trunc('day', z)
