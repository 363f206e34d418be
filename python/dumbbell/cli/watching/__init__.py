"""The screen of `dumbbell watch`.

```text
app      the application: keys, looks, filter, sort
grid     the list: only the rows that can be seen become text
detail   one connection: graphs, and every field with what it means
graphs   blocks of characters from numbers
columns  what the list can show, and how wide
fields   every field of a connection, and what it means
cells    numbers as a few characters
plain    the same table without a screen, and as JSON
```

The numbers are `dumbbell.analysis.live`'s. Textual is imported here and nowhere else.
"""
