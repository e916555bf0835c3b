from centrality.fuse.settings import Settings


def test_few_rows_have_four_networks_and_six_given_a_context():
    settings = {"ensemble": "auto", "novelty": False, "encoder": None, "given": None}
    assert [Settings(settings).members(n, 5) for n in (2999, 3000)] == [4, 1]
    assert [Settings(settings).members(n, 200) for n in (5999, 6000)] == [4, 1]
    assert Settings(settings | {"given": [0]}).members(2999, 5) == 6


def test_there_is_one_network_of_clean_rows_of_an_encoder_and_in_the_papers_schedule():
    settings = {"ensemble": "auto", "novelty": False, "encoder": None, "given": None}
    for change in ({"novelty": True}, {"encoder": object()}, {"epochs": 3}):
        assert Settings(settings | change).members(100, 5) == 1
        assert Settings(settings | change | {"ensemble": 3}).members(100, 5) == 3
