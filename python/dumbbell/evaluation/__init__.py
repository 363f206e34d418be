"""`dumbbell evaluate`: is a congestion control fit for the Internet? RFC 9743's criteria as experiments with limits.

`criteria` reads what is asked, `readings` takes a run's numbers, `verdict` judges samples, `referee` spends the budget.
"""
