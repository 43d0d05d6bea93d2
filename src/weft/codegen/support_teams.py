"""C for teams: threads that run a loop together and meet in it.

`&name(` calls another of these functions.
"""

from __future__ import annotations

from typing import Final

TEAM_FUNCTIONS: Final = {
    # One thread of a team. Its rows are those from `first` up to `last`; what is outside of all rows belongs to the
    # threads at the ends. `low` and `high` are the ends of the rows that are shared out.
    "team": """
typedef struct {
    weft_ctx *ctx;
    int64_t rank, width, first, last;
    uint32_t meetings, leaves; /* so far; after which one all leave */
    uint32_t late;             /* how often the others were waited for in vain */
    int stops;                 /* the first thread: that they shall leave */
} weft_team;

static inline int64_t weft_first_row(int64_t rank, int64_t width, int64_t low, int64_t high)
{
    const int64_t row = low + (high - low) * rank / width, inside = row < low + 2 ? low + 2 : row;
    return rank <= 0 ? INT64_MIN / 4 : rank >= width ? INT64_MAX / 4 : inside > high - 2 ? high - 2 : inside;
}

static inline weft_team weft_join(weft_ctx *ctx, int64_t rank, int64_t width, int64_t low, int64_t high)
{
    return (weft_team){.ctx = ctx, .rank = rank, .width = width, .first = weft_first_row(rank, width, low, high),
                       .last = weft_first_row(rank + 1, width, low, high)};
}
""",
    # The work of a loop that is one for a team, else 0. Threads that wait for each other gain where the work between
    # two meetings takes longer than a meeting, and are worth it where it is not so much that a region does as well.
    "teams": """
static inline double weft_teams(const weft_ctx *ctx, int64_t rows, double turns, double work, double meetings)
{
    const double each = work / meetings, all = turns * work;
    const int worth = rows >= 4 * ctx->width && each >= 2048.0 && each < 1048576.0 && all >= 131072.0;
    return ctx->width > 1 && worth ? all : 0.0;
}
""",
    # The first thread asks for interrupts; all leave at the next meeting. Where the others are late again and again,
    # because something else runs on their processors, it sends them away and goes on alone.
    "meet": """
static inline void weft_team_poll(weft_team *team)
{
    if (team->rank == 0 && weft_poll(team->ctx))
        team->stops = 1;
}

static inline int weft_is_there(uint64_t reached, uint32_t meeting)
{
    return (int32_t)((uint32_t)reached - meeting) >= 0;
}

static inline uint64_t weft_await(weft_team *team, const weft_seat *seat)
{
    uint64_t reached = __atomic_load_n(&seat->reached, __ATOMIC_ACQUIRE);
    for (int turn = 1; !weft_is_there(reached, team->meetings); ++turn) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        if (turn % 2048 == 0) {
            team->ctx->idle(team->ctx);
            team->late += turn == 16384;
        }
        reached = __atomic_load_n(&seat->reached, __ATOMIC_ACQUIRE);
    }
    return reached;
}

static inline int weft_meet(weft_team *team)
{
    weft_seat *seats = team->ctx->seats;
    const uint32_t meeting = ++team->meetings;
    if (team->width == 1)
        return team->stops;
    const int alone = team->rank == 0 && team->late > 2 + (meeting >> 14);
    if (team->stops || alone)
        team->leaves = meeting;
    __atomic_store_n(&seats[team->rank].reached, (uint64_t)team->leaves << 32 | meeting, __ATOMIC_RELEASE);
    for (int64_t rank = 0; rank < team->width; ++rank) {
        if (rank == team->rank)
            continue;
        const uint64_t reached = weft_await(team, &seats[rank]);
        if (rank == 0)
            team->leaves = (uint32_t)(reached >> 32);
    }
    if (team->leaves != meeting || meeting == 0) /* 0: that nobody leaves, or it is counted from there again */
        return 0;
    if (!alone || team->stops)
        return 1;
    team->width = 1;
    team->first = INT64_MIN / 4;
    team->last = INT64_MAX / 4;
    return 0;
}
""",
    # The part of a team's thread: of iterations in equal parts; of points whose first ones belong to the row `owner`,
    # each further `unit` iterations to the next row; and of what belongs to one row as a whole.
    "share": """
static inline void weft_share(const weft_team *team, weft_body body, void *env, int64_t count)
{
    const int64_t begin = count * team->rank / team->width, end = count * (team->rank + 1) / team->width;
    if (begin < end)
        body(env, begin, end);
}
""",
    "own": """
static inline void weft_own(const weft_team *team, weft_body body, void *env, int64_t owner, int64_t count,
                            int64_t unit)
{
    const int64_t first = team->first - owner, last = team->last - owner;
    const int64_t begin = first < 0 ? 0 : first, end = last > count ? count : last;
    if (begin < end)
        body(env, begin * unit, end * unit);
}
""",
    "own_all": """
static inline void weft_own_all(const weft_team *team, weft_body body, void *env, int64_t owner, int64_t count)
{
    if (team->first <= owner && owner < team->last)
        body(env, 0, count);
}
""",
}
