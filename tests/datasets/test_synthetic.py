import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from centrality import datasets
from centrality.datasets import Mixture


@pytest.mark.parametrize("sample", [datasets.normal, datasets.student_t, datasets.uniform])
def test_samples_repeat_with_their_seed(sample):
    assert sample(10, 3, random_state=1).shape == (10, 3)
    np.testing.assert_array_equal(sample(10, random_state=1), sample(10, random_state=1))
    assert (sample(10, random_state=1) != sample(10, random_state=2)).all()


def test_the_distributions_have_the_moments_of_their_names():
    assert datasets.student_t(200_000, 1, df=10, random_state=0).var() == pytest.approx(10 / 8, rel=0.02)
    uniform = datasets.uniform(200_000, 1, random_state=0)
    assert uniform.var() == pytest.approx(16 / 12, rel=0.02)
    assert np.abs(uniform).max() < 2


def test_a_mixture_of_one_has_the_density_of_a_normal():
    x = np.array([[0.0, 0.0], [1.0, -2.0]])
    found = Mixture(np.array([[1.0, 1.0]])).log_density(x)
    expected = multivariate_normal([1, 1]).logpdf(x)
    assert np.diff(found) == pytest.approx(np.diff(expected))


def test_noise_widens_each_column_by_its_own_deviation():
    x = np.array([[0.0, 0.0], [2.0, 3.0]])
    found = Mixture(np.zeros((1, 2))).log_density(x, noise=np.array([1.0, 2.0]))
    expected = norm(0, np.sqrt([2, 5])).logpdf(x).sum(1)
    assert np.diff(found) == pytest.approx(np.diff(expected))


def test_components_are_equally_likely_and_of_variance_one():
    X = datasets.four_clusters().sample(40_000, random_state=0)
    corner = X[(X > 0).all(1)]
    assert len(corner) / len(X) == pytest.approx(0.25, abs=0.01)
    np.testing.assert_allclose(corner.mean(0), 3, atol=0.05)
    means = datasets.random_clusters(500, 7, random_state=0).means
    assert means.shape == (500, 7)
    assert means.mean() == pytest.approx(0, abs=4 / np.sqrt(3500))
    assert means.std() == pytest.approx(1, abs=4 / np.sqrt(2 * 3500))
