"""Replacements in text by functions of the user's, which may do more than give text."""

from __future__ import annotations

import re

from mooncake_py.registry import overlay


@overlay(re.Pattern.subn)
def pattern_subn(pattern, repl, string, count=0):
    if not callable(repl):
        return re.Pattern.subn(pattern, repl, string, count)
    parts, end, n = [], 0, 0
    for match in pattern.finditer(string):
        if count > 0 and n >= count:
            break
        parts.append(string[end : match.start()])
        text = repl(match)
        if text is not None:
            parts.append(text)
        end = match.end()
        n += 1
    parts.append(string[end:])
    return string[:0].join(parts), n


@overlay(re.Pattern.sub)
def pattern_sub(pattern, repl, string, count=0):
    return pattern_subn(pattern, repl, string, count)[0]


@overlay(re.sub)
def sub(pattern, repl, string, count=0, flags=0):
    return pattern_subn(re.compile(pattern, flags), repl, string, count)[0]


@overlay(re.subn)
def subn(pattern, repl, string, count=0, flags=0):
    return pattern_subn(re.compile(pattern, flags), repl, string, count)
