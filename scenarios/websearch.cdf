# Sizes of flows of a web search, in bytes, and the share of flows that are no larger: Alizadeh et al., Data Center TCP
# (SIGCOMM 2010), figure 4; packets of 1460 bytes as in the workload of pFabric (SIGCOMM 2013).
1460 0
8760 0.15
18980 0.2
27740 0.3
48180 0.4
77380 0.53
194180 0.6
973820 0.7
1946180 0.8
4866180 0.9
9733820 0.97
29200000 1
