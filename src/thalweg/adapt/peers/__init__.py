"""Policies that do what other engines and papers do, to compare with."""
