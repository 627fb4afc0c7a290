"""Published tables: CSV files that begin with `# kind:`, `# source:`, `# licence:` and `# date:`."""
import csv
import pathlib

HERE = pathlib.Path(__file__).resolve().parent / "tables"
HEADER = ("kind", "source", "licence", "date")


class Table:
    def __init__(self, path):
        self.name, self.header, lines = path.stem, {}, path.read_text().splitlines()
        while lines and lines[0].startswith("#"):
            key, _, value = lines.pop(0)[1:].partition(":")
            self.header[key.strip()] = value.strip()
        self.rows = list(csv.DictReader(lines))
        self.header.setdefault("kind", self.name)  # of a file without a header

    kind = property(lambda self: self.header["kind"])


def number(text):
    return float(text) if text else None


def having(rows, *columns):
    """Rows with a value in each of these columns, and how many have not."""
    full = [r for r in rows if all(r.get(c) for c in columns)]
    return full, len(rows) - len(full)


def load(*folders):
    """All tables of `folders`, one of each CSV file."""
    tables = []
    for path in sorted(p for folder in folders for p in pathlib.Path(folder).glob("*.csv")):
        table = Table(path)
        if table.kind != "manifest":
            tables.append(table)
    return tables
