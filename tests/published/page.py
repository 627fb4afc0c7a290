"""The page of predictions beside published values: Markdown for the repository, HTML with plots for readers."""
import base64
import collections
import html
import io
import math
import statistics

from predictions import RULES, Prediction

COVERED = 0.9


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def shown(error, points):
    return f"{error:+.4f}" if points else f"{100 * error:+.1f} %"


def size_of(error, points):
    return f"{abs(error):.4f}" if points else f"{100 * abs(error):.2f} %" if abs(error) < 0.1 else f"{100 * abs(error):.1f} %"


def by(predictions, what):
    groups = collections.defaultdict(list)
    for p in predictions:
        groups[what(p)].append(p)
    return groups


def interval(errors):
    """From the errors of other origins: their 5th and 95th percentiles, or their ends where they are fewer than 20."""
    ordered = sorted(errors)
    outside = int(len(ordered) * (1 - COVERED) / 2)
    return ordered[outside], ordered[-1 - outside]


def coverage(predictions):
    """Share of published values inside intervals, and the intervals' median width; None: there is one origin alone."""
    if any(p.predicted <= 0 for p in predictions) or len({p.origin for p in predictions}) < 2:
        return None
    log = [(p, p.published - p.predicted if p.points else math.log(p.published / p.predicted)) for p in predictions]
    inside, widths = 0, []
    for origin in {p.origin for p in predictions}:
        low, high = interval([e for p, e in log if p.origin != origin])
        own = [e for p, e in log if p.origin == origin]
        inside += sum(low <= e <= high for e in own)
        widths += [high - low] * len(own)
    return inside / len(predictions), statistics.median(widths)


def width_text(width, points):
    return f"{width:.4f}" if points else f"factor {math.exp(width):.2f}"


def errors_row(group):
    points, errors = group[0].points, [abs(p.error) for p in group]
    return [size_of(statistics.median(errors), points), size_of(quantile(errors, 0.9), points), size_of(max(errors), points)]


def table(head, rows, right=()):
    marks = ["---:" if i in right else "---" for i in range(len(head))]
    return ["| " + " | ".join(map(str, r)) + " |" for r in (head, marks, *rows)]


def summary(predictions):
    rows = []
    for quantity, group in sorted(by(predictions, lambda p: p.quantity).items()):
        unnamed = [p for p in group if not p.named]
        covered = coverage(group)
        rows.append([quantity, ", ".join(sorted({p.formulas for p in group})), len(group), *errors_row(group),
                     len(group) - len(unnamed), " / ".join(errors_row(unnamed)[:2]) if unnamed else "-",
                     "-" if covered is None else f"{100 * covered[0]:.0f} % ({width_text(covered[1], group[0].points)})"])
    return rows


def targets(predictions):
    """The numbers that were set before anything was measured, met or not."""
    q = by(predictions, lambda p: p.quantity)
    pairs = q.get("accelerators fed (H100 from A100)", [])
    near = lambda p: abs(p.predicted - p.published) <= max(1, 0.1 * p.published)  # noqa: E731
    free = [p for p in pairs if not p.named]
    rows = []
    if pairs:
        hit, named = sum(map(near, pairs)), sum(bool(p.named) and not near(p) for p in pairs)
        rows.append(["accelerators fed within 1 or 10 %", "90 % of the pairs, the rest named by a rule",
                     f"{hit} of {len(pairs)} ({100 * hit / len(pairs):.0f} %); {named} of the other {len(pairs) - hit} are named; of the "
                     f"{len(free)} pairs that no rule names {sum(map(near, free))} are within", hit >= 0.9 * len(pairs)])
    for what in ("all-reduce from link rates", "all-reduce from two sizes"):
        for label, group in ((what, q.get(what, [])), (what + ", rows that no rule names", [p for p in q.get(what, []) if not p.named])):
            if group:
                median, high = statistics.median(abs(p.error) for p in group), quantile([abs(p.error) for p in group], 0.9)
                rows.append([label, "median 8 %, 90th percentile 20 %", f"{100 * median:.1f} %, {100 * high:.1f} % ({len(group)} rows)",
                             median <= 0.08 and high <= 0.2])
    for label, nodes in (("one node", True), ("several nodes", False)):
        reported = [p for p in q.get("all-reduce from link rates", []) if "slow links" not in p.named and p.one_node == nodes]
        if reported:
            inside = sum(p.within[0] * 0.97 <= p.published <= p.within[1] * 1.03 for p in reported)
            width = statistics.median(p.within[1] / p.within[0] for p in reported)
            rows.append([f"all-reduce, {label}: inside the interval of `headrace doctor --expect` (3 % beyond its ends allowed)", "90 % of the rows",
                         f"{100 * inside / len(reported):.0f} % of {len(reported)}; width factor {width:.2f}", inside >= 0.9 * len(reported)])
    if sizes := q.get("checkpoint size"):
        worst = max(abs(p.error) for p in sizes)
        rows.append(["checkpoint size", "within 0.1 %", f"{100 * worst:.4f} % at worst", worst <= 0.001])
    for workload in ("unet3d", "resnet50", "cosmoflow"):
        if runs := q.get(f"{workload}: utilization of the wall clock"):
            share = sum(abs(p.error) <= 0.01 for p in runs) / len(runs)
            rows.append([f"{workload}: utilization of the wall clock within 0.01", "80 % of the runs", f"{100 * share:.1f} % of {len(runs)}",
                         share >= 0.8])
    return [[*row[:-1], "yes" if row[-1] else "**no**"] for row in rows]


def worst_rows(predictions, count=3):
    rows = []
    for quantity, group in sorted(by(predictions, lambda p: p.quantity).items()):
        for p in sorted(group, key=lambda p: -abs(p.error))[:count]:
            if abs(p.error) > (0.01 if p.points else 0.05):
                rows.append([quantity, p.row, f"{p.published:.4g} {p.unit}", f"{p.predicted:.4g} {p.unit}", shown(p.error, p.points),
                             p.named or "no rule names it: an error of the formula or of its inputs"])
    return rows


def table_rows(tables, found):
    predictions = by((p for p in found if isinstance(p, Prediction)), lambda p: p.table)
    rows = []
    for t in tables:
        skipped = [s for s in found if not isinstance(s, Prediction) and s.table == t.name and s.rows]
        group = predictions.get(t.name, [])
        ratios = [abs(p.error) for p in group if not p.points]
        rows.append([f"`{t.name}`", t.header.get("source", "-"), t.header.get("licence", "-"), t.header.get("date", "-"), len(t.rows), len(group),
                     f"{100 * statistics.median(ratios):.1f} %" if ratios else "-",
                     "; ".join(f"{s.rows} rows SKIPPED: {s.why}" for s in skipped)])
    return rows


def markdown(tables, found):
    predictions = [p for p in found if isinstance(p, Prediction)]
    rows = sum(len(t.rows) for t in tables)
    out = ["# Predictions and published measurements", "",
           f"Here are {len(tables)} published tables with {rows} rows. headrace's own formulas make {len(predictions)} predictions of them",
           "(`headrace require --formula`). No constant of a formula was fitted to these tables.",
           "`tests/published/validate.py` makes this page. With `--html FILE` it draws plots, too. A test keeps the page up to date.", "",
           "An error is predicted / published - 1. Of ratios it is the difference. A *named* row has a reason by one of the rules below.",
           "Only *slow links* and *slow hops* look at a prediction, that of a table's largest or smallest size. An interval covers 90 %",
           "of the errors of all **other** sources. Its width is the factor between its ends. Of ratios it is their difference.", "",
           "## Numbers that were asked for", "", *table(["what", "asked", "seen", "met"], targets(predictions)), "",
           "A pair of accelerators starts from a run of A100. A28 converts the limit of utilization to that of the wall clock, as",
           "rates have it. No source publishes processor time, so A29 has no input here. A rule can only name a host that may have been the limit.",
           "", "All-reduce from link rates knows the GPUs, nodes and NICs of the system, and no measurement. Latencies are NCCL's own constants.",
           "The launch of a kernel is the least that HolisticTraceAnalysis documents. Slow network plug-ins are not included. All-reduce from",
           "two sizes scales latency by a small size and bandwidth by the largest one. The sizes between them are predicted.", "",
           "## Errors by quantity", "",
           *table(["quantity", "formula", "n", "median", "90th percentile", "worst", "named", "median / 90th of the others",
                   "in 90 % intervals (width)"], summary(predictions), right=(2, 3, 4, 5, 6)), "",
           "## Worst rows", "", *table(["quantity", "row", "published", "predicted", "error", "named by rule"], worst_rows(predictions)), "",
           "## Rules that name a row", "", *table(["name", "rule"], [[f"*{k}*", v] for k, v in RULES.items()]), "",
           "## Where the pipeline's fill goes", "",
           "MLPerf's utilization AU (A21) leaves the first step out. It is the computing time of steps 2 to s over the time after the first",
           "one. In the first step, the loader of every rank asks for r batches at once. PyTorch's loader asks for `read_threads` batches.",
           "tf.data's threads share one batch. No batch arrives before nearly all do:", "",
           "    fill = N * r * b * S / W                               (A26)",
           "    AU   = (s - 1) * t / (wall - fill - t)",
           "    u    = s * t / wall = s * t / (fill + t + (s - 1) * t / AU)   (A27)", "",
           "Where storage is the bottleneck, W is the mean rate of the epoch, u * N * b * S / t. Then fill / wall = r / s, and",
           "u = (s - r) / (1 + (s - 1) / AU) (A28) needs no measurement. Else W is the best rate of the same hosts and storage in other",
           "cells of the source. More reader threads on the same storage therefore raise AU.", "",
           "## Tables", "", *table(["table", "source", "licence", "date", "rows", "predictions", "median error", "not predicted"],
                                  table_rows(tables, found), right=(4, 5, 6)), "",
           "A table is one file in `tests/published/tables/`; `validate.py --tables DIR` reads other tables of the same kinds instead.", ""]
    return "\n".join(out)


def plot(draw, title):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(6, 5))
    draw(axes)
    axes.set_title(title)
    figure.tight_layout()
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=110)
    pyplot.close(figure)
    return f'<img alt="{html.escape(title)}" src="data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}">'


def scatter(axes, group):
    for named, mark in ((False, "o"), (True, "x")):
        some = [p for p in group if bool(p.named) == named]
        axes.plot([p.published for p in some], [p.predicted for p in some], mark, ms=4, alpha=0.6, label="named by a rule" if named else "others")
    ends = [min(min(p.published, p.predicted) for p in group), max(max(p.published, p.predicted) for p in group)]
    axes.plot(ends, ends, "-", lw=0.8, color="gray")
    if ends[0] > 0 and ends[1] > 10 * ends[0]:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_xlabel(f"published [{group[0].unit}]")
    axes.set_ylabel(f"predicted [{group[0].unit}]")
    axes.legend()


def by_table(axes, group):
    errors = by(group, lambda p: p.table)
    names = sorted(errors)
    axes.boxplot([[p.error if p.points else 100 * p.error for p in errors[n]] for n in names], vert=False, labels=[n[-32:] for n in names])
    axes.axvline(0, lw=0.8, color="gray")
    axes.set_xlabel("error" if group[0].points else "error [%]")


def web_page(tables, found):
    """The Markdown's tables, and plots of each quantity."""
    predictions = [p for p in found if isinstance(p, Prediction)]
    body, in_table = [], False
    for line in markdown(tables, found).splitlines():
        cells = [html.escape(c.strip()).replace("**", "").replace("`", "") for c in line.strip("|").split(" | ")] if line.startswith("|") else None
        if in_table and cells is None:
            body.append("</table>")
            in_table = False
        if cells is not None and all(set(c) <= set("-:") for c in cells):
            continue
        if cells is not None:
            body += [] if in_table else ["<table>"]
            tag = "td" if in_table else "th"
            body.append("<tr>" + "".join(f"<{tag}>{c}</{tag}>" for c in cells) + "</tr>")
            in_table = True
        elif line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            body.append(f"<h{level}>{html.escape(line.lstrip('# '))}</h{level}>")
        else:
            body.append(html.escape(line) or "<p>")
    for quantity, group in sorted(by(predictions, lambda p: p.quantity).items()):
        body.append(plot(lambda axes, g=group: scatter(axes, g), quantity))
        if len({p.table for p in group}) > 1:
            body.append(plot(lambda axes, g=group: by_table(axes, g), quantity + ": error by table"))
    style = "body{font:15px sans-serif;max-width:75em;margin:2em auto}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:2px 6px}"
    return f"<!doctype html><meta charset=utf-8><title>headrace: predictions</title><style>{style}</style>\n" + "\n".join(body) + "\n"
