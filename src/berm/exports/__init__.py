"""Recordings as files of other programs: VTKHDF, USD, CSV and NPZ."""
