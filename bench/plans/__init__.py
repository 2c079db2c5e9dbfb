"""Benchmarks of join plans: is the chosen plan nearly the best one, and are its cost and memory as predicted?"""
