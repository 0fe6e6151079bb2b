"""Reads `go test -json` on standard input. Prints the lines with which go test closes each package, whatever failed with its
output, and how many tests of each module ran, failed and were skipped.

    gotest.py SKIPS     SKIPS has a line per test that may be skipped: name, tab, reason; # begins a comment

Exits 1 where a test failed, where a module ran none, or where a test was skipped that SKIPS does not name.
"""

import collections
import json
import sys

allowed = {}
for line in open(sys.argv[1], encoding="utf-8"):
    if line.strip() and not line.startswith("#"):
        name, reason = line.rstrip("\n").split("\t", 1)
        allowed[name] = reason

MODULE = "github.com/exhibit-rag/exhibit"
output = collections.defaultdict(list)
count = collections.defaultdict(collections.Counter)
bad_skips, failed = [], False
for line in sys.stdin:
    try:
        e = json.loads(line)
    except json.JSONDecodeError:
        print(line, end="")  # a build error
        continue
    package, test, action = e.get("Package", e.get("ImportPath", "")), e.get("Test"), e["Action"]
    if action in ("output", "build-output"):
        text = e["Output"]
        if test is None and (action == "build-output" or text.startswith(("ok ", "FAIL", "---", "?", "panic"))):
            print(text, end="")
        output[package, test].append(text)
    elif action in ("pass", "fail", "skip") and test is not None:
        top = test.split("/")[0]
        count[MODULE][action] += "/" not in test
        if action == "fail":
            failed = True
            print(f"--- FAIL in {package}: {test}")
            print("".join(output[package, test]), end="")
        if action == "skip" and top not in allowed and test not in allowed:
            bad_skips.append((package, test, "".join(output[package, test])))
        output.pop((package, test), None)
    elif action in ("fail", "build-fail"):
        failed = True
        print("".join(output[package, None])[-4000:], end="")

for package, test, text in bad_skips:
    print(f"skipped without a listed reason: {package} {test}\n{text}", end="")
if not count:
    count[MODULE]
for module, c in sorted(count.items()):
    print(f"{module}: {sum(c.values())} tests: {c['pass']} passed, {c['fail']} failed, {c['skip']} skipped")
    failed = failed or c["pass"] == 0
sys.exit(1 if failed or bad_skips else 0)
