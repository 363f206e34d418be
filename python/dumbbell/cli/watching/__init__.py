"""The screen of `dumbbell watch`.

```text
screen        the application: keys, sampling, filter, sort
grid          the list; only visible rows are rendered
detail        one connection: graphs, and every field with its meaning
graphs        numbers as block characters
watch_columns the columns of the list and their widths
rows          select, sort and sum connections
socket_fields every field of a connection and its meaning
cell_text     numbers as short text
plain_output  the list without a screen, and as JSON
```

`dumbbell.analysis.live_sockets` computes the numbers. Only this package imports textual.
"""
