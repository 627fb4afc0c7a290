"""Formulas as headrace computes them: requests of many tables go to one `headrace require --formula --lines -` at a time."""
import json
import subprocess


class Rejected(Exception):
    """An input outside its range."""


def evaluate(binary, requests):
    lines = "".join(json.dumps({"formula": name, "inputs": inputs}) + "\n" for name, inputs in requests)
    done = subprocess.run([binary, "require", "--formula", "--lines", "-"], input=lines, capture_output=True, text=True, timeout=600)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(requests):
        raise RuntimeError(f"headrace require --formula answered {len(answers)} of {len(requests)}: {done.stderr}")
    for (name, inputs), answer in zip(requests, answers):
        if "error" in answer:
            raise Rejected(f"{name} {inputs}: {answer['error']}")
    return [answer["value"] for answer in answers]


def run(binary, graders):
    """Graders are generators: they yield lists of (formula, inputs), are sent the values, and return what they found."""
    found = []
    waiting = [(grader, next_of(grader, None, found)) for grader in graders]
    while waiting := [(grader, asked) for grader, asked in waiting if asked is not None]:
        values = iter(evaluate(binary, [request for _, asked in waiting for request in asked]))
        waiting = [(grader, next_of(grader, [next(values) for _ in asked], found)) for grader, asked in waiting]
    return found


def next_of(grader, values, found):
    try:
        return grader.send(values)
    except StopIteration as end:
        found.extend(end.value)
        return None
