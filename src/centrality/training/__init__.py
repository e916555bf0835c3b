"""How the network is trained: who is compared with whom, how rows are noised, the losses and the schedules."""
