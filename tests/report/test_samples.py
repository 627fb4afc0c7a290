"""Every sample is drawn, anew: the other files of tests look at these pages."""


def test_is_drawn(pages, sample):
    pages.folder.mkdir(parents=True, exist_ok=True)
    for old in pages.folder.glob(f"{sample}.*"):
        old.unlink()
    assert pages.page(sample).stat().st_size > 0
