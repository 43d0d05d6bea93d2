/* From which size on threads share the brief regions of a kernel: found out by trying.
 *
 * A region of some microseconds gains from threads where what it reads lies in the caches of those that read it, and
 * loses where it does not: a vector turned round, rows after columns, borders done by one thread. Nothing in the region
 * itself tells. So such regions are timed, a window of them at a time, per unit of their work and at each level of
 * sharing. The quickest level stays, longer each time it is found to be the quickest again. Results do not depend on it.
 */
enum { LEVELS = 3, WINDOW = 16, ROUNDS = 2, STAY = 32, LONGEST_STAY = 512 };

/* The least work that is shared, in the unit of `weft_ctx.choose`: as much as pays most often, nothing, a quarter. */
static const double least_shared[LEVELS] = {1.0, 1e300, 0.25};

typedef struct {
    _Atomic int held;      /* by a call */
    int level, best;       /* the one at present, the one that stays */
    int left;              /* regions left of the window */
    int windows;           /* left of the stay; 0: the levels are tried one after the other */
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
    p->level = (p->level + 1) % LEVELS;
    if (p->level == 0 && ++p->round == ROUNDS) settle(p);
}

static void end_window(pace *p)
{
    if (p->windows && --p->windows == 0) {
        memset(p->rate, 0, sizeof p->rate);
        p->level = 0;
    } else if (!p->windows && p->work > 0) {
        double rate = (double)p->time / p->work, *known = &p->rate[p->level];
        if (*known == 0 || rate < *known) *known = rate;
        try_next(p);
    }
    p->left = WINDOW;
    p->work = 0;
    p->time = 0;
}

/* Whether threads shall share a region. `since`: when the window or this call's part of it began, 0 before. */
static int shares_region(pace *p, double work, int64_t *since)
{
    if (!*since) {
        if (atomic_exchange_explicit(&p->held, 1, memory_order_acquire)) return work >= least_shared[0];
        *since = nanoseconds();
    }
    if (p->left == 0) {
        int64_t now = nanoseconds();
        p->time += now - *since;
        *since = now;
        end_window(p);
    }
    p->left--;
    p->work += work;
    return work >= least_shared[p->level];
}

/* At the end of a call that timed regions. */
static void release_pace(pace *p, int64_t since)
{
    p->time += nanoseconds() - since;
    atomic_store_explicit(&p->held, 0, memory_order_release);
}

/* ---------------------------------------------------------------- teams */

/* Whether a team runs a loop, or its maps are regions of their own: where what the threads pass to each other is most of
 * what they do, neither gains, and one thread may be quicker than two that meet. Both are tried in turn, three times. */
enum { TEAM_LOOPS = 8, TEAM_TRIES = 6, TEAM_STAY = 16, LONGEST_TEAM_STAY = 256 };

typedef struct {
    _Atomic int held;      /* by a run of the loop */
    int tries;             /* so far; TEAM_TRIES: it is decided */
    int best, left, stay;
    double rate[2];        /* nanoseconds per work at the best, without and with a team */
} team_pace;

static int team_level(const team_pace *p) { return p->tries < TEAM_TRIES ? p->tries % 2 == 0 : p->best; }

static void end_try(team_pace *p, double rate)
{
    double *known = &p->rate[team_level(p)];
    if (p->tries == TEAM_TRIES) {
        if (--p->left == 0) p->tries = 0;
        return;
    }
    if (p->tries < 2 || rate < *known) *known = rate;
    if (++p->tries < TEAM_TRIES) return;
    int best = p->rate[1] < p->rate[0];
    p->stay = best != p->best || !p->stay ? TEAM_STAY : p->stay < LONGEST_TEAM_STAY ? 2 * p->stay : p->stay;
    p->best = best;
    p->left = p->stay;
}
