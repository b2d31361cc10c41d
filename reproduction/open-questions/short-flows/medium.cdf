# Bytes, and the part of the transfers that are no larger: two to four rounds of a window that doubles.
14480 0
150000 1
