"""The workbench: a local page for changing an experiment, and its server.

```text
text             an experiment's text and the page's edits; the rest of the text stays unchanged
control_values   the settings that the page can change, with their values
catalogue        the built-in experiments
error_view       an error for the page, with its line in the text
live_figures     an experiment's text to figures: parse, simulate, measure, return data
packet_windows   packet traces of a time window
page_limits      limits of a page's requests
guard            access control: this user, this page, or the token
peers            the owner of the process at the other end of a connection
connection       limits of connections and of a request's duration
work_folder      the only folder that is written; deleted with the server
jobs             long work: queued, with progress, cancellable
kernel_runs      the shown experiment on the kernel engine, compared with the simulator
opened           open results, sweeps and experiment files
imported_logs    a dropped log as a result
file_downloads   the shown figure, data or report as a file
handlers         shared request handling; *_routes have the routes
asgi             the application
serving          a server that runs until it is stopped
```

The page is `ui/`; the build puts it into `page/`. `dumbbell.plots` makes the figures, `dumbbell.analysis` the numbers.
"""
