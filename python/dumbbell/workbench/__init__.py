"""The workbench: a local page on which an experiment is played with, and the server behind it.

```text
text      an experiment's text and the edits of a page: what people wrote stays as they wrote it
knobs     what of an experiment can be turned, with its values
trouble   an error as a page shows it: with the line where it is
live      a text to a picture: read, simulated, measured, drawn as data
journeys  where every packet was, for a window of time
limits    how much a page may ask for
guard     who may ask: this user, from this page, or who has the token
peers     whose process is at the other end of a connection
connection  how long and how slow a request may be, and how many connections there may be
room      the one folder that is written into, and goes with the server
jobs      work that takes longer than an answer: it waits, tells how far it is, can be cancelled
onkernel  what is on the screen on the real kernel, beside the simulator
opened    results, sweeps and experiment files that are open
imported  a log that was dropped on the page, as a result
downloads what is on the screen as a file
desk      what all routes share; kernelroutes, openroutes, downloadroutes have their own
app       the routes together
serving   a server that runs until somebody ends it
```

The page itself is `ui/`, which the build puts into `page/`. Nothing here draws, and nothing here knows what a number
means: pictures are `dumbbell.plot`'s, numbers `dumbbell.analysis`'s.
"""
