CASE WHEN i <> 0 THEN 10 / i END
CASE WHEN i = 0 THEN 0 ELSE 10 DIV i END
CASE i WHEN 0 THEN 'none' WHEN 2 THEN 'two' ELSE s END
CASE WHEN b THEN i ELSE l END
CASE WHEN b THEN n ELSE m END
CASE WHEN b THEN NULL ELSE i END
CASE WHEN b THEN NULL END
if(b, i, j)
if(b, i + 1, j - 1)
nullif(i, j)
nullif(i, 0)
10 / nullif(i, 0)
coalesce(i, j, 5)
coalesce(i, 10 / j)
coalesce(i, 10 DIV j)
coalesce(NULL, s, u)
coalesce(d, e, 0e0)
coalesce(NULL, NULL)
nvl(s, 'none')
coalesce(z, y)
CASE WHEN 1 / i > 0 THEN 1 WHEN 1 / j > 0 THEN 2 ELSE 3 END
CASE WHEN b THEN z ELSE y END
coalesce(g, INTERVAL '1' SECOND)
greatest(i, j)
least(i, j)
greatest(d, e)
least(d, e)
greatest(f, d, 1e0)
greatest(s, u)
least(s, u, 'b')
greatest(n, m, 1)
greatest(b, c)
least(y, '2000-01-01')
greatest(NULL, i)
least(NULL, NULL)
greatest(z, y)
greatest(10 / i, 10 / j)
