i = j
i <> j
i < j
i <= j
i > j
i >= j
i <=> j
i = l
t < h
d = e
d <> e
d < e
d <= e
d > e
d >= e
d <=> e
f = d
f < e
d = 0e0
d = -0e0
n = m
n < m
n >= i
n <=> m
s = u
s < u
s <=> u
b = c
b < c
b <=> c
y < z
y = z
z = '1970-01-01'
q < '2000-01-01 00:00:00'
g < INTERVAL '1' DAY
g = g
i = NULL
NULL = NULL
NULL <=> NULL
s <=> NULL
i BETWEEN j AND 10
d BETWEEN e AND 1e300
i IS NULL
s IS NOT NULL
NOT b
b IS TRUE
b IS FALSE
d > 1
n > 1
f <=> d
y = '2024-02-29'
l > d
n < d
z <=> z
