# Bytes, and the part of the transfers that are no larger: four to seven rounds of a window that doubles.
150000 0
1500000 1
