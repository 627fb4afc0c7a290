"""Files that are not headrace's, of every kind, and what a folder holds of them, byte for byte and inode for inode."""

import os
import pathlib
import signal
import socket
import stat
import subprocess
import time

MINE = b"mine, and nobody else's\n"


def kinds(outside):
    """Name and maker of every kind of file that this user can make; each maker takes the path. What links lead to lies in
    `outside`."""
    outside.mkdir(exist_ok=True)
    (outside / "folder").mkdir(exist_ok=True)
    (outside / "folder" / "f000000.bin").write_bytes(MINE)
    (outside / "target").write_bytes(MINE)
    (outside / "empty").touch()

    def file(text):
        return lambda path: path.write_bytes(text)

    def sparse(path):
        with path.open("wb") as out:
            out.truncate(8192)

    def bound(path):
        with socket.socket(socket.AF_UNIX) as one:
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)  # a socket's path is short
            one.bind(f"/proc/self/fd/{folder}/{path.name}")
            os.close(folder)

    def foreign_owner(path):
        path.write_bytes(MINE)
        os.chown(path, 12345, 12345)

    made = {
        "text": file(MINE),
        "empty": file(b""),
        "of-the-same-size": file(b"x" * 8192),
        "holes": sparse,
        "link": lambda path: path.symlink_to(outside / "target"),
        "link-to-a-folder": lambda path: path.symlink_to(outside / "folder"),
        "link-to-nothing": lambda path: path.symlink_to(outside / "nothing"),
        "hard-link": lambda path: os.link(outside / "target", path),
        "hard-link-to-an-empty-file": lambda path: os.link(outside / "empty", path),
        "pipe": os.mkfifo,
        "socket": bound,
        "folder": lambda path: path.mkdir(),
        "unreadable": lambda path: (path.write_bytes(MINE), path.chmod(0)),
    }
    if os.geteuid() == 0:
        made["other-owner"] = foreign_owner
        probe = outside / "probe"
        try:  # not in every container
            os.mknod(probe, stat.S_IFCHR | 0o600, os.makedev(1, 3))
            made["device"] = lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
            made["block-device"] = lambda path: os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 255))
            probe.unlink()
        except OSError:
            pass
    return made


def state(path):
    """Everything of one file but when it was last read."""
    status = os.lstat(path)
    reported = [stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), status.st_ino, status.st_uid, status.st_gid]
    if stat.S_ISDIR(status.st_mode):
        return reported  # headrace's own may lie beside it
    reported += [status.st_nlink, status.st_size, status.st_rdev, status.st_mtime_ns, status.st_ctime_ns]
    if stat.S_ISLNK(status.st_mode):
        reported.append(os.readlink(path))
    elif stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK):
        reported.append(pathlib.Path(path).read_bytes())
    return reported


def started(headrace, *words, **changes):
    """headrace in a session of its own, so that all that it starts can be found."""
    return subprocess.Popen([*headrace.under, headrace.binary, *words], cwd=headrace.folder, env=headrace.environment(**changes),
                            start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def family(process):
    """The process and everything that it started and that is still there, whoever is its parent by now."""
    parents, members, dead = {}, {process.pid}, set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
        if fields[0] in "ZX":
            dead.add(int(folder.name))
        if int(fields[3]) == process.pid:  # its session
            members.add(int(folder.name))
    while more := {pid for pid, parent in parents.items() if parent in members} - members:
        members |= more
    return (members & parents.keys()) - dead


def kill_all(process):
    """SIGKILL to all of them, until none is left: new ones may come while the first are found."""
    end = time.monotonic() + 150
    while alive := family(process):
        assert time.monotonic() < end, alive
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    process.wait(timeout=180)


class Planted:
    """Foreign files, put down and watched."""

    def __init__(self, outside):
        self.kinds = kinds(outside)
        self.before = {}
        self.watch(outside, *sorted(outside.rglob("*")))

    def put(self, folder, names=(), every=True):
        """One of each kind in `folder`, under a name of its own; and as many as there are names under those, in place of
        what lies there."""
        for number, name in enumerate(names):
            path = pathlib.Path(folder) / name
            if os.path.lexists(path):
                path.unlink()
            list(self.kinds.values())[number % len(self.kinds)](path)
            self.watch(path)
        for name, make in self.kinds.items() if every else ():
            path = pathlib.Path(folder) / f"mine-{name}"
            make(path)
            self.watch(path)
        for path in list(self.before):  # links to one file count in it
            self.before[path] = state(path)

    def watch(self, *paths):
        for path in paths:
            self.before[str(path)] = state(path)

    def changed(self):
        """What is not as it was, with a reason each."""
        wrong = []
        for path, before in self.before.items():
            if not os.path.lexists(path):
                wrong.append(f"{path}: gone")
            elif (now := state(path)) != before:
                wrong.append(f"{path}: was {before}, is {now}")
        return wrong
