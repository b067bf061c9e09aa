/** Repeats of measurements. See repeats.h. */
#include "repeats.h"

#include "ronde/stats.h"

#include <math.h>
#include <stdlib.h>

int published_order(const uint64_t keys[][2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/** What the model is told of a row, in an order that puts repeats beside each other. */
static int by_call(const void *left, const void *right)
{
    const struct ronde_published_row *const a = *(const struct ronde_published_row *const *)left;
    const struct ronde_published_row *const b = *(const struct ronde_published_row *const *)right;
    const uint64_t keys[][2] = {{a->call.collective, b->call.collective},
                                {a->call.ranks, b->call.ranks},
                                {a->call.nodes, b->call.nodes},
                                {a->call.bytes, b->call.bytes},
                                {a->call.version, b->call.version},
                                {a->wish.algorithm, b->wish.algorithm},
                                {a->wish.protocol, b->wish.protocol}};
    return published_order(keys, sizeof keys / sizeof keys[0]);
}

double published_own_spread(struct ronde_published_row **rows, size_t count, double *errors)
{
    size_t known = 0;
    qsort(rows, count, sizeof rows[0], by_call);
    for (size_t from = 0, to; from < count; from = to) {
        double sum = 0;
        for (to = from; to < count && by_call(&rows[from], &rows[to]) == 0; to++)
            sum += log(rows[to]->measured_us);
        for (size_t r = from; to - from > 1 && r < to; r++) {
            const double own = log(rows[r]->measured_us);
            const double others = (sum - own) / (double)(to - from - 1);
            errors[known++] = fabs(exp(own - others) - 1);
        }
    }
    if (known == 0)
        return -1;
    (void)ronde_stats_of(errors, known); /* sorts them */
    return ronde_percentile(errors, known, 90);
}
