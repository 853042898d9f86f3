# A wire between two machines: takes the IP packets of one network device and, a while later, gives them to the other, but
# for those that it loses. The devices go with this process, and it goes when its stdin ends. In place of tc's netem,
# which not every kernel has. Arguments: both names, the delay of a packet in milliseconds, the share that is lost, a seed.

import collections
import fcntl
import os
import random
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000


def device(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def main(left, right, delay_ms, loss, seed):
    chance = random.Random(int(seed))
    ends = [device(left), device(right)]
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    under_way = collections.deque()  # (when it arrives, where, packet): one delay for all, so in this order
    print("ready", flush=True)
    while True:
        patience = None if not under_way else max(0, under_way[0][0] - time.monotonic())
        readable, _, _ = select.select([0, *ends], [], [], patience)
        if 0 in readable and os.read(0, 4096) == b"":
            return
        for end in readable:
            if end == 0:
                continue
            try:
                packet = os.read(end, 65536)
            except OSError:  # its link is down
                time.sleep(0.01)
                continue
            if chance.random() >= float(loss):
                under_way.append((time.monotonic() + float(delay_ms) / 1000, other[end], packet))
        while under_way and under_way[0][0] <= time.monotonic():
            _, end, packet = under_way.popleft()
            try:
                os.write(end, packet)
            except OSError:  # its link is down: the packet is lost
                pass


main(*sys.argv[1:])
