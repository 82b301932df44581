"""What every peer's network can tell."""

import torch


class Network(torch.nn.Module):
    """A module that goes from a frame to its loss."""

    def gradients(self):
        """By name, as parameters are."""
        return {name: value.grad for name, value in self.named_parameters()}
