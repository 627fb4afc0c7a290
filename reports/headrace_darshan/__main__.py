"""Prints a Darshan log as lines of JSON, as DFTracer writes them: `headrace observe --from` reads those.

    python3 -I -B reports/headrace_darshan LOG

Calls that Darshan's extended tracing (DXT) kept are reported as they were. Other files have only counts. Their calls are spread
evenly over their time, each of the mean size, and a note reports that. Exit code: 2 where the log cannot be read, or
has no POSIX calls."""

import json
import sys

MOST_CALLS = 20000  # of one file that was counted alone


def report(name, pid, ts, dur, **arguments):
    print(json.dumps({"name": name, "cat": "POSIX", "pid": pid, "tid": pid, "ts": ts * 1e6, "dur": max(0.0, dur) * 1e6, "ph": 1,
                      "args": arguments}))


def note(text):
    print(json.dumps({"name": "note", "cat": "headrace", "pid": 0, "tid": 0, "ph": 4, "args": {"text": text}}))


def spread(name, pid, times, begin, end, spent, **arguments):
    for n in range(times):
        report(name, pid, begin + (end - begin) * n / times, spent / times, **arguments)


def main(path):
    try:
        import darshan
        log = darshan.DarshanReport(path, read_all=False)
        if "POSIX" not in log.modules:
            print("it holds nothing of POSIX calls, only of " + ", ".join(log.modules), file=sys.stderr)
            return 2
        log.mod_read_all_records("POSIX")
        if "DXT_POSIX" in log.modules:
            log.mod_read_all_dxt_records("DXT_POSIX")
        tables = log.records["POSIX"].to_df()
    except Exception as error:  # the library's own, of every kind
        print(f"it cannot be read: {error}", file=sys.stderr)
        return 2
    names = log.name_records
    traced = set()
    if "DXT_POSIX" in log.records:
        for record in log.records["DXT_POSIX"].to_df():
            pid = max(0, int(record["rank"])) + 1
            for what, segments in (("read", record["read_segments"]), ("write", record["write_segments"])):
                for segment in segments.itertuples():
                    traced.add(record["id"])
                    report(what, pid, segment.start_time, segment.end_time - segment.start_time, ret=int(segment.length),
                         count=int(segment.length), offset=int(segment.offset), fname=names.get(record["id"], str(record["id"])))
    counted = cut = 0
    for one, times in zip(tables["counters"].itertuples(), tables["fcounters"].itertuples()):
        pid, file = max(0, int(one.rank)) + 1, names.get(one.id, str(one.id))
        begin, end = times.POSIX_F_OPEN_START_TIMESTAMP, max(times.POSIX_F_CLOSE_END_TIMESTAMP, times.POSIX_F_OPEN_END_TIMESTAMP)
        opens, stats = max(0, int(one.POSIX_OPENS)), max(0, int(one.POSIX_STATS))
        each = times.POSIX_F_META_TIME / max(1, opens + stats)
        spread("open", pid, min(opens, MOST_CALLS), begin, end, each * opens, flags=1 if one.POSIX_BYTES_WRITTEN > 0 else 0, ret=3,
               fname=file)
        spread("stat", pid, min(stats, MOST_CALLS), begin, end, each * stats, ret=0, fname=file)
        if one.id in traced:
            continue
        for what, count, size, first, last, spent in (
                ("read", one.POSIX_READS, one.POSIX_BYTES_READ, times.POSIX_F_READ_START_TIMESTAMP, times.POSIX_F_READ_END_TIMESTAMP,
                 times.POSIX_F_READ_TIME),
                ("write", one.POSIX_WRITES, one.POSIX_BYTES_WRITTEN, times.POSIX_F_WRITE_START_TIMESTAMP,
                 times.POSIX_F_WRITE_END_TIMESTAMP, times.POSIX_F_WRITE_TIME)):
            count = max(0, int(count))
            if count == 0:
                continue
            counted += 1
            reported = min(count, MOST_CALLS)
            cut += reported < count
            spread(what, pid, reported, first, last, spent, ret=int(size) // reported, count=int(size) // reported, fname=file)
    if counted:
        note(f"Darshan counted the calls on {counted} of the files and kept none of them (DXT does): sizes and times of single calls are means")
    if cut:
        note(f"of {cut} of the files more than {MOST_CALLS} calls were merged into as many larger ones")
    return 0


sys.exit(main(sys.argv[1]))
