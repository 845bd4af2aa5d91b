/* How many rows a second this machine gathers at random: what no loader of such rows can pass.
 *
 * gather memory|plain|mapped FILE SKIP ROWS FEATURES BATCH SECONDS THREADS
 *
 * FILE has SKIP bytes of header and ROWS rows of FEATURES + 1 floats. From memory two layouts are tried, rows as they
 * are in the file and features apart from targets; from the mapped file, whose pages are small, only the first. Each is
 * tried with several distances of prefetching, plainly with none, and the best is printed in rows a second, all threads together. The order
 * is a permutation drawn before, so that no shuffling is counted.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { DISTANCES = 5, LAYOUTS = 2, RING = 8, MAX_THREADS = 64 };
static const size_t distances[DISTANCES] = {0, 16, 32, 64, 128};

struct set {
    float *together, *features, *targets;
    uint32_t *order;
    size_t rows, width, batch;
};

struct turn {
    const struct set *set;
    size_t distance, begin;
    int apart;
    double seconds, rate;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void *aligned(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes ? bytes : 1) != 0) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

/* The width is a constant where this is inlined, so that a row is copied by a few vector moves, as a loader
 * specialised by width would. */
static inline __attribute__((always_inline)) void gather(const struct turn *turn, size_t from, float *x, float *y,
                                                         size_t width) {
    const struct set *set = turn->set;
    const float *base = turn->apart ? set->features : set->together;
    size_t stride = turn->apart ? width : width + 1;
    const uint32_t *order = set->order + from;
    for (size_t row = 0; row < set->batch; row++) {
        if (turn->distance) {
            /* The order is padded by the longest distance. */
            uint32_t ahead = order[row + turn->distance];
            const float *next = base + (size_t)ahead * stride;
            __builtin_prefetch(next);
            __builtin_prefetch(next + stride - 1);
            if (turn->apart) __builtin_prefetch(set->targets + ahead);
        }
        const float *source = base + (size_t)order[row] * stride;
        memcpy(x + row * width, source, width * sizeof(float));
        y[row] = turn->apart ? set->targets[order[row]] : source[width];
    }
}

static void one_batch(const struct turn *turn, size_t from, float *x, float *y) {
    if (turn->set->width == 10) gather(turn, from, x, y, 10);
    else gather(turn, from, x, y, turn->set->width);
}

static void *take(void *argument) {
    struct turn *turn = argument;
    const struct set *set = turn->set;
    float *x = aligned(RING * set->batch * set->width * sizeof(float));
    float *y = aligned(RING * set->batch * sizeof(float));
    size_t batches = set->rows / set->batch, at = turn->begin % batches, taken = 0;
    double start = now(), end = start;
    while (end - start < turn->seconds) {
        for (int many = 0; many < 64; many++, taken++) {
            size_t slot = taken % RING;
            one_batch(turn, at * set->batch, x + slot * set->batch * set->width, y + slot * set->batch);
            __asm__ volatile("" ::"r"(x), "r"(y) : "memory");
            at = at + 1 == batches ? 0 : at + 1;
        }
        end = now();
    }
    turn->rate = taken * set->batch / (end - start);
    free(x);
    free(y);
    return NULL;
}

static double together(const struct set *set, int apart, size_t distance, double seconds, int threads) {
    pthread_t running[MAX_THREADS];
    struct turn turns[MAX_THREADS];
    double rate = 0;
    for (int index = 0; index < threads; index++) {
        turns[index] = (struct turn){.set = set, .distance = distance, .apart = apart, .seconds = seconds};
        turns[index].begin = index * (set->rows / set->batch) / threads;
        if (pthread_create(&running[index], NULL, take, &turns[index]) != 0) exit(1);
    }
    for (int index = 0; index < threads; index++) {
        pthread_join(running[index], NULL);
        rate += turns[index].rate;
    }
    return rate;
}

static uint64_t drawn(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t *shuffled(size_t rows) {
    size_t padding = distances[DISTANCES - 1];
    uint32_t *order = aligned((rows + padding) * sizeof(uint32_t));
    uint64_t state = 0;
    for (size_t row = 0; row < rows; row++) order[row] = row;
    for (size_t left = rows; left > 1; left--) {
        size_t other = drawn(&state) % left;
        uint32_t kept = order[left - 1];
        order[left - 1] = order[other];
        order[other] = kept;
    }
    for (size_t row = 0; row < padding; row++) order[rows + row] = order[row];
    return order;
}

static void stop(const char *path, size_t rows) {
    fprintf(stderr, "%s: cannot read %zu rows\n", path, rows);
    exit(1);
}

static void map_set(struct set *set, const char *path, long skip) {
    size_t bytes = skip + set->rows * (set->width + 1) * sizeof(float);
    FILE *file = fopen(path, "rb");
    char *mapped = file ? mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fileno(file), 0) : MAP_FAILED;
    if (mapped == MAP_FAILED) stop(path, set->rows);
    fclose(file);
    set->together = (float *)(mapped + skip);
}

static void read_set(struct set *set, const char *path, long skip) {
    size_t stride = set->width + 1;
    FILE *file = fopen(path, "rb");
    set->together = aligned(set->rows * stride * sizeof(float));
    if (!file || fseek(file, skip, SEEK_SET) != 0 ||
        fread(set->together, stride * sizeof(float), set->rows, file) != set->rows)
        stop(path, set->rows);
    fclose(file);
    set->features = aligned(set->rows * set->width * sizeof(float));
    set->targets = aligned(set->rows * sizeof(float));
    for (size_t row = 0; row < set->rows; row++) {
        memcpy(set->features + row * set->width, set->together + row * stride, set->width * sizeof(float));
        set->targets[row] = set->together[row * stride + set->width];
    }
}

int main(int count, char **words) {
    if (count != 9) {
        fprintf(stderr, "gather memory|plain|mapped FILE SKIP ROWS FEATURES BATCH SECONDS THREADS\n");
        return 2;
    }
    int mapped = strcmp(words[1], "mapped") == 0, plain = strcmp(words[1], "plain") == 0, threads = atoi(words[8]);
    struct set set = {.rows = strtoull(words[4], 0, 10), .width = strtoull(words[5], 0, 10)};
    set.batch = strtoull(words[6], 0, 10);
    double seconds = atof(words[7]), best = 0;
    if (set.rows < set.batch || set.batch < 1 || set.width < 1 || threads < 1 || threads > MAX_THREADS ||
        set.rows >= UINT32_MAX)
        return 2;
    (mapped ? map_set : read_set)(&set, words[2], atol(words[3]));
    set.order = shuffled(set.rows);
    int layouts = mapped ? 1 : LAYOUTS, tried = plain ? 1 : DISTANCES;
    for (int apart = 0; apart < layouts; apart++)
        for (int index = 0; index < tried; index++) {
            double rate = together(&set, apart, distances[index], seconds / (layouts * tried), threads);
            if (rate > best) best = rate;
        }
    printf("%.0f\n", best);
    return 0;
}
