"""The passes each target runs, in order."""

from __future__ import annotations

from collections.abc import Collection

from weft.passes.add_products import AddProducts
from weft.passes.base import Pass
from weft.passes.block_calls import BlockCalls
from weft.passes.block_products import BlockProducts
from weft.passes.bounded_counts import BoundedCounts
from weft.passes.carried_in_place import CarriedInPlace
from weft.passes.choose_stores import ChooseStores
from weft.passes.collapse_maps import CollapseMaps
from weft.passes.common_results import CommonResults
from weft.passes.contractions import Contractions
from weft.passes.dead_code import DropDeadCode
from weft.passes.dense_refs import DenseRefs
from weft.passes.distribute_loops import DistributeLoops
from weft.passes.expand_elementwise import ExpandElementwise
from weft.passes.flatten_maps import FlattenMaps
from weft.passes.fuse_maps import FuseMaps
from weft.passes.fuse_reductions import FuseReductions
from weft.passes.fuse_rows import FuseRows
from weft.passes.gather_guards import GatherGuards
from weft.passes.guards_ahead import GuardsAhead
from weft.passes.hoist_allocs import HoistAllocs
from weft.passes.hoist_guards import HoistGuards
from weft.passes.in_place import InPlace
from weft.passes.inline_producers import InlineProducers
from weft.passes.inner_products import InnerProducts
from weft.passes.interchange_maps import InterchangeMaps
from weft.passes.jam_lines import JamLines
from weft.passes.jam_rows import JamRows
from weft.passes.join_collections import JoinCollections
from weft.passes.loop_reductions import LoopReductions
from weft.passes.loop_to_map import LoopToMap
from weft.passes.loops_inward import LoopsInward
from weft.passes.mirror_pairs import MirrorPairs
from weft.passes.name_arrays import NameArrays
from weft.passes.pack_lines import PackLines
from weft.passes.private_arrays import PrivateArrays
from weft.passes.private_bins import PrivateBins
from weft.passes.read_pieces import ReadPieces
from weft.passes.recurrences_outward import RecurrencesOutward
from weft.passes.report_wishes import ReportWishes
from weft.passes.rows_in_order import RowsInOrder
from weft.passes.schedule_maps import ScheduleMaps
from weft.passes.simplify import Simplify
from weft.passes.slide_rows import SlideRows
from weft.passes.split_loops import SplitLoops
from weft.passes.split_maps import SplitMaps
from weft.passes.split_ranges import SplitRanges
from weft.passes.stack_arrays import StackArrays
from weft.passes.strip_loops import StripLoops
from weft.passes.strip_survivors import StripSurvivors
from weft.passes.structure_continues import StructureContinues
from weft.passes.sums_forward import SumsForward
from weft.passes.sums_in_range import SumsInRange
from weft.passes.sums_of_rows import SumsOfRows
from weft.passes.sums_outward import SumsOutward
from weft.passes.sweep_matrices import SweepMatrices
from weft.passes.team_loops import TeamLoops
from weft.passes.unify_branches import UnifyBranches
from weft.passes.unify_carries import UnifyCarries


def cpu_pipeline(without: Collection[str] = ()) -> tuple[Pass, ...]:
    """From the array level to what the C code generator takes, less the passes named."""
    return tuple(step for step in _cpu_passes() if step.name not in without)


def _cpu_passes() -> tuple[Pass, ...]:
    return (*_loops_to_maps(), *_maps())


def _loops_to_maps() -> tuple[Pass, ...]:
    """From whole arrays and loops to maps and sums."""
    return (
        NameArrays(),
        Simplify(loop_sites=True),
        CommonResults(),  # before what they are computed from is put into them
        StructureContinues(),
        BoundedCounts(),
        UnifyCarries(),
        UnifyBranches(),
        SplitRanges(),  # before guards are looked at: those of the parts are simpler
        HoistGuards(),
        GatherGuards(),
        GuardsAhead(),  # of those that are left
        DropDeadCode(loop_sites=True),  # what only sites needed that nobody leaves through any more
        SumsInRange(),
        InnerProducts(),  # before producers are looked at: of a sum they need not be stored
        ExpandElementwise(),
        InlineProducers(),  # before loops are judged: memory allocated in an iteration is in their way
        StackArrays(most_bytes=16),  # the result of a sum in an iteration is no obstacle
        DistributeLoops(),  # what is in the way of sums and maps
        LoopReductions(),
        DistributeLoops(),  # of the loops around those that are sums now
        LoopReductions(),
        GuardsAhead(),  # of what was carried in a loop that is none any more
        RecurrencesOutward(),  # the sums of its elements are sums by now, and its columns become maps
        SumsForward(),  # of the recurrences that are left
        SplitRanges(meeting=True),  # of the loops that would not be maps
        LoopToMap(),
    )


def _maps() -> tuple[Pass, ...]:
    """What becomes of maps and sums."""
    return (
        CollapseMaps(),
        RowsInOrder(),  # of the maps that are still in maps
        SumsOutward(),
        PackLines(),  # of the sums that are still in maps
        SplitMaps(),  # without its sum a map may be simple enough
        CollapseMaps(),
        AddProducts(),  # loops as they are left
        SumsOfRows(),  # of the loops that are left
        Contractions(),  # sums outside of maps, as the passes before leave them
        ChooseStores(),  # at points of maps that are as large as they get
        ReadPieces(),  # when readers are as large as they get
        CollapseMaps(),  # of parts that are one point wide
        StripSurvivors(),  # before maps fuse: between those of a turn there are no guards then
        FuseMaps(),
        BlockProducts(),  # of loops that stay loops
        SweepMatrices(),  # products, and what stands between them, are what they will be
        JoinCollections(),
        DenseRefs(),
        SplitLoops(),  # of maps that are whole
        InterchangeMaps(),
        PackLines(points=True),  # of maps whose last parameter is known
        LoopsInward(),  # the innermost parameter of each map is known now
        LoopReductions(),  # of what is now a loop at a point
        FuseReductions(marked=False),  # before their results share memory
        MirrorPairs(),  # before their temporaries become others
        InPlace(),  # before memory is shared, which makes two of one life
        PrivateArrays(),  # before allocations leave loops, whose turns depend on each other then
        PrivateBins(),  # of the loops that are left
        BlockCalls(),  # before temporaries of turns leave the loops
        HoistAllocs(),
        StackArrays(),
        Simplify(),
        CarriedInPlace(),  # where nothing else is left in a loop
        BlockCalls(),  # of turns that allocate less now
        ReportWishes(),
        FuseRows(),  # of what shares memory by now, before rows are cut otherwise
        FlattenMaps(),
        StripLoops(),  # of maps as flat as they get
        JamLines(),  # of the loops that are left in maps
        FuseReductions(),  # nothing may come between them any more
        ScheduleMaps(),
        JamRows(),  # of those that threads share
        TeamLoops(),  # of what threads share by then
        SlideRows(),  # of rows that do not go side by side
    )


def cpu_lowering() -> tuple[Pass, ...]:
    """The part of it that the C code generator cannot do without: nothing here makes a program faster."""
    return (ExpandElementwise(),)
