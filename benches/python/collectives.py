"""What recording costs in a collective: `python benches/python/collectives.py [PAIRS [COLLECTIVES]]`.

Gloo, one rank of one: all of torch's way and no other rank's time. Each form has a bare process and one under
`laptime run`, which take turns.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from turns import Times, take_turns

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
COLLECTIVES = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
TURNS = 6
FORMS = ("blocking", "async", "8 at once")
BAR_US = 5.0


def command(form: str, hooked: bool, port: int) -> list[str]:
    beside_python = Path(sys.executable).parent
    laptime = [str(beside_python / "laptime"), "run", "--quiet", "--"] if hooked else []
    worker = str(Path(__file__).with_name("collectives_worker.py"))
    name = f"{form} {hooked}"
    return [*laptime, sys.executable, worker, str(port), name, form, str(COLLECTIVES)]


def main() -> None:
    ways = {
        f"{form} {hooked}": lambda port, form=form, hooked=hooked: command(form, hooked, port)
        for form in FORMS
        for hooked in (False, True)
    }
    pairs: list[dict[str, Times]] = [take_turns(ways, TURNS) for _ in range(PAIRS)]
    print(
        f"all_reduce of 64 bytes, gloo, {PAIRS} pairs of {TURNS} turns of {COLLECTIVES}, the least of each; bar: "
        f"{BAR_US:.0f} us a collective"
    )
    print(f"{'':12}  {'bare':>9}  {'hooked':>9}   more: least, median of pairs (CPU time)")
    for form in FORMS:
        bare, hooked = ([pair[f"{form} {which}"] for pair in pairs] for which in (False, True))
        of_wall, of_cpu = (
            [one[clock] - other[clock] for one, other in zip(hooked, bare, strict=True)]
            for clock in (0, 1)
        )
        least = [min(times)[0] for times in (bare, hooked)]
        print(
            f"{form:12}  {least[0]:6.1f} us  {least[1]:6.1f} us   {least[1] - least[0]:5.2f} us, "
            f"{statistics.median(of_wall):5.2f} us ({statistics.median(of_cpu):5.2f} us)"
        )


if __name__ == "__main__":
    main()
