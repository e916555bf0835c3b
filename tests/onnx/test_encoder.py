"""A model with an encoder of the user's own is not written as ONNX."""

import pytest
from torch import nn

from tests.conftest import quick
from tests.onnx.samples import X


def test_a_model_with_an_encoder_of_ones_own_is_sent_to_torch_and_nothing_is_written(tmp_path):
    model = quick(encoder=nn.Linear(5, 4), max_steps=5).fit(X)
    with pytest.raises(ValueError, match=r"an encoder of your own cannot be written as ONNX\. to_torch\(\) gives"):
        model.to_onnx(tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
