"""Reads a storm as JSON from standard input and prints when each of its flows ends in SimGrid, a JSON list."""
import json
import pathlib
import sys

from simgrid import Actor, Engine, Host, Mailbox, this_actor

storm = json.load(sys.stdin)
platform = pathlib.Path(sys.argv[1]) / "platform.xml"
lines = ['<?xml version="1.0"?>', '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">', '<platform version="4.1">',
         '<zone id="all" routing="Full">', '<host id="store" speed="1Gf"/>']
lines += [f'<host id="node{i}" speed="1Gf"/>' for i in range(len(storm["flows"]))]
lines += [f'<link id="nic{i}" bandwidth="{storm["speeds"][f[2]]!r}Bps" latency="0s"/>' for i, f in enumerate(storm["flows"])]
lines += [f'<link id="uplink{g}" bandwidth="{rate!r}Bps" latency="0s"/>' for g, rate in enumerate(storm["groups"])]
lines += [f'<link id="behind" bandwidth="{storm["store"]!r}Bps" latency="0s"/>']
lines += [f'<route src="node{i}" dst="store"><link_ctn id="nic{i}"/><link_ctn id="uplink{f[3]}"/><link_ctn id="behind"/></route>'
          for i, f in enumerate(storm["flows"])]
platform.write_text("\n".join(lines + ["</zone>", "</platform>"]))
ends = [0.0] * len(storm["flows"])


def client(i):
    begins, size, _, _ = storm["flows"][i]
    this_actor.sleep_until(begins)
    Mailbox.by_name(str(i)).put("data", int(size))
    ends[i] = Engine.clock


def server(i):
    Mailbox.by_name(str(i)).get()


engine = Engine(["storm", "--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0", "--cfg=contexts/nthreads:1",
                 "--cfg=contexts/stack-size:128", "--log=root.thres:critical"])
engine.load_platform(str(platform))
for i in range(len(ends)):
    Actor.create(f"client{i}", Host.by_name(f"node{i}"), client, i)
    Actor.create(f"server{i}", Host.by_name("store"), server, i)
engine.run()
print(json.dumps(ends))
