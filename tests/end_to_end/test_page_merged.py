"""Bodies in the page by what they are merged into, as pictures have them."""

from __future__ import annotations

from PIL import Image

from tests.end_to_end.page_tools import NewTab, Serve, Still, camera_of, difference, small
from tests.unit.test_super_body_colours import resting


class Merging(Still):
    """A still whose bodies may be coloured by super-body."""

    def colours(self) -> list[str]:
        return ["material", "merged"]


def test_the_page_shows_super_bodies(serve: Serve, new_tab: NewTab) -> None:
    from berm.render.offscreen import Renderer

    world = resting()
    world.remove_body(world.body("box 2"))  # high in the air
    for _ in range(20):
        world.step()
    session = Merging(world)
    assert session.moment.groups == (-1, 0, 0)
    tab = new_tab(800, 600).open(serve(session).address)
    tab.page.locator("#panel select").first.select_option("merged")
    tab.until("berm.view.grains.frame.header.colour === 'merged'", "super-bodies")
    assert "part of the ground" in tab.text("legend")
    shown = tab.picture()
    with Renderer(shown.size) as renderer:
        camera = camera_of(tab)
        drawn = renderer.draw(session.stage, session.moment, camera, "merged")
        plain = renderer.draw(session.stage, session.moment, camera)
    mean, _ = difference(small(shown), small(Image.fromarray(drawn)))
    other, _ = difference(small(shown), small(Image.fromarray(plain)))
    assert mean < 3.0 and mean < other
