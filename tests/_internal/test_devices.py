"""Where to compute: on the CPU unless a GPU is asked for, and never elsewhere than was asked."""

import subprocess
import sys

import pytest
import torch

from centrality._internal.checks import InputError
from centrality._internal.devices import find_device, find_encoder_device


@pytest.mark.parametrize("name", ["auto", "cpu", "cpu:0"])
def test_auto_and_cpu_are_the_cpu(name):
    assert find_device(name) == "cpu"


def test_neither_asks_torch():
    code = (
        "import sys\nfrom centrality._internal.devices import find_device\n"
        "find_device('auto'), find_device('cpu')\nassert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_encoders_of_texts_and_images_take_a_gpu_if_there_is_one():
    assert find_encoder_device("auto") == ("cuda" if torch.cuda.is_available() else "cpu")
    assert find_encoder_device("cpu") == "cpu"
    with pytest.raises(InputError, match="device must be auto"):
        find_encoder_device("abacus")


@pytest.mark.parametrize("name", ["abacus", "cuda:", "cuda:x", "cuda:-1", "auto:0", "CPU", "", None, 3])
def test_what_is_no_device_is_an_error_that_names_those_there_are(name):
    with pytest.raises(InputError, match=f"device must be auto, cpu, cuda, cuda:<number> or mps, got {name!r}"):
        find_device(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU, so asking for it is no error")
@pytest.mark.parametrize("name", ["cuda", "cuda:1"])
def test_a_gpu_that_is_not_there_is_an_error(name):
    with pytest.raises(InputError, match=f"device '{name}' was asked for, but this machine has only: cpu"):
        find_device(name)
