"""Define what needs torch: the networks, the losses, scoring on a GPU, and a model as one differentiable module.

The engine serves our own networks on a CPU. This serves users' encoders, GPUs, and whoever wants gradients.
"""
