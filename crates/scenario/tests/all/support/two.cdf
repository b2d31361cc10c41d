# bytes, share
1000 0.25

2000 1.0 # the rest
