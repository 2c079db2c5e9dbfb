i + j
i - j
i * j
i / j
i DIV j
i % j
t + t
t * t
t - h
h * h
l + 1
l - 1
l * l
l + i
l DIV -1
l DIV i
l % i
l % -1
i % -1
i DIV -1
-i
-l
-t
-d
-n
abs(i)
abs(l)
abs(t)
abs(d)
abs(n)
abs(h)
d + e
d - e
d * e
d / e
d % e
f + f
f * 2
f / e
f % 2
d / 0
d % 0
i / 0
i % 0
NULL / 0
i / NULL
i + NULL
n + m
n - m
n * m
n + 1
n * 2
n + i
n * i
n + 0.5
n + t
m * 10
n + d
d % 3
e % 7e-1
i * 1.5
(i + 1) / (j + 1)
i + (10 / j)
(10 / j) + i
NULL + i / 0
i / (10 / j)
t / t
t % h
t DIV h
-(-i)
i + 2147483647
10 / CAST(w AS INT)
l + n
h DIV 3
n - 1e0
i - l
i % (10 DIV j)
1 / 3
2 * 3 - 7
