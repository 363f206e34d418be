"""Tests: Linux's own, each in a guest of its own, and the results of any test for machines.

```text
scripts      packetdrill scripts and shell selftests in files and folders; how each is started
guest        runs one test in a guest
packetdrill  finds the user's packetdrill, and checks that it is one
on_simulator runs packetdrill scripts on the simulator (`drill` reads them)
selftests    runs tests with several kernels, in parallel, repeatedly
results      one result
├── ktap         results as KTAP version 1
└── junit        results as JUnit XML
```
"""
