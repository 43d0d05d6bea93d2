/* Measure what a machine can do: bandwidth by level and kind of store, arithmetic peak, page faults, steadiness.
 *
 *     probe triad   THREADS BYTES SECONDS [CPU...]     bytes of b and c read and a written, per second
 *     probe fma64   THREADS 0 SECONDS [CPU...]         floating-point operations per second
 *     probe fault   1 BYTES SECONDS                    seconds per page
 *     probe steady  1 SAMPLES SECONDS                  seconds of each sample, one a line
 *     probe kinds                                      what this build can measure, one a line
 *
 * BYTES is the working set of one thread: all arrays of the loop together. Threads allocate and first touch their own
 * arrays, start a round together, and a round lasts from the first start to the last finish; the best round counts.
 * Vectors are those of GNU C, which gcc and clang turn into what -march=native has; other compilers get scalars. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#ifdef __GNUC__
#define KEEP_MEMORY() __asm__ volatile("" ::: "memory")
#define NOINLINE __attribute__((noinline))
#define VECTOR(type, bytes) __attribute__((vector_size(bytes))) type
#define HAS_VECTORS 1
#else
#define KEEP_MEMORY() ((void)0)
#define NOINLINE
#endif

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
/* Independent chains that hide the latency of the units, within the registers there are. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define CHAINS 24
#else
#define CHAINS 12
#endif

#ifdef HAS_VECTORS
typedef VECTOR(double, WIDTH) word;
#else
typedef double word;
#endif

static volatile double sink; /* where results go, so that the loops cannot be removed */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---------------------------------------------------------------- stores that go past the caches */

#if defined(__clang__)
#define HAS_STREAM 1
static inline void stream(word *to, word value) { __builtin_nontemporal_store(value, to); }
#elif defined(__AVX512F__)
#define HAS_STREAM 1
static inline void stream(word *to, word value) { _mm512_stream_pd((double *)to, (__m512d)value); }
#elif defined(__AVX__)
#define HAS_STREAM 1
static inline void stream(word *to, word value) { _mm256_stream_pd((double *)to, (__m256d)value); }
#elif defined(__SSE2__)
#define HAS_STREAM 1
static inline void stream(word *to, word value) { _mm_stream_pd((double *)to, (__m128d)value); }
#elif defined(__aarch64__) && defined(__GNUC__)
#define HAS_STREAM 1
static inline void stream(word *to, word value) {
  double low = ((double *)&value)[0], high = ((double *)&value)[1];
  __asm__ volatile("stnp %d0, %d1, [%2]" ::"w"(low), "w"(high), "r"(to) : "memory");
}
#endif

static inline void drain(void) {
#if defined(__SSE2__)
  _mm_sfence();
#elif defined(__aarch64__) && defined(__GNUC__)
  __asm__ volatile("dmb ish" ::: "memory");
#endif
}

/* ---------------------------------------------------------------- the loops; n is a multiple of 4 words */

typedef struct {
  word *array[3];
  size_t words;
} arrays;

static volatile double factor_source = 3.0; /* read at run time: no constant to fold */

static NOINLINE void triad(const arrays *w) {
  word *restrict a = w->array[0];
  const word *restrict b = w->array[1], *restrict c = w->array[2];
  word s = w->array[1][0] * 0.0 + factor_source;
  for (size_t i = 0; i < w->words; i += 4) {
    a[i] = b[i] + s * c[i];
    a[i + 1] = b[i + 1] + s * c[i + 1];
    a[i + 2] = b[i + 2] + s * c[i + 2];
    a[i + 3] = b[i + 3] + s * c[i + 3];
  }
}

static NOINLINE void copy(const arrays *w) {
  word *restrict a = w->array[0];
  const word *restrict b = w->array[1];
  for (size_t i = 0; i < w->words; i += 4) {
    word x0 = b[i], x1 = b[i + 1], x2 = b[i + 2], x3 = b[i + 3];
    a[i] = x0, a[i + 1] = x1, a[i + 2] = x2, a[i + 3] = x3;
    KEEP_MEMORY(); /* or the compiler calls memcpy, which chooses its stores itself */
  }
}

static NOINLINE void read_all(const arrays *w) {
  const word *a = w->array[0];
  word s0 = a[0] * 0.0, s1 = s0, s2 = s0, s3 = s0;
  for (size_t i = 0; i < w->words; i += 4) {
    s0 += a[i], s1 += a[i + 1], s2 += a[i + 2], s3 += a[i + 3];
  }
  s0 += s1 + s2 + s3;
  sink = *(double *)&s0;
}

#ifdef HAS_STREAM
static NOINLINE void triad_stream(const arrays *w) {
  word *a = w->array[0];
  const word *b = w->array[1], *c = w->array[2];
  word s = w->array[1][0] * 0.0 + factor_source;
  for (size_t i = 0; i < w->words; i += 4) {
    stream(a + i, b[i] + s * c[i]);
    stream(a + i + 1, b[i + 1] + s * c[i + 1]);
    stream(a + i + 2, b[i + 2] + s * c[i + 2]);
    stream(a + i + 3, b[i + 3] + s * c[i + 3]);
  }
  drain();
}

static NOINLINE void copy_stream(const arrays *w) {
  word *a = w->array[0];
  const word *b = w->array[1];
  for (size_t i = 0; i < w->words; i += 4) {
    stream(a + i, b[i]);
    stream(a + i + 1, b[i + 1]);
    stream(a + i + 2, b[i + 2]);
    stream(a + i + 3, b[i + 3]);
  }
  drain();
}
#endif

/* ---------------------------------------------------------------- arithmetic
 * x = x * 0.5 + 1 stays near 2. Without multiply-add, half of the chains multiply and half add: nothing to contract. */

#define TURNS 2000

/* Written out one by one: of an array whose address is taken, the compiler may keep the chains in memory. */
#if CHAINS == 24
#define EVEN(X) X(0) X(2) X(4) X(6) X(8) X(10) X(12) X(14) X(16) X(18) X(20) X(22)
#define ODD(X) X(1) X(3) X(5) X(7) X(9) X(11) X(13) X(15) X(17) X(19) X(21) X(23)
#else
#define EVEN(X) X(0) X(2) X(4) X(6) X(8) X(10)
#define ODD(X) X(1) X(3) X(5) X(7) X(9) X(11)
#endif
#define DECLARE(k) x##k = splat + (k), /* all different: equal chains would be computed once */
#define MULTIPLY_ADD(k) x##k = x##k * half + one;
#define MULTIPLY(k) x##k = x##k * one;
#define ADD(k) x##k = x##k + one;
#define SUM(k) splat += x##k;

#define DEFINE_PEAK(name, V, scalar)                                                          \
  static NOINLINE void fma_##name(const arrays *w) {                                          \
    V splat = (V){0} + (scalar)factor_source, one = splat / 3, half = splat / 6;              \
    V EVEN(DECLARE) ODD(DECLARE) last = splat;                                                \
    for (int turn = 0; turn < TURNS; turn++) { EVEN(MULTIPLY_ADD) ODD(MULTIPLY_ADD) }         \
    EVEN(SUM) ODD(SUM) splat += last;                                                         \
    sink = (double)*(scalar *)&splat + (double)w->words;                                      \
  }                                                                                           \
  static NOINLINE void plain_##name(const arrays *w) {                                        \
    V splat = (V){0} + (scalar)factor_source, one = splat / 3;                                \
    V EVEN(DECLARE) ODD(DECLARE) last = splat;                                                \
    for (int turn = 0; turn < TURNS; turn++) { EVEN(MULTIPLY) ODD(ADD) }                      \
    EVEN(SUM) ODD(SUM) splat += last;                                                         \
    sink = (double)*(scalar *)&splat + (double)w->words;                                      \
  }

#ifdef HAS_VECTORS
typedef VECTOR(float, WIDTH) wide32;
typedef VECTOR(double, WIDTH) wide64;
#else
typedef float wide32;
typedef double wide64;
#endif
DEFINE_PEAK(wide32, wide32, float)
DEFINE_PEAK(wide64, wide64, double)
#if defined(HAS_VECTORS) && WIDTH > 32 /* on some processors the narrower vectors run at a higher clock */
#define HAS_NARROW 1
typedef VECTOR(float, 32) narrow32;
typedef VECTOR(double, 32) narrow64;
DEFINE_PEAK(narrow32, narrow32, float)
DEFINE_PEAK(narrow64, narrow64, double)
#endif

/* ---------------------------------------------------------------- the kinds */

typedef struct {
  const char *name;
  void (*loop)(const arrays *);
  int arrays;             /* in the working set; 0: arithmetic */
  double flops_per_chain; /* of one turn of an arithmetic loop */
} kind;

#define FLOPS(V, scalar, each) ((double)(sizeof(V) / sizeof(scalar)) * (each))

static const kind kinds[] = {
    {"triad", triad, 3, 0.0},
    {"copy", copy, 2, 0.0},
    {"read", read_all, 1, 0.0},
#ifdef HAS_STREAM
    {"triad_stream", triad_stream, 3, 0.0},
    {"copy_stream", copy_stream, 2, 0.0},
#endif
    {"fma32", fma_wide32, 0, FLOPS(wide32, float, 2.0)},
    {"fma64", fma_wide64, 0, FLOPS(wide64, double, 2.0)},
    {"plain32", plain_wide32, 0, FLOPS(wide32, float, 1.0)},
    {"plain64", plain_wide64, 0, FLOPS(wide64, double, 1.0)},
#ifdef HAS_NARROW
    {"fma32_narrow", fma_narrow32, 0, FLOPS(narrow32, float, 2.0)},
    {"fma64_narrow", fma_narrow64, 0, FLOPS(narrow64, double, 2.0)},
    {"plain32_narrow", plain_narrow32, 0, FLOPS(narrow32, float, 1.0)},
    {"plain64_narrow", plain_narrow64, 0, FLOPS(narrow64, double, 1.0)},
#endif
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* ---------------------------------------------------------------- threads */

enum { MAX_THREADS = 1024 };
#define ROUND_SECONDS 2e-3 /* long against the wake-up of a thread, short against the time slices of others */
#define LEAST_ROUNDS 4

typedef struct {
  const kind *what;
  int threads, cpus;
  int cpu[MAX_THREADS];
  size_t bytes;
  double seconds;
  pthread_mutex_t lock;
  pthread_cond_t all_here;
  int waiting, generation;
  long passes;
  int stop, failed;
  double start[MAX_THREADS], finish[MAX_THREADS];
  double work_per_pass, best_rate;
} team;

typedef struct {
  team *team;
  int number;
} member;

static void barrier(team *t) { /* macOS has no pthread_barrier; spinning would take cores that others need */
  pthread_mutex_lock(&t->lock);
  int generation = t->generation;
  if (++t->waiting == t->threads) {
    t->waiting = 0;
    t->generation++;
    pthread_cond_broadcast(&t->all_here);
  }
  while (generation == t->generation) pthread_cond_wait(&t->all_here, &t->lock);
  pthread_mutex_unlock(&t->lock);
}

static void pin(int cpu) {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  (void)sched_setaffinity(0, sizeof set, &set); /* not allowed: it runs where it runs */
#else
  (void)cpu;
#endif
}

/* Arrays at offsets that differ by more than whole pages: a load must not look like a store of a moment before. */
static int allocate(const kind *what, size_t bytes, arrays *out, void **block) {
  const size_t huge = (size_t)2 << 20, pad = 192;
  size_t each = bytes / (size_t)what->arrays / (4 * sizeof(word)) * (4 * sizeof(word));
  size_t total = (size_t)what->arrays * (each + pad) + 64;
  total = (total + huge - 1) / huge * huge;
  if (each == 0 || posix_memalign(block, huge, total) != 0) return 0;
#ifdef MADV_HUGEPAGE
  (void)madvise(*block, total, MADV_HUGEPAGE);
#endif
  for (size_t i = 0; i < total / sizeof(double); i++) ((double *)*block)[i] = 1.0 + (double)(i % 7);
  out->words = each / sizeof(word);
  for (int k = 0; k < what->arrays; k++) out->array[k] = (word *)((char *)*block + (size_t)k * (each + pad));
  return 1;
}

static double run_passes(const kind *what, const arrays *w, long passes, double *start) {
  *start = now();
  for (long pass = 0; pass < passes; pass++) {
    what->loop(w);
    KEEP_MEMORY();
  }
  return now();
}

/* Passes that fill a round, found by thread 0 alone: together, the wake-up of the others would be in the time. The
 * better of two tries, since one may be interrupted. */
static long calibrate(const kind *what, const arrays *w) {
  for (long passes = 1;; passes *= 2) {
    double start, best = 1e9;
    for (int attempt = 0; attempt < 2; attempt++) {
      double seconds = run_passes(what, w, passes, &start) - start;
      if (seconds < best) best = seconds;
    }
    if (best < ROUND_SECONDS / 8 && passes < 1L << 40) continue;
    double wanted = (double)passes * ROUND_SECONDS / best;
    return wanted < 1.0 ? 1 : (long)wanted;
  }
}

/* Thread 0 between two barriers: the best rate so far, and whether to go on. */
static void judge(team *t, int round, double began) {
  double first = t->start[0], last = t->finish[0];
  for (int k = 1; k < t->threads; k++) {
    if (t->start[k] < first) first = t->start[k];
    if (t->finish[k] > last) last = t->finish[k];
  }
  double seconds = last - first > 1e-9 ? last - first : 1e-9;
  double rate = t->work_per_pass * (double)t->passes * t->threads / seconds;
  if (rate > t->best_rate) t->best_rate = rate;
  if (round + 1 >= LEAST_ROUNDS && last - began > t->seconds) t->stop = 1;
}

static void *work(void *argument) {
  member *me = argument;
  team *t = me->team;
  arrays w = {{NULL, NULL, NULL}, 0};
  void *block = NULL;
  if (t->cpus) pin(t->cpu[me->number % t->cpus]);
  if (t->what->arrays && !allocate(t->what, t->bytes, &w, &block)) t->failed = 1;
  if (me->number == 0)
    t->work_per_pass = t->what->arrays ? (double)(w.words * sizeof(word)) * t->what->arrays
                                       : t->what->flops_per_chain * CHAINS * TURNS;
  barrier(t);
  if (t->failed) return NULL;
  if (me->number == 0) t->passes = calibrate(t->what, &w);
  t->what->loop(&w); /* the caches hold what they can before the first round */
  double began = now();
  for (int round = 0; !t->stop; round++) {
    barrier(t);
    t->finish[me->number] = run_passes(t->what, &w, t->passes, &t->start[me->number]);
    barrier(t);
    if (me->number == 0) judge(t, round, began);
    barrier(t);
  }
  free(block);
  return NULL;
}

static int measure_rate(team *t) {
  pthread_t thread[MAX_THREADS];
  member members[MAX_THREADS];
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->all_here, NULL);
  for (int k = 0; k < t->threads; k++) {
    members[k] = (member){t, k};
    if (pthread_create(&thread[k], NULL, work, &members[k]) != 0) {
      fprintf(stderr, "thread %d of %d could not be started\n", k + 1, t->threads);
      exit(1); /* those that run wait for all: nothing to join */
    }
  }
  for (int k = 0; k < t->threads; k++) pthread_join(thread[k], NULL);
  if (t->failed) {
    fprintf(stderr, "no memory for %zu bytes in each of %d threads\n", t->bytes, t->threads);
    return 1;
  }
  printf("%.9g\n", t->best_rate);
  return 0;
}

/* ---------------------------------------------------------------- page faults, steadiness */

static int measure_fault(size_t bytes, double seconds, int huge) {
  size_t page = huge ? (size_t)2 << 20 : (size_t)sysconf(_SC_PAGESIZE), slack = (size_t)2 << 20;
  double best = 1e9, began = now();
  do {
    char *block = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
      fprintf(stderr, "no memory for %zu bytes\n", bytes);
      return 1;
    }
    char *aligned = (char *)(((uintptr_t)block + slack - 1) / slack * slack);
#ifdef MADV_HUGEPAGE
    (void)madvise(aligned, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
    double start = now();
    for (size_t at = 0; at < bytes; at += page) ((volatile char *)aligned)[at] = 1;
    double each = (now() - start) / (double)((bytes + page - 1) / page);
    if (each < best) best = each;
    munmap(block, bytes + slack);
  } while (now() - began < seconds);
  printf("%.9g\n", best);
  return 0;
}

static NOINLINE double chain(long turns) { /* each turn waits for the one before: its time is the clock's alone */
  uint64_t x = (uint64_t)factor_source;
  double start = now();
  for (long turn = 0; turn < turns; turn++) x = x * 6364136223846793005u + 1442695040888963407u;
  double seconds = now() - start;
  sink = (double)x;
  return seconds;
}

static int measure_steady(long samples, double seconds) {
  long turns = 1000;
  double each = seconds / (double)samples;
  while (chain(turns) < each / 2 && turns < 1L << 40) turns *= 2;
  for (long sample = 0; sample < samples; sample++) printf("%.9g\n", chain(turns));
  return 0;
}

/* ---------------------------------------------------------------- the command line */

static int print_kinds(void) {
  for (int k = 0; k < KINDS; k++) printf("%s\n", kinds[k].name);
  return 0;
}

int main(int count, char **words) {
  if (count == 2 && strcmp(words[1], "kinds") == 0) return print_kinds();
  if (count < 5) {
    fprintf(stderr, "usage: probe KIND THREADS BYTES SECONDS [CPU...]\n");
    return 2;
  }
  static team t;
  t.threads = atoi(words[2]);
  t.bytes = (size_t)strtoull(words[3], NULL, 10);
  t.seconds = atof(words[4]);
  for (int k = 5; k < count && t.cpus < MAX_THREADS; k++) t.cpu[t.cpus++] = atoi(words[k]);
  if (t.threads < 1 || t.threads > MAX_THREADS) {
    fprintf(stderr, "threads: 1 to %d\n", (int)MAX_THREADS);
    return 2;
  }
  if (strcmp(words[1], "fault") == 0) return measure_fault(t.bytes, t.seconds, 0);
  if (strcmp(words[1], "fault_huge") == 0) return measure_fault(t.bytes, t.seconds, 1);
  if (strcmp(words[1], "steady") == 0) return measure_steady((long)t.bytes, t.seconds);
  for (int k = 0; k < KINDS; k++)
    if (strcmp(words[1], kinds[k].name) == 0) {
      t.what = &kinds[k];
      return measure_rate(&t);
    }
  fprintf(stderr, "no kind %s\n", words[1]);
  return 2;
}
