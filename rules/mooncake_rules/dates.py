"""Dates and times: constants, but what they are counted by goes into arithmetic, which needs its type."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from types import GetSetDescriptorType, MemberDescriptorType

from mooncake_py.registry import probed, samples

samples.update({date: date(2000, 1, 2), datetime: datetime(2000, 1, 2), time: time(1), timedelta: timedelta(1)})
_METHODS = "date isoformat isoweekday replace strftime time timestamp toordinal total_seconds weekday"

for _cls in samples:
    probed.add(_cls)
    _held = [d for d in vars(_cls).values() if isinstance(d, (GetSetDescriptorType, MemberDescriptorType))]
    probed.update(d for d in _held if d.__name__ != "tzinfo")  # which others have, not the sample
    probed.update(vars(_cls)[name] for name in _METHODS.split() if name in vars(_cls))
