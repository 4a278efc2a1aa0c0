# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""Runs inference with the installed PyTorch: ResNet-50, batch 1, periodic requests.

usage: inference.py [--period-ms 5,10,20] [--requests 2000] [--way launches,graph] [--go FILE]

Loads, warms up, prints "ready", waits until FILE exists, and then makes the requests in each way
(kernel by kernel; as one CUDA graph) at each period. A request is a call and the wait for its
result. A late request starts at once, and requests whose time has passed by then are skipped. Prints
a JSON line for each way and period: way, period_ms, requests; p50_ms, p99_ms and max_ms of the
latency since the request's start; from_s and to_s (CLOCK_MONOTONIC).
"""
import argparse
import json
import os
import time

import torch
import torchvision


def capture(model, image):
    """Captures the whole model as one graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(image)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(image)
    return graph


def serve(call, period_s, requests):
    """Returns the latencies in seconds of this many requests, one per period."""
    latencies = []
    due = time.monotonic()
    while len(latencies) < requests:
        now = time.monotonic()
        if now < due - 0.0002:
            time.sleep(due - 0.0002 - now)
        while time.monotonic() < due:
            pass
        began = time.monotonic()
        call()
        torch.cuda.synchronize()
        ended = time.monotonic()
        latencies.append(ended - began)
        due += period_s
        while due < ended:
            due += period_s
    return sorted(latencies)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--period-ms", default="5,10,20")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--way", default="launches,graph")
    parser.add_argument("--go")
    a = parser.parse_args()

    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    model = torchvision.models.resnet50(weights=None).eval().cuda()
    image = torch.randn(1, 3, 224, 224, device="cuda")
    with torch.inference_mode():
        for _ in range(20):
            model(image)
        graph = capture(model, image)
        ways = {"launches": lambda: model(image), "graph": graph.replay}
        torch.cuda.synchronize()
        print("ready", flush=True)
        while a.go and not os.path.exists(a.go):
            time.sleep(0.01)
        for way in a.way.split(","):
            for period_ms in map(float, a.period_ms.split(",")):
                serve(ways[way], period_ms / 1000, 20)
                begin = time.monotonic()
                lat = serve(ways[way], period_ms / 1000, a.requests)
                end = time.monotonic()
                n = len(lat)
                print(json.dumps({
                    "way": way, "period_ms": period_ms, "requests": n,
                    "p50_ms": round(lat[n // 2] * 1000, 3),
                    "p99_ms": round(lat[min(n - 1, n * 99 // 100)] * 1000, 3),
                    "max_ms": round(lat[-1] * 1000, 3),
                    "from_s": round(begin, 3), "to_s": round(end, 3)}), flush=True)


main()
