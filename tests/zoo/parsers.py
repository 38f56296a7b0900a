"""Recursive descent: methods that call one another and share an object that knows where they are; expressions."""

import math
import operator

from tests.zoo.registry import case


class Lexer:
    def __init__(self, text):
        self.text = text
        self.pos = 0

    def peek(self):
        while self.pos < len(self.text) and self.text[self.pos] == " ":
            self.pos += 1
        return self.text[self.pos] if self.pos < len(self.text) else "end"

    def take(self):
        c = self.peek()
        self.pos += 1
        return c


class ByCharacters:
    def __init__(self, text, names):
        self.lexer = Lexer(text)
        self.names = names

    def expression(self):
        value = self.term()
        while self.lexer.peek() in "+-":
            op = self.lexer.take()
            other = self.term()
            value = value + other if op == "+" else value - other
        return value

    def term(self):
        value = self.factor()
        while self.lexer.peek() in "*/":
            op = self.lexer.take()
            other = self.factor()
            value = value * other if op == "*" else value / other
        return value

    def factor(self):
        c = self.lexer.peek()
        if c == "-":
            self.lexer.take()
            return -self.factor()
        if c == "(":
            self.lexer.take()
            value = self.expression()
            self.lexer.take()
            return value
        if c.isdigit():
            digits = ""
            while self.lexer.peek().isdigit() or self.lexer.peek() == ".":
                digits += self.lexer.take()
            return float(digits)
        return self.names[self.lexer.take()]


@case(1.3, 0.7)
def parsed_by_characters(x, y):
    return ByCharacters("x * (y + 3) - -x / (y * 2.5 + x)", {"x": x, "y": y}).expression()


class ByIterator:
    def __init__(self, text, names):
        self.tokens = iter(text.split())
        self.names = names
        self.token = None
        self.advance()

    def advance(self):
        self.token = next(self.tokens, None)

    def expression(self):
        value = self.term()
        while self.token == "+" or self.token == "-":
            op = self.token
            self.advance()
            if op == "+":
                value = value + self.term()
            else:
                value = value - self.term()
        return value

    def term(self):
        value = self.factor()
        while self.token == "*" or self.token == "/":
            op = self.token
            self.advance()
            if op == "*":
                value = value * self.factor()
            else:
                value = value / self.factor()
        return value

    def factor(self):
        if self.token == "(":
            self.advance()
            value = self.expression()
            self.advance()
            return value
        token = self.token
        self.advance()
        if token in self.names:
            return self.names[token]
        return float(token)


@case(1.3, 0.7)
def parsed_by_an_iterator(x, y):
    return ByIterator("x * ( y + 3 ) - x / ( y * 2.5 + x )", {"x": x, "y": y}).expression()


class OfValues:
    def __init__(self, text, names):
        self.text, self.at, self.names = text, 0, names

    def skip(self):
        while self.text[self.at] in " ,:":
            self.at += 1

    def value(self):
        self.skip()
        c = self.text[self.at]
        if c == "{":
            return self.table()
        if c == "[":
            return self.row()
        if c == '"':
            return self.string()
        start = self.at
        while self.text[self.at] not in ",]} ":
            self.at += 1
        word = self.text[start : self.at]
        return self.names[word] if word in self.names else float(word)

    def string(self):
        end = self.text.index('"', self.at + 1)
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def row(self):
        self.at += 1
        found = []
        while self.text[self.at] != "]":
            found.append(self.value())
        self.at += 1
        return found

    def table(self):
        self.at += 1
        found = {}
        while self.text[self.at] != "}":
            name = self.string()
            found[name] = self.value()
            while self.text[self.at] in " ,":
                self.at += 1
        self.at += 1
        return found


def summed(value, weight):
    if isinstance(value, dict):
        return sum(summed(v, weight * 0.9) for v in value.values())
    if isinstance(value, list):
        total = 0.0
        for v in value:
            total += summed(v, weight * 0.8)
        return total
    return 0.0 if isinstance(value, str) else value * value * weight


@case(1.3, 0.7)
def nested_values_parsed(x, y):
    value = OfValues('{"a": x, "b": [y, 2.5, {"c": x}], "n": "s"}', {"x": x, "y": y}).value()
    return summed(value, 1.0)


class Names(dict):
    def __init__(self, names=(), values=(), outer=None):
        self.update(zip(names, values, strict=True))
        self.outer = outer

    def holder(self, name):
        return self if name in self else self.outer.holder(name)


def read(tokens):
    token = tokens.pop(0)
    if token == "(":
        found = []
        while tokens[0] != ")":
            found.append(read(tokens))
        tokens.pop(0)
        return found
    try:
        return float(token)
    except ValueError:
        return token


def value_of(e, names):
    if isinstance(e, str):
        return names.holder(e)[e]
    if not isinstance(e, list):
        return e
    if e[0] == "let":
        return value_of(e[3], Names((e[1],), (value_of(e[2], names),), names))
    if e[0] == "lambda":
        return lambda *args: value_of(e[2], Names(e[1], args, names))
    f = value_of(e[0], names)
    return f(*[value_of(a, names) for a in e[1:]])


@case(1.3, 0.7)
def functions_that_a_text_makes(x, y):
    text = "( let square ( lambda ( a ) ( * a a ) ) ( + ( square ( * x y ) ) ( sin x ) ) )"
    names = Names(("+", "*", "sin", "x", "y"), (operator.add, operator.mul, math.sin, x, y))
    return value_of(read(text.split()), names)


class Number:
    def __init__(self, value):
        self.value = value


class Variable:
    pass


class Sum:
    def __init__(self, a, b):
        self.a, self.b = a, b


class Product:
    def __init__(self, a, b):
        self.a, self.b = a, b


class Sine:
    def __init__(self, a):
        self.a = a


class Cosine:
    def __init__(self, a):
        self.a = a


def derivative(e):
    if isinstance(e, Number):
        return Number(0.0)
    if isinstance(e, Variable):
        return Number(1.0)
    if isinstance(e, Sum):
        return Sum(derivative(e.a), derivative(e.b))
    if isinstance(e, Product):
        return Sum(Product(derivative(e.a), e.b), Product(e.a, derivative(e.b)))
    if isinstance(e, Sine):
        return Product(Cosine(e.a), derivative(e.a))
    return Product(Product(Number(-1.0), Sine(e.a)), derivative(e.a))


def worth(e, x):
    if isinstance(e, Number):
        return e.value
    if isinstance(e, Variable):
        return x
    if isinstance(e, Sum):
        return worth(e.a, x) + worth(e.b, x)
    if isinstance(e, Product):
        return worth(e.a, x) * worth(e.b, x)
    return math.sin(worth(e.a, x)) if isinstance(e, Sine) else math.cos(worth(e.a, x))


@case(1.3, 0.7)
def expression_differentiated(x, y):
    e = Product(Sine(Product(Number(y), Variable())), Sum(Variable(), Number(x)))
    return worth(derivative(e), x)
