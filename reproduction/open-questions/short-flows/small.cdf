# Bytes, and the part of the transfers that are no larger: as many as an initial window of ten packets holds.
1000 0
14480 1
