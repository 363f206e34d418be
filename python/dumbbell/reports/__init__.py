"""HTML reports: one page about one or more runs, a comparison or a sweep.

```text
page                one or more runs to a page
overview            top of a page of several runs
sections            sections about one run
experiment_section  the experiment: diagram, file, shell script
path_diagram        diagram of the path
sentences           summary sentences, made from numbers only, in three modules:
sharing_sentences     shares, fairness, completion times
path_sentences        link, queue, pings, round trips
flow_sentences        what the controllers did
comparison_page     a comparison to a page
verdict_text        a comparison as text and table cells
log_conditions      the conditions inferred from a log, as text
sweep_page          a sweep to a page, with sweep_page.js
map_selection       the maps on a sweep's page
kept_results        links to a sweep's kept results
reproduce           the command that repeats one run of a sweep
page_frame          the shared HTML frame, page.html
number_format       number formatting
markup              HTML elements and tables; escapes all text
```

`dumbbell.analysis` computes the numbers, `dumbbell.plots` draws the figures.
"""
