"""Vectors of four and eight lanes, compiled or plain."""
