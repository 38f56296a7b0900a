"""What is logged or written out as text is what a plain call logs, and has no derivative."""

from __future__ import annotations

import csv
import io
import logging
import math
from collections.abc import Iterator

import pytest

from mooncake_py import grad, value_and_grad

FORMAT = "%(levelname)s %(name)s %(funcName)s:%(lineno)d %(message)s"
log = logging.getLogger("a.model")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """What the logger above writes."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter(FORMAT))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield text
    log.removeHandler(handler)
    log.setLevel(logging.NOTSET)


def messages(x: float) -> float:
    log.debug("not shown: %s", x)
    total = 0.0
    for i in range(3):
        total = total + math.sin(x) * x
        log.info("step %d: %.6f", i, total)
    if log.isEnabledFor(logging.WARNING):
        log.warning("done")
    try:
        raise ValueError(x)
    except ValueError:
        log.exception("with %r", x)
    log.log(logging.ERROR, "at %s", x, extra={"place": x}, stack_info=False)
    return total


def slope(x: float) -> float:
    return 3.0 * (math.cos(x) * x + math.sin(x))


def without_traces(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.split(" ")[0] in ("INFO", "WARNING", "ERROR")]


@pytest.mark.parametrize("checked", [False, True])
def test_messages_are_those_of_a_plain_call(stream: io.StringIO, checked: bool) -> None:
    value = messages(0.7)
    expected = without_traces(stream.getvalue())
    assert len(expected) == 6 and "messages:" in expected[0]
    for _ in range(2):
        stream.seek(0)
        stream.truncate()
        assert value_and_grad(messages, debug_mode=checked)(0.7) == (value, pytest.approx(slope(0.7)))
        assert without_traces(stream.getvalue()) == expected


def called_by_module(x: float) -> float:
    logging.warning("x is %s", x)
    logging.info("not shown %s", x)
    return x * x


def test_the_root_logger_without_handlers(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers[:] = []
    try:
        assert grad(called_by_module)(1.5) == 3.0
        assert "x is 1.5" in capsys.readouterr().err
    finally:
        root.handlers[:] = before


class Kept(logging.Handler):
    """A handler of the user's."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append((record.funcName, record.lineno, record.getMessage()))


def one_message(x: float) -> float:
    y = x * x
    log.info("y is %.3f", y)
    return y


def test_handlers_of_the_users_are_looked_into(stream: io.StringIO) -> None:
    kept = Kept()
    log.addHandler(kept)
    try:
        one_message(0.7)
        expected = kept.found[:]
        kept.found.clear()
        assert grad(one_message)(0.7) == 1.4
        assert kept.found == expected and len(stream.getvalue().splitlines()) == 2
    finally:
        log.removeHandler(kept)


def test_what_hands_records_to_handlers_is_not_looked_into(stream: io.StringIO) -> None:
    class Lines(Kept):
        def emit(self, record: logging.LogRecord) -> None:
            self.found.append((self.format(record), 0, ""))

    kept, heard = Lines(), Kept()
    of_engine = logging.getLogger("mooncake_py")
    log.addHandler(kept)
    of_engine.addHandler(heard)
    of_engine.setLevel(logging.INFO)
    try:
        assert grad(lambda x: one_message(x) * x)(0.7) == pytest.approx(3 * 0.7**2)
    finally:
        log.removeHandler(kept)
        of_engine.removeHandler(heard)
        of_engine.setLevel(logging.NOTSET)
    derived = [text.split()[1] for _, _, text in heard.found]
    assert not {"Logger.callHandlers", "Handler.format", "StreamHandler.flush"}.intersection(derived) and derived
    assert [text for text, _, _ in kept.found] == ["y is 0.490"]


class OfArguments(logging.Handler):
    """A handler that keeps what the message is made of."""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.args


numbers, of_numbers = logging.getLogger("a.numbers"), OfArguments()
numbers.addHandler(of_numbers)
numbers.setLevel(logging.INFO)
numbers.propagate = False


def read_again(x: float) -> float:
    numbers.info("x is %s", x * x)
    return of_numbers.last[0] * x  # type: ignore[index, operator, return-value]


@pytest.mark.parametrize("checked", [False, True])
def test_what_a_handler_keeps_has_its_derivative(checked: bool) -> None:
    for x in (2.0, 3.0):
        assert value_and_grad(read_again, debug_mode=checked)(x) == (x**3, 3 * x**2)


class Marked(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"<{super().format(record)}>"


def test_formatters_of_the_users_are_looked_into(stream: io.StringIO) -> None:
    log.handlers[-1].setFormatter(Marked("%(asctime)s y: %(message)s", datefmt="at"))
    assert grad(one_message)(0.7) == 1.4
    assert stream.getvalue() == "<at y: y is 0.490>\n"


def test_no_handlers_at_all(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    alone = logging.Logger("alone")

    def f(x: float) -> float:
        alone.warning("x is %s", x)
        alone.addFilter(lambda record: True)  # looked into from here on
        alone.warning("again: %s", x)
        return x * x

    assert grad(f)(1.5) == 3.0
    monkeypatch.setattr(logging, "lastResort", None)
    assert grad(f)(1.5) == 3.0
    assert capsys.readouterr().err.splitlines()[:2] == ["x is 1.5", "again: 1.5"]


def test_rows_of_csv() -> None:
    def f(x: float) -> float:
        text = io.StringIO()
        table = csv.writer(text)
        table.writerow(["x", x])
        table.writerows([[x, 2.0 * x], [1, x * x]])
        return x * x if str(x) in text.getvalue() else 0.0

    assert grad(f)(1.5) == 3.0
