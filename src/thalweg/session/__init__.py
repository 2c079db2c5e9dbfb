"""Sessions: named streams, tables and functions, and continuous queries over them, on Spark or in this process."""

from thalweg.session.adaptive_parts import QueryReport
from thalweg.session.continuous_query import ContinuousQuery
from thalweg.session.handle import Handle
from thalweg.session.query_rounds import QueryRounds
from thalweg.session.session import Session, session

__all__ = ["ContinuousQuery", "Handle", "QueryReport", "QueryRounds", "Session", "session"]
