"""Plain English of pages, printed texts and comments: a list of words, and the length of sentences."""

import ast
import inspect
import re

# A pattern, and a text that it must find.
WORDS = [
    (r"\b(?:tell|tells|told|telling)\b", "doctor tells it"),
    (r"\b(?:held|hold|holds|holding) against\b", "held against the need"),
    (r"\bso (?:many|much|few|long)\b", "with so many workers"),
    (r"\b(?:stand|stands|stood)\b", "the word stands there"),
    (r"\bbeside\b(?! the shards)", "beside sound hardware"),  # a place
    (r"\b(?:likewise|meanwhile|whoever|whomever|nobody|somebody|everybody|anybody)\b", "nobody else"),
    # Clauses as nouns; questions and "a user who can write" are right.
    (r"\bwhat (?:is|are|was|were|has|have|had|can|cannot|could|does|did)\b(?![^.!?]*\?)", "It stores what was measured."),
    (r"(?:^|[.,;:(] *|\b(?:and|but|of|by|to|names?) )who (?:is|are|was|were|has|can|cannot|fails|failed)\b(?![^.!?]*\?)", "It names who is dead."),
    (r"\bas the \w+ has it\b", "as the job has it"),
]
LONGEST, MEAN = 30, 16
LONGEST_COMMENT = 20

CODE = re.compile(r"^ *```.*?^ *```|^\$\$.*?\$\$$", re.S | re.M)
ITEM = re.compile(r"\s*(?:[-*] |\d+\. |> )")
END = re.compile(r"(?<=[.!?])[\"')*_\]]*\s+(?=[\"'(*_\[]*[A-Z0-9`]|x\b)")


def blank(match):
    return "\n" * match[0].count("\n")


def prose(text):
    """(line, text, may be long) of headings, table rows, paragraphs and items of lists; code is `x`."""
    text = CODE.sub(blank, text)
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.S)
    block, begin = [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        # A code span counts as one word; so does an address.
        line = re.sub(r"`[^`]*`", "x", line)
        line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
        line = re.sub(r"<[^>]*>|https?://\S+", "x", line)
        alone = line.lstrip().startswith(("|", "#")) or (line.startswith("    ") and not block)
        item = ITEM.match(line)
        if alone or not line.strip() or item:
            if block:
                yield begin, " ".join(block), False
            block = []
        if alone:
            if not line.startswith("    "):
                yield number, line, True
        elif line.strip():
            begin = begin if block else number
            block.append(line[item.end() if item else 0:].strip())


def sentences(text):
    """(line, words, sentence) outside of tables, headings and code."""
    for line, block, long in prose(text):
        if not long:
            for sentence in END.split(block):
                if words := len(re.findall(r"[^\s]*\w[^\s]*", sentence)):
                    yield line, words, sentence


def faults(name, text):
    for line, block, _ in prose(text):
        for pattern, _ in WORDS:
            for found in re.finditer(pattern, block, re.I):
                yield f"{name}:{line}: '{found[0]}'"
    lengths = []
    for line, words, sentence in sentences(text):
        lengths.append(words)
        if words > LONGEST:
            yield f"{name}:{line}: {words} words: {sentence[:60]}..."
    if lengths and sum(lengths) / len(lengths) > MEAN:
        yield f"{name}: {sum(lengths) / len(lengths):.1f} words a sentence, at most {MEAN}"


# A comment, a character, a raw string, or string literals in a row: of these four only the last is text.
LITERALS = re.compile(r"""//[^\n]*|'(?:[^'\\]|\\.)'|R"(\w*)\(.*?\)\1"|((?:"(?:[^"\\\n]|\\.)*"\s*)+)""", re.S)
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
MARKUP = re.compile(r"\{[#%].*?[#%]\}|<(script|style)\b.*?</\1>|<[^>]*>", re.S)


def texts(name, source):
    """(line, text) of what the program prints (C++), or draws on its pages (Python, templates); formatted values are x."""
    if name.endswith((".cc", ".h", ".cu")):
        source = re.sub(r"^ *#.*$", "", source, flags=re.M)
        for found in LITERALS.finditer(source):
            if found[2]:
                yield source.count("\n", 0, found.start()) + 1, "".join(LITERAL.findall(found[2]))
    elif name.endswith(".py"):
        tree = ast.parse(source)
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        inner |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # descriptions
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
                yield node.lineno, node.value
    else:
        source = re.sub(r"\{\{.*?\}\}", "x", source, flags=re.S)
        yield from enumerate(MARKUP.sub(lambda found: ". " + blank(found), source).split("\n"), 1)


def text_faults(name, source):
    for line, text in texts(name, source):
        text = re.sub(r"\\[nt]", " ", text)
        if " " not in text.strip():
            continue  # a name or key of a file
        for pattern, _ in WORDS:
            for found in re.finditer(pattern, text, re.I):
                yield f"{name}:{line}: '{found[0]}' in: {text[:60]}"
        for sentence in re.split(r"(?<=[.!?])\s+", text):
            if len(re.findall(r"\S*\w\S*", sentence)) > LONGEST:
                yield f"{name}:{line}: a sentence above {LONGEST} words: {sentence[:60]}..."


# In comments and names; a string may be a key of a stored file.
TELL = re.compile(r"(?<![A-Za-z])(?!tell\(\))(?:[Tt]ells?|[Tt]old|[Tt]elling)(?![a-z])")
QUOTED = re.compile(r"""//[^\n]*|#[^\n]*|'(?:[^'\\\n]|\\.)*'|R"(\w*)\(.*?\)\1"|\"\"\".*?\"\"\"|"(?:[^"\\\n]|\\.)*\"""", re.S)


def name_faults(name, source):
    """Names and comments of C++ and Python that say "tell" for report, print, show or describe."""
    kept = QUOTED.sub(lambda found: found[0] if found[0].startswith(("//", "#", '"""')) else blank(found), source)
    for number, line in enumerate(kept.splitlines(), 1):
        if found := TELL.search(line):
            yield f"{name}:{number}: '{found[0]}' in: {line.strip()[:60]}"


TEST_NAME = re.compile(r"\bTEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\)|^def test_(\w+)\(", re.M)
NOT_IN_TEST_NAMES = set("""what who whom whose whoever whomever whatever nobody nobodys somebody somebodys anybody anybodys everybody
    tell tells told telling way ways stand stands stood beside likewise meanwhile""".split())


def test_name_faults(name, source):
    """Names of tests with clauses as nouns, or with words of the list."""
    for found in TEST_NAME.finditer(source):
        for word in re.findall(r"[A-Z]?[a-z]+", found[1] or found[2]):
            if word.lower() in NOT_IN_TEST_NAMES:
                yield f"{name}:{source.count(chr(10), 0, found.start()) + 1}: '{word}' in {found[1] or found[2]}"


CALLED = re.compile(r'`[^`]*`|"[^"\n]*"')  # names of code, and quoted texts


def comments(name, source):
    """(line, text) of comments and descriptions; comments on lines in a row are one text, names and quotes are x."""
    marks = ("#", '"""')
    if name.endswith((".cc", ".h", ".cu")):
        marks = ("//",)
        source = re.sub(r"^ *#|(?<=\d)'(?=\d)", "", source, flags=re.M)  # directives, 1'000
    line, parts, end = 0, [], 0
    for found in QUOTED.finditer(source):
        if found[0].startswith(marks):
            between = source[end:found.start()]
            if parts and (between.strip() or between.count("\n") != 1):
                yield line, CALLED.sub("x", " ".join(parts))
                parts = []
            line = line if parts else source.count("\n", 0, found.start()) + 1
            parts.append(re.sub(r"\s+", " ", found[0]).strip('/#" '))
            end = found.end()
    if parts:
        yield line, CALLED.sub("x", " ".join(parts))


# Tables, usages, messages of formats and equations are no sentences.
LAID_OUT = re.compile(r" {2,}|.*\S {2,}\S|python3 |benches/|\w+\.py |minimal_|message |xprt: |.* = .*[*/].*[*/]|.*(?:[A-Z]+,? \d+[;.] ){3}")


def running(name, source):
    """(line, text) of the paragraphs of comments and descriptions."""
    cpp = name.endswith((".cc", ".h", ".cu"))
    if cpp:
        source = re.sub(r"(?<=\d)'(?=\d)", " ", source)
    block, begin, at = [], 0, None
    for found in QUOTED.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        if found[0].startswith("//" if cpp else "#"):
            lines = [re.sub(r"^(?:///?<?|#+) ?", "", found[0])]
            before = source[source.rfind("\n", 0, found.start()) + 1:found.start()]
            goes_on = not before.strip() and (len(before), line) == at
            at = (len(before), line + 1)
        elif not cpp and found[0].startswith('"""') and not found[0].startswith('"""\\') and re.search(r"(?:^|\n)[ \t]*$", source[:found.start()]):
            lines, goes_on, at = inspect.cleandoc(found[0].strip('"')).split("\n"), False, None
        else:
            continue
        if block and not goes_on:
            yield begin, " ".join(block)
            block = []
        for number, text in enumerate(lines, line):
            if not text.strip() or LAID_OUT.match(text):
                if block:
                    yield begin, " ".join(block)
                block = []
                continue
            begin = begin if block else number
            block.append(text.strip())
    if block:
        yield begin, " ".join(block)


def comment_faults(name, source):
    for line, text in comments(name, source):
        for pattern, _ in WORDS:
            for found in re.finditer(pattern, text, re.I):
                yield f"{name}:{line}: '{found[0]}' in: {text[max(0, found.start() - 30):found.end() + 30]}"
    for line, text in running(name, source):
        for sentence in re.split(r"(?<=[.!?])\)?\s+", CALLED.sub("x", text)):
            words = len(re.findall(r"\S*\w\S*", sentence))
            if words > LONGEST_COMMENT:
                yield f"{name}:{line}: {words} words: {sentence}"


def unseen():
    """Faults that the rule would not see: it must see its own examples."""
    for pattern, example in WORDS:
        if not list(faults("a", example)):
            yield f"the rule does not catch: {example}"
    short, long = "A word. " * 9, "word " * (LONGEST + 1) + "."
    for text, right in ((long, 1), (short + long, 1), ("word " * (MEAN + 1) + ".", 1), (short, 0), ("| " + long, 0), (f"```\n{long}\n```", 0),
                        ("`held against`", 0), ("What is measured?", 0), ("- one two\n- three four", 0)):
        if (len([f for f in faults("a", text)]) > 0) != bool(right):
            yield f"the rule is wrong on: {text[:40]}"
    for name, source, right in (("a.cc", 'print("It stands "\n "beside it.");', 2), ("a.cc", '// It stands\n#error "it stands"\nf("stands", \'"\', "\\"it");', 0),
                                ("a.py", 'def f():\n    """It stands."""\n    return f"{x} stands"', 1), ("a.html", "<p>{{ it stands }} it stands</p>", 1),
                                ("a.cc", f'"{long}"', 1)):
        if len(list(text_faults(name, source))) != right:
            yield f"the rule is wrong on the texts of {source[:40]}"
    for name, source, right in (("a.cc", "// It shows what\n// was read.\nint stands;  // next to it", 1), ("a.cc", "#if x  // it stands\nf(1'000);  // so many", 2),
                                ("a.cc", 'f("it stands");  // prints "it stands" of `stands`', 0), ("a.h", "/// What is read?", 0),
                                ("a.py", '"""It stands."""\nf("it stands")  # beside it', 2), ("a.cc", "// so\n\n// many", 0),
                               ("a.cc", "// " + "word " * LONGEST_COMMENT + "\n// more.", 1), ("a.cc", "// " + "word " * LONGEST_COMMENT + "\n\n// more.", 0),
                               ("a.cc", "int a;  // " + "word " * LONGEST_COMMENT + "\n// more.", 0), ("a.py", '"""' + "word " * LONGEST_COMMENT + 'more."""', 1),
                               ("a.py", 'text = """' + "word " * LONGEST_COMMENT + 'more."""', 0), ("a.h", "// word  " + "word " * 30, 0)):
        if len(list(comment_faults(name, source))) != right:
            yield f"the rule is wrong on the comments of {source[:40]}"
    for source, right in (("TES" "T(Suite, WhatIsSlow) {", 1), ("TEST_F(Suite, Always) {", 0), ("def test_who_is_dead(a):", 1), ("def test_always():", 0)):
        if len(list(test_name_faults("a", source))) != right:
            yield f"the rule is wrong on the test's name in {source}"
    for source, right in (("int told_ns; // it tells", 1), ('f("told", "it tells");', 0), ("satellite = intelligence", 0), ('"""Told."""', 1)):
        if len(list(name_faults("a.cc", source))) != right:
            yield f"the rule is wrong on the names of {source[:40]}"
