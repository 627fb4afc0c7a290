"""`headrace serve`, and who would meet it: a peer that never comes, and one behind a firewall."""

import os
import pathlib
import subprocess

import pytest

TOOLS = pathlib.Path(__file__).parents[1] / "net"

# The other host's answers from that port go nowhere, as with a firewall that drops packets without a word.
BOTH = """\
"$NET_HOSTS_RSH" node2 'ip rule add pref 1 from 10.78.0.2 ipproto tcp sport 18620 blackhole && echo up >ruled
exec timeout 60 "$HEADRACE" serve --listen 10.78.0.2 --timeout 60s >serve.out 2>&1' &
for _ in $(seq 100); do [ ! -e ruled ] || ! grep -q listening serve.out || break; sleep 0.1; done
[ -e ruled ] || exit 99
"$HEADRACE" run -c one.yaml --peer 10.78.0.2 --no-report --out results
code=$?
kill %1
exit $code
"""


def test_a_firewall_between_hosts_is_told(headrace):
    if os.geteuid() != 0 or subprocess.run([TOOLS / "with-net-hosts", "2", "--", "true"], capture_output=True).returncode != 0:
        pytest.skip("network namespaces cannot be made here (root, Debian: iproute2)")
    headrace.write("one.yaml", "schema: 1\ntarget: {path: scratch}\nworkloads: [{use: rdma_write}]\n")
    done = subprocess.run([TOOLS / "with-net-hosts", "2", "-t", "60", "--", "bash", "-c", BOTH], cwd=headrace.folder,
                          env=headrace.environment(HEADRACE=headrace.binary, HEADRACE_TOKEN="word"), text=True, capture_output=True)
    if done.returncode == 99:
        pytest.skip("this kernel has no rules by port")
    assert done.returncode not in (0, 124), done
    for words in ("peer 10.78.0.2, TCP port 18620: Connection timed out", "does no firewall stop this port?"):
        assert words in done.stderr, done.stderr
    assert not headrace.path("results").exists()


def test_a_peer_that_never_comes_is_told(headrace):
    outcome = headrace("serve", "--listen", "127.0.0.1:0", "--timeout", "1s", HEADRACE_TOKEN="word")
    assert outcome.code == 1, outcome
    assert "nobody came within 1s" in outcome.err, outcome
