"""A user's encoder goes into the ONNX file, or is named where torch cannot export it."""

import pytest
import torch
from torch import nn

from tests.conftest import quick
from tests.onnx.samples import X, exported, new
from tests.promise import assert_same_scores


class Gated(nn.Module):
    """An encoder that looks at values to decide: ONNX has no such thing."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) if x.sum() > 0 else self.layer(-x)


@pytest.mark.slow
def test_an_encoder_of_ones_own_goes_along(tmp_path):
    encoder = nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8), nn.Dropout(0.2), nn.SiLU(), nn.Linear(8, 4))
    model = quick(encoder=encoder, ensemble=2).fit(X)
    scorer = exported(model, tmp_path)
    for n in (1, 2, 400):
        assert_same_scores(scorer.heads(new(X[:n])), model.heads(new(X[:n])))


@pytest.mark.slow
def test_an_encoder_that_torch_cannot_export_is_named_and_nothing_is_written(tmp_path):
    model = quick(encoder=Gated(), noise_scale=1.0, max_steps=5).fit(X)
    with pytest.raises(ValueError, match=r"The encoder Gated cannot be written as ONNX\. torch.onnx.export says"):
        model.to_onnx(tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
