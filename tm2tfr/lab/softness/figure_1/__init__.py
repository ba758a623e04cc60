"""Figure 1 of Yang et al., measured: the temperature and the position embedding that each logic needs."""
