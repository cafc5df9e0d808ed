"""Where something stands in a key: the file, the line, the exercise.

In: the text of a TOML file, the names on the way to a field. Out: the number of its line. Touches nothing.
"""

import re
from dataclasses import dataclass, replace

from solutions.errors import AnswerKeyError

HEADER = re.compile(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]{1,2}\s*(#.*)?$")


@dataclass(frozen=True)
class Place:
    """A table of a key. ``number`` counts the tables of that header from 0; ``words`` say which case it is.

    Without a header, it is what stands in the file before its first table.
    """

    file: str
    text: str
    exercise: str
    header: str
    number: int = 0
    words: str = ""

    def inside(self, header, number, words):
        """Return the place of the table ``[[exercise.header]]`` of that ``number``."""
        return replace(self, header=f"{self.exercise}.{header}", number=number, words=f", {words}")

    def describe(self, name=""):
        """Return this place in words, with the line of the field ``name`` if it is there, else that of the table."""
        table = f", [{self.exercise}]" if self.exercise else ""
        return f"{self.file}, line {self._line(name)}{table}{self.words}"

    def refuse(self, what, remedy, name=""):
        raise AnswerKeyError(what, self.describe(name), remedy)

    def _line(self, name):
        rows = self.text.splitlines()
        headers = {n: match[1].replace('"', "") for n, row in enumerate(rows, 1) if (match := HEADER.match(row))}
        tables = [n for n, header in headers.items() if header == self.header][self.number :]
        tables += [n for n, header in headers.items() if header == self.exercise]  # what is written without a header
        if not tables and self.header:
            return 1
        begin = tables[0] if self.header else 0
        end = min((n for n in headers if n > begin), default=len(rows) + 1)
        field = re.compile(rf'\s*"?{re.escape(name)}"?\s*[.=]')
        inside = [n for n in range(begin + 1, end) if name and field.match(rows[n - 1])]
        below = [n for n, header in headers.items() if name and header == f"{self.header}.{name}"]
        return (inside or below or [max(begin, 1)])[0]
