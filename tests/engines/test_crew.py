"""The crew finds seats as a search of all workers would, whatever happened to them."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from capra.engines.crew import Crew, Worker
from capra.engines.news import Joined

HOSTS = ("a", "b", "c")
ADDRESSES = ("a1", "a2", "b1", "b2", "c1")


class Plain:
    """The rules, word by word, over all workers."""

    def __init__(self, crew: Crew) -> None:
        self.usable = [worker for worker in crew if worker.host not in crew.hosts.quarantined]

    def free(self) -> int:
        return sum(worker.free for worker in self.usable)

    def has_others(self, host: str) -> bool:
        return any(worker.host != host and not worker.silent for worker in self.usable)

    def candidates(self, avoid: Collection[str]) -> list[Worker]:
        wanted = [worker for worker in self.usable if worker.host not in avoid and not worker.silent] or self.usable
        most = max((worker.free for worker in wanted), default=0)
        return [worker for worker in wanted if worker.free == most] if most else []


def happen(crew: Crew, what: str, address: str, number: int) -> None:
    worker = next((worker for worker in crew if worker.address == address), None)
    if what == "join":
        crew.join(Joined(address, str(number), address[0], 1 + number % 3, 1.0, ""), 0.0)
    elif what == "leave":
        crew.leave(address)
    elif what == "blame":
        crew.blame(address[0], "broken")
    elif worker is not None:
        match what:
            case "take":
                crew.take(worker, (number, 1))
            case "release":
                crew.release(worker, [*worker.taken][:1])
            case "silent":
                crew.give_up(worker)
            case "heard":
                crew.hear(worker, 1.0)
            case "retire":
                crew.retire_seat(worker)


EVENTS = st.tuples(
    st.sampled_from(["join", "join", "take", "take", "take", "release", "leave", "silent", "heard", "retire", "blame"]),
    st.sampled_from(ADDRESSES),
    st.integers(0, 50),
)


@given(st.lists(EVENTS, max_size=60), st.sets(st.sampled_from(HOSTS)))
def test_seats_are_those_of_a_search_of_all(events: list[tuple[str, str, int]], avoid: set[str]) -> None:
    crew = Crew()
    for event in events:
        happen(crew, *event)
        plain = Plain(crew)
        assert crew.free == plain.free()
        assert [crew.has_others(host) for host in HOSTS] == [plain.has_others(host) for host in HOSTS]
        for hosts in (avoid, ()):
            found, candidates = crew.seat(hosts), plain.candidates(hosts)
            assert (found in candidates) if candidates else found is None


def test_workers_take_turns() -> None:
    crew = Crew()
    for address in ADDRESSES:
        crew.join(Joined(address, "t", address[0], 1, 1.0, ""), 0.0)
    seen = []
    for ticket in range(2 * len(ADDRESSES)):
        worker = crew.seat(())
        assert worker is not None
        seen.append(worker.address)
        crew.take(worker, (ticket, 1))
        crew.release(worker, [(ticket, 1)])
    assert sorted(seen) == sorted(2 * ADDRESSES)
