/* From which size on threads share the brief regions of a kernel: found out by trying.
 *
 * A region of some microseconds gains from threads where what it reads lies in the caches of those that read it, and
 * loses where it does not: a vector turned round, rows after columns, borders done by one thread. Nothing in the region
 * itself tells. So such regions are timed, a window of them at a time, per unit of their work and at each level of
 * sharing, behind a window in which what they read moves to the caches of those that read it at that level. The quickest
 * level stays, longer each time it is found to be the quickest again. Results do not depend on it.
 *
 * Regions of different kinds take different times for what is counted as the same work. In loops a window is whole turns,
 * so that windows are alike; there larger regions are timed as well.
 */
enum { LEVELS = 3, WINDOW = 16, LONGEST_WINDOW = 512, ROUNDS = 2, STAY = 32, LONGEST_STAY = 512 };
static const double MUCH_SLOWER = 1.25; /* than another level: it is not tried once more */

/* The least work that is shared, in the unit of `weft_ctx.choose`: as much as pays most often, nothing, a quarter. */
static const double least_shared[LEVELS] = {1.0, 1e300, 0.25};

typedef struct {
    _Atomic int held;      /* by a call */
    int level, best;       /* the one at present, the one that stays */
    int left;              /* regions left of the window; with turns, fewer than none: those beyond it */
    int turns;             /* of a loop, since the window began */
    int windows;           /* left of the stay; 0: the levels are tried one after the other */
    int warm;              /* a window at this level is over */
    int round, stay;
    double work;           /* of the window so far, */
    int64_t time;          /* and its nanoseconds, without the call that runs */
    double rate[LEVELS];   /* nanoseconds per work, at the best; 0: not known */
} pace;

static int quickest(const pace *p)
{
    int best = 0;
    for (int level = 1; level < LEVELS; level++)
        if (p->rate[level] < p->rate[best]) best = level;
    return best;
}

static void settle(pace *p)
{
    int best = quickest(p);
    p->stay = best != p->best || !p->stay ? STAY : p->stay < LONGEST_STAY ? 2 * p->stay : p->stay;
    p->level = p->best = best;
    p->windows = p->stay;
    p->round = 0;
}

/* More than one round, and the best of each level: a window in which another process ran tells nothing. */
static void try_next(pace *p)
{
    do {
        p->level = (p->level + 1) % LEVELS;
        if (p->level == 0 && ++p->round == ROUNDS) {
            settle(p);
            return;
        }
    } while (p->round && p->rate[p->level] > MUCH_SLOWER * p->rate[quickest(p)]);
    p->warm = 0;
}

static void end_window(pace *p)
{
    if (p->windows && --p->windows == 0) {
        memset(p->rate, 0, sizeof p->rate);
        p->warm = p->level == 0;
        p->level = 0;
    } else if (!p->windows && !p->warm) {
        p->warm = 1;
    } else if (!p->windows && p->work > 0) {
        double rate = (double)p->time / p->work, *known = &p->rate[p->level];
        if (*known == 0 || rate < *known) *known = rate;
        try_next(p);
    }
    p->left = WINDOW;
    p->turns = 0;
    p->work = 0;
    p->time = 0;
}

static void next_window(pace *p, int64_t *since)
{
    int64_t now = nanoseconds();
    p->time += now - *since;
    *since = now;
    end_window(p);
}

/* Whether threads shall share a region. `since`: when the window or this call's part of it began, 0 before. */
static int shares_region(pace *p, double work, int64_t *since)
{
    if (!*since) {
        if (atomic_exchange_explicit(&p->held, 1, memory_order_acquire)) return work >= least_shared[0];
        *since = nanoseconds();
    }
    if (p->turns ? p->left == -LONGEST_WINDOW : p->left <= 0) next_window(p, since);
    p->left--;
    p->work += work;
    return work >= least_shared[p->level];
}

/* A turn of a loop begins, in a call that times regions. */
static void begin_turn(pace *p, int64_t *since)
{
    if (p->turns > 1 && p->left <= 0) next_window(p, since);
    p->turns++;
}

/* At the end of a call that timed regions. */
static void release_pace(pace *p, int64_t since)
{
    p->time += nanoseconds() - since;
    atomic_store_explicit(&p->held, 0, memory_order_release);
}

/* ---------------------------------------------------------------- teams */

/* Whether a team runs a loop, its maps are regions of their own, or one thread runs it: where what the threads pass to each
 * other is most of what they do, one may be quicker than two that meet. All are tried in turn, three times. */
enum { TEAM, REGIONS, ALONE, WAYS };
enum { TEAM_LOOPS = 8, TEAM_TRIES = 3 * WAYS, TEAM_STAY = 16, LONGEST_TEAM_STAY = 256 };

typedef struct {
    _Atomic int held;      /* by a run of the loop */
    int tries;             /* so far; TEAM_TRIES: it is decided */
    int best, left, stay;
    double rate[WAYS];     /* nanoseconds per work at the best */
} team_pace;

static int way_of(const team_pace *p) { return p->tries < TEAM_TRIES ? p->tries % WAYS : p->best; }

static void end_try(team_pace *p, double rate)
{
    double *known = &p->rate[way_of(p)];
    if (p->tries == TEAM_TRIES) {
        if (--p->left == 0) p->tries = 0;
        return;
    }
    if (p->tries < WAYS || rate < *known) *known = rate;
    if (++p->tries < TEAM_TRIES) return;
    int best = TEAM;
    for (int way = REGIONS; way < WAYS; way++)
        if (p->rate[way] < p->rate[best]) best = way;
    p->stay = best != p->best || !p->stay ? TEAM_STAY : p->stay < LONGEST_TEAM_STAY ? 2 * p->stay : p->stay;
    p->best = best;
    p->left = p->stay;
}
