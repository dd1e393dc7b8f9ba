"""binomial-broadcast: the root's vector on every rank in lg p steps, by a tree."""

from counterpoint.grading.costs import few_messages, few_steps
from counterpoint.grading.diagnoses.movers import left_as_it_was, never_filled, nobody_to_send_to
from counterpoint.grading.diagnoses.patterns import power_of_two
from counterpoint.grading.exercise import Exercise, Part, cases
from counterpoint.grading.roots import (
    beyond_the_last,
    like_a_chain,
    like_a_star,
    not_the_roots,
    only_root_0,
    told_twice,
    want_roots,
    with_root,
)

EXERCISE = Exercise(
    name="binomial-broadcast",
    topic="07_messages_and_collectives",
    title="Binomial broadcast",
    function="binomial_broadcast",
    parameters=("comm", "tensor", "root"),
    minutes=25,
    difficulty=2,
    parts=(
        Part(
            "correct", 3, "every rank ends with the root's vector",
            partly=((1, "right on 1, 2, 4 and 8 ranks", power_of_two),),
        ),
        Part("bytes", 1, "p - 1 vectors travelled in all"),
        Part("steps", 1, "⌈lg p⌉ steps"),
    ),
    hints=(
        "With 8 ranks and root 0: after the first step two ranks have the vector, after the second four. Who "
        "sends to whom, so that nobody is sent it twice? Draw it, then leave out rank 7.",
        "Take `me = (comm.rank - root) % comm.size`. Halve the distance in each step: 4, 2, 1 for 8 ranks. A "
        "rank whose `me` is a multiple of twice the distance has the vector, and sends it one distance up, **if "
        "there is such a rank**.",
        "Start with `distance` = the largest power of two below `comm.size`. In each step: if `me % (2 * "
        "distance) == 0` and `me + distance < comm.size`, send to `(me + distance + root) % comm.size`; if `me % "
        "(2 * distance) == distance`, receive from `(me - distance + root) % comm.size`. Then halve the distance.",
    ),
    cases=cases(),
    call=with_root,
    wants=want_roots,
    targets=(
        few_messages(lambda case: (case.ranks - 1) * case.count * case.itemsize),
        few_steps(lambda case: (case.ranks - 1).bit_length()),
    ),
    diagnoses=(
        nobody_to_send_to, left_as_it_was, only_root_0, beyond_the_last, not_the_roots, never_filled(lambda p: 1),
    ),
    remarks=(told_twice, like_a_star, like_a_chain),
)  # fmt: skip
