"""Show together the tables that an exercise asks readers to compare.

In: in an exercise, two or more tables in a row, each after a paragraph that is only its name, in bold. Out: on the website, one
table for all whose heads are the same and long, in which each name begins a group of rows; other tables side by side, where they
fit. The cells of heat maps are shaded. The notebook of an exercise has its tables as they were written.
"""

from docutils import nodes

LONG_HEAD = 6  # columns
HEAT_MAPS = {"softmax-broken_maps"}  # labels of exercises
SHADE = '<span class="weight" style="--w:{:.0%}">'


def gather(app, doctree, docname):
    if app.builder.format != "html":
        return
    for content in list(doctree.findall(_is_exercise_content)):
        if HEAT_MAPS & set(content.parent["ids"]):
            _shade(content)
        for series in _find_series(content.children):
            if len({table.next_node(nodes.thead).astext() for _, table in series}) == 1 and _is_wide(series[0][1]):
                _join_rows(series)
            else:
                _set_side_by_side(series)


def _is_exercise_content(node):
    return isinstance(node, nodes.section) and "exercise-content" in node["ids"]


def _is_wide(table):
    return len(list(table.findall(nodes.colspec))) >= LONG_HEAD


def _find_series(children):
    """Return the lists of two or more ``(name, table)`` that follow each other among ``children``."""
    series, place = [[]], 0
    while place < len(children) - 1:
        name, table = children[place : place + 2]
        if _is_name(name) and isinstance(table, nodes.table):
            series[-1].append((name, table))
            place += 2
        else:
            series.append([])
            place += 1
    return [pairs for pairs in series if len(pairs) > 1]


def _is_name(node):
    parts = [type(part) for part in node.children if part.astext()]
    return isinstance(node, nodes.paragraph) and parts == [nodes.strong]


def _join_rows(series):
    """Move the rows of all tables into the first, below their names."""
    body = series[0][1].next_node(nodes.tbody)
    columns, rows = len(list(series[0][1].findall(nodes.colspec))), []
    for name, table in series:
        cell = nodes.entry("", nodes.paragraph("", "", *name.children), morecols=columns - 1)
        rows += [nodes.row("", cell), *table.next_node(nodes.tbody).children]
    for name, table in series[1:]:
        table.parent.remove(table)
        name.parent.remove(name)
    series[0][0].parent.remove(series[0][0])
    body.children = []
    body += rows


def _set_side_by_side(series):
    beside, parent = nodes.container(classes=["tables-beside"]), series[0][0].parent
    parent.insert(parent.index(series[0][0]), beside)
    for name, table in series:
        parent.remove(name)
        parent.remove(table)
        beside += nodes.container("", name, table)


def _shade(content):
    """Mark each number in the body of a table, except in its first column, with its value as a shade."""
    for row in content.findall(nodes.row):
        for cell in row.children[1:]:
            number = cell.astext().replace("\N{MINUS SIGN}", "-")
            if isinstance(row.parent, nodes.tbody):
                share = min(max(float(number), 0), 1)
                cell[0][:0] = [nodes.raw("", SHADE.format(share), format="html")]
                cell[0] += nodes.raw("", "</span>", format="html")


def setup(app):
    app.connect("doctree-resolved", gather)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
