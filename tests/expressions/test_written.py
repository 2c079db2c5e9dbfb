"""Expressions written by hand, where Spark's answers are easily missed: each on every row of a nasty table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.expressions.nasty import SparkSide, check, read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = {
    "comparison": """
        i = j; i <> j; i < j; i <= j; i > j; i >= j; i <=> j; i = l; t < h; d = e; d <> e; d < e; d <= e; d > e; d >= e
        d <=> e; f = d; f < e; d = 0e0; d = -0e0; n = m; n < m; n >= i; n <=> m; s = u; s < u; s <=> u; b = c; b < c
        b <=> c; y < z; y = z; z = '1970-01-01'; q < '2000-01-01 00:00:00'; g < INTERVAL '1' DAY; g = g; i = NULL; NULL = NULL
        NULL <=> NULL; s <=> NULL; i BETWEEN j AND 10; d BETWEEN e AND 1e300; i IS NULL; s IS NOT NULL; NOT b
        b IS TRUE; b IS FALSE; d > 1; n > 1; f <=> d; y = '2024-02-29'; l > d; n < d; z <=> z
    """,
    "logic": """
        b AND c; b OR c; NOT (b AND c); b AND NULL; b OR NULL; i <> 0 AND 10 / i > 2; i = 0 OR 10 / i > 2
        i = 0 OR NOT (10 % i = 1); b AND i + 1 > 0; b OR i + 1 > 0; (b OR c) AND 1 / i > 0; i IS NULL OR j IS NULL OR i / j > 1
        j <> 0 AND i DIV j > 1; b AND (c AND 1 / j > 0); NOT b OR NOT c; CAST(w AS INT) > 5 AND b; b AND CAST(w AS INT) > 5
    """,
    "in": """
        i IN (0, 2, 7); i IN (0, NULL); i NOT IN (0, 2); i NOT IN (0, NULL); s IN ('a', ''); s IN ('a', NULL); d IN (0e0, 2.5e0)
        d IN (e, 1e300); i IN (j, 2); i IN (0, 10 / j); i IN (10 DIV j, 2); l IN (i, j); n IN (1.5, 0.05); b IN (TRUE); z IN (z)
        y IN ('2024-02-29'); d NOT IN (e); b IN (TRUE, NULL); NULL IN (1, 2); i IN (NULL)
    """,
    "case": """
        CASE WHEN i <> 0 THEN 10 / i END; CASE WHEN i = 0 THEN 0 ELSE 10 DIV i END; CASE i WHEN 0 THEN 'none' WHEN 2 THEN 'two' ELSE s END
        CASE WHEN b THEN i ELSE l END; CASE WHEN b THEN n ELSE m END; CASE WHEN b THEN NULL ELSE i END; CASE WHEN b THEN NULL END
        if(b, i, j); if(b, i + 1, j - 1); nullif(i, j); nullif(i, 0); 10 / nullif(i, 0); coalesce(i, j, 5); coalesce(i, 10 / j)
        coalesce(i, 10 DIV j); coalesce(NULL, s, u); coalesce(d, e, 0e0); coalesce(NULL, NULL); nvl(s, 'none'); coalesce(z, q IS NULL AND b)
        CASE WHEN 1 / i > 0 THEN 1 WHEN 1 / j > 0 THEN 2 ELSE 3 END; CASE WHEN b THEN z ELSE y END; coalesce(g, INTERVAL '1' SECOND)
        greatest(i, j); least(i, j); greatest(d, e); least(d, e); greatest(f, d, 1e0); greatest(s, u); least(s, u, 'b'); greatest(n, m, 1)
        greatest(b, c); least(y, '2000-01-01'); greatest(NULL, i); least(NULL, NULL); greatest(z, y); greatest(10 / i, 10 / j)
    """,
    "arithmetic": """
        i + j; i - j; i * j; i / j; i DIV j; i % j; t + t; t * t; t - h; h * h; l + 1; l - 1; l * l; l + i; l DIV -1; l DIV i; l % i
        l % -1; i % -1; i DIV -1; -i; -l; -t; -d; -n; abs(i); abs(l); abs(t); abs(d); abs(n); abs(h); d + e; d - e; d * e; d / e; d % e
        f + f; f * 2; f / e; f % 2; d / 0; d % 0; i / 0; i % 0; NULL / 0; i / NULL; i + NULL; n + m; n - m; n * m; n + 1; n * 2; n + i
        n * i; n + 0.5; n + t; m * 10; n + d; d % 3; e % 7e-1; i * 1.5; (i + 1) / (j + 1); i + (10 / j); (10 / j) + i; NULL + i / 0
        i / (10 / j); t / t; t % h; t DIV h; -(-i); i + 2147483647; 10 / CAST(w AS INT); l + n; h DIV 3; n - 1e0; i - l
        i % (10 DIV j); 1 / 3; 2 * 3 - 7
    """,
    "numbers": """
        round(d); round(d, 2); round(e, 2); round(e, 1); round(d, -1); round(f, 1); round(f); round(f, 3); round(i, -1); round(i, -2); round(l, -3)
        round(l, -19); round(l, -18); round(l, -1); round(t, -1); round(t, -2); round(t, -3); round(h, -4); round(i, -10); round(i, -9); round(i, 2)
        round(d, -20); round(d, 30); round(e, 305); round(e, -300); round(l, -25); floor(d); ceil(d); floor(e); ceil(e); floor(f); ceil(f)
        floor(i); ceil(l); floor(t); sqrt(d); sqrt(e); sqrt(i); exp(e); exp(t); ln(d); ln(e); ln(i); ln(f); power(d, e)
        power(e, d); power(1, d); power(-1, d); power(i, 2); power(2, t); power(e, 0); sqrt(n); power(n, 2); round(1.005e0, 2); round(2.5e0)
        round(-2.5e0); round(e * 1000, 1); round(d / 3e0, 3); round(e / 7e0, 4); floor(n + 0e0); floor(-0.5e0); ceil(-0.5e0)
    """,
    "text": """
        length(s); upper(s); lower(s); upper(u); trim(s); ltrim(s); rtrim(s); trim(w); length(trim(s)); substring(s, 1); substring(s, 2)
        substring(s, 0); substring(s, -2); substring(s, 2, 2); substring(s, 0, 2); substring(s, -2, 1); substring(s, -5, 3); substring(s, -5, 7)
        substring(s, 2, 0); substring(s, 2, -1); substring(s, 100); substring(s, j); substring(s, j, 2); substring(s, 2, j); substring(s, t, j)
        substring(s, i, j); substring('日本語', j); substring(s, j, i); substring(s, NULL); substring(s, -100, 100); substring(s, 2147483647)
        substring(s, -2147483648, 2147483647); substring(s, 2, 2147483647); replace(s, 'a', 'bb'); replace(s, '', 'x'); replace(s, u, '-')
        replace(s, 'a', u); replace(s, u, s); replace('aaa', 'aa', u); replace(s, NULL, 'x'); replace(s, 'a', ''); startswith(s, 'a'); startswith(s, '')
        startswith(s, u); endswith(s, 'b'); endswith(s, u); endswith(s, ''); contains(s, 'a'); contains(s, ''); contains(s, u); contains(u, s)
        contains('abc', u); startswith('Straße', s); contains(s, NULL); instr(s, 'a'); instr(s, ''); instr(s, 'ß'); instr(s, '本'); instr(s, u)
        instr(s, 'y'); instr(u, s); instr(s, 'zz'); instr(s, NULL); s || u; concat(s, u, 'x'); concat(s); concat(s, NULL); concat('a', 'b')
        s LIKE 'a%'; s LIKE '%b'; s LIKE '%a%'; s LIKE 'a_b%'; s LIKE '%\\\\%%'; s LIKE 'a!%b!_c' ESCAPE '!'; s LIKE ''; s LIKE '%'; s LIKE '%%'; s LIKE '_'
        s LIKE '___'; s LIKE 'line%'; s LIKE 'line_break'; s LIKE '%\\\\\\\\%'; s LIKE '日%ト'; s LIKE '_y_'; s LIKE 'a.*'; s NOT LIKE 'a%'; s LIKE '%_%'
        s LIKE 'a%a'; s LIKE '% %'; u LIKE '\\\\%'; s RLIKE 'a'; s RLIKE '^a+$'; s RLIKE '[a-c]{2}'; s RLIKE ''; s RLIKE 'e.b'; s RLIKE '(?s)e.b'; s RLIKE '\\\\d'
        s RLIKE '本'; NOT s RLIKE 'a'; upper(s) = upper(u); lower(upper(s)); length(s || u); w RLIKE '^ *[0-9]+ *$'; s LIKE '(%'; s LIKE '%.%'
    """,
    "time": """
        year(z); month(z); day(z); hour(z); minute(z); second(z); year(q); month(q); day(q); hour(q); minute(q); second(q); year(y); month(y); day(y)
        date_trunc('year', z); date_trunc('quarter', z); date_trunc('month', z); date_trunc('week', z); date_trunc('day', z); date_trunc('hour', z)
        date_trunc('minute', z); date_trunc('second', z); date_trunc('millisecond', z); date_trunc('week', q); date_trunc('quarter', q)
        date_trunc('hour', q); date_trunc('YEAR', q); z - z; q - q; z - TIMESTAMP '2000-01-01 00:00:00'; z + INTERVAL '1' DAY; z - INTERVAL '90' MINUTES
        q + INTERVAL '-1' SECOND; INTERVAL '1' DAY + z; z + g; z - g; q + g; g + g; g - g; g > INTERVAL '1' HOUR; z + g > z; z > y
        extract(YEAR FROM z); extract(HOUR FROM q); g = INTERVAL '36' HOURS; date_trunc('day', z) = z; z - date_trunc('day', z)
    """,
    "casts": """
        CAST(i AS BIGINT); CAST(i AS SMALLINT); CAST(i AS TINYINT); CAST(l AS INT); CAST(l AS DOUBLE); CAST(l AS FLOAT); CAST(i AS FLOAT); CAST(d AS INT)
        CAST(d AS BIGINT); CAST(e AS BIGINT); CAST(d AS SMALLINT); CAST(d AS TINYINT); CAST(f AS INT); CAST(f AS BIGINT); CAST(d AS FLOAT); CAST(f AS DOUBLE)
        CAST(f AS TINYINT); CAST(n AS INT); CAST(n AS TINYINT); CAST(n AS BIGINT); CAST(n AS DOUBLE); CAST(m AS DOUBLE); CAST(m AS FLOAT); CAST(m AS INT)
        CAST(n AS DECIMAL(10, 1)); CAST(n AS DECIMAL(4, 1)); CAST(n AS DECIMAL(12, 4)); CAST(m AS DECIMAL(16, 2)); CAST(m AS DECIMAL(38, 10))
        CAST(m AS DECIMAL(10, 0)); CAST(i AS DECIMAL(10, 0)); CAST(i AS DECIMAL(12, 2)); CAST(i AS DECIMAL(4, 2)); CAST(l AS DECIMAL(38, 5)); CAST(t AS DECIMAL(3, 1))
        CAST(d AS DECIMAL(10, 2)); CAST(e AS DECIMAL(10, 2)); CAST(f AS DECIMAL(20, 8)); CAST(e AS DECIMAL(38, 20)); CAST(d AS DECIMAL(38, 0))
        CAST(w AS INT); CAST(w AS BIGINT); CAST(w AS TINYINT); CAST(w AS DOUBLE); CAST(w AS FLOAT); CAST(w AS DECIMAL(10, 2)); CAST(w AS DECIMAL(3, 2))
        CAST(w AS BOOLEAN); CAST(s AS INT); CAST(u AS BOOLEAN); CAST(i AS STRING); CAST(l AS STRING); CAST(t AS STRING); CAST(b AS STRING); CAST(y AS STRING)
        CAST(b AS INT); CAST(b AS BIGINT); CAST(i AS BOOLEAN); CAST(l AS BOOLEAN); CAST(z AS DATE); CAST(q AS DATE); CAST(y AS TIMESTAMP)
        CAST(y AS TIMESTAMP_NTZ); CAST('2024-01-01' AS DATE); CAST('12' AS INT); CAST(' 12 ' AS INT); CAST('1.5' AS INT); CAST('1.' AS DOUBLE)
        CAST('.5' AS DOUBLE); CAST('1d' AS DOUBLE); CAST('1f' AS FLOAT); CAST('inf' AS DOUBLE); CAST('-Infinity' AS DOUBLE); CAST('NaN' AS DOUBLE)
        CAST('1e' AS DOUBLE); CAST('' AS DOUBLE); CAST('+1.5' AS DOUBLE); CAST('0x10' AS INT); CAST('00000000000000000000007' AS INT); CAST('-0' AS INT)
        CAST('1e400' AS DOUBLE); CAST('1e-400' AS DOUBLE); CAST('2.345' AS DECIMAL(4, 2)); CAST('99.995' AS DECIMAL(4, 2)); CAST('1e2' AS DECIMAL(5, 1))
        CAST('1e400' AS DECIMAL(5, 1)); CAST('1e-400' AS DECIMAL(5, 1)); CAST('inf' AS DECIMAL(5, 1)); CAST('TRUE' AS BOOLEAN); CAST(' yes ' AS BOOLEAN)
        CAST('ja' AS BOOLEAN); CAST('+inf' AS DOUBLE); CAST('9223372036854775808' AS BIGINT); CAST('-9223372036854775808' AS BIGINT); CAST('١' AS INT)
        CAST('1 2' AS INT); CAST('--1' AS INT); CAST('1_0' AS INT); CAST('-' AS INT); CAST('.' AS DOUBLE); CAST('128' AS TINYINT); CAST(NULL AS INT)
        CAST('1e3' AS INT); CAST('nan' AS FLOAT); CAST('+NaN' AS DOUBLE); CAST('infd' AS DOUBLE); CAST('1e5d' AS DOUBLE); CAST('\\t7\\n' AS INT)
        CAST('\\t7\\n' AS DOUBLE); CAST('\\t7\\n' AS DECIMAL(3, 1)); CAST('\\u0001true' AS BOOLEAN); CAST(2.5 AS INT); CAST(1e10 AS INT)
    """,
}  # fmt: skip


@pytest.fixture(scope="module")
def side(spark: SparkSession) -> SparkSide:
    """Made once."""
    return SparkSide(spark)


def cases(family: str) -> list[str]:
    """One expression each."""
    return [case.strip() for line in CASES[family].splitlines() for case in line.split(";") if case.strip()]


@pytest.mark.slow
@pytest.mark.parametrize("family", CASES)
def test_same_as_spark(side: SparkSide, family: str) -> None:
    """Values, nulls, types, and which rows raise."""
    check(side, [read(case) for case in cases(family)])
