/*
 * Formulas of the examples. Whole numbers of int32; what exceeds it wraps, as in the type itself.
 */
#include "tour.h"

/* An int32's bits from those of a wider number. */
static double wrapped(uint64_t value)
{
    return (double)(int32_t)(uint32_t)value;
}

/* 1 + 2 + ... + n. */
static uint32_t sum_to(uint32_t n)
{
    return n * (n + 1) / 2;
}

/* A formula of (ranks, rank, element i), few of which need all three. */
#define VALUE(name, formula)                                                                       \
    static double name(uint32_t ranks, uint32_t rank, uint32_t i)                                  \
    {                                                                                              \
        (void)ranks, (void)rank, (void)i;                                                          \
        return formula;                                                                            \
    }

/* n! (i+1)^n. */
static uint32_t factorial(uint32_t ranks, uint32_t i)
{
    uint32_t product = 1;
    for (uint32_t r = 0; r < ranks; r++)
        product *= (r + 1) * (i + 1);
    return product;
}

/* Block j of rank r is [(r+1)^(j+1), (2(r+1))^(j+1)]. */
static uint32_t power(uint32_t rank, uint32_t element, uint32_t exponent)
{
    uint32_t product = 1;
    for (uint32_t k = 0; k < exponent; k++)
        product *= (rank + 1) * (element + 1);
    return product;
}

/* 1+2+3, 2+4+6; 1+4+9, 4+16+36; 1+8+27, 8+64+216 on three ranks. */
static uint32_t power_sum(uint32_t ranks, uint32_t element, uint32_t exponent)
{
    uint32_t sum = 0;
    for (uint32_t r = 0; r < ranks; r++)
        sum += power(r, element, exponent);
    return sum;
}

/* 42, 43, 44 at the root. */
VALUE(broadcast_in, rank == 0 ? 42.0 + i : 0.0)
VALUE(broadcast_out, 42.0 + i)
/* Blocks of two: [0,1] [10,11] [20,21] [30,31]. */
VALUE(scatter_in, rank == 0 ? i / 2 * 10 + i % 2 : 0.0)
VALUE(scatter_out, 10 * rank + i)
VALUE(gather_in, 100 * rank + i)
VALUE(gather_out, rank == 0 ? i / 2 * 100 + i % 2 : 0.0)
VALUE(rank_plus_one, rank + 1.0)
VALUE(one_to_n, i + 1.0)
VALUE(reduce_out, rank == 0 ? sum_to(ranks) : 0.0)
/* [r+1, 2(r+1)] and so on. */
VALUE(gradients, (rank + 1) * (i + 1))
VALUE(sum_out, sum_to(ranks) * (i + 1))
VALUE(prod_out, wrapped(factorial(ranks, i)))
VALUE(max_out, ranks *(i + 1))
/* Integers truncate: the mean of 1, 2, 3, 4 is 2. */
VALUE(avg_out, sum_to(ranks) * (i + 1) / ranks)
/* Squares: every rank's number times its factor, which is one more than the rank as well. */
VALUE(premul_out, ranks *(ranks + 1) * (2 * ranks + 1) / 6 * (i + 1))
VALUE(reduce_scatter_out, sum_to(ranks) * (rank + 1))
VALUE(powers, wrapped(power(rank, i % 2, i / 2 + 1)))
VALUE(powers_out, wrapped(power_sum(ranks, i, rank + 1)))
/* Tens say where a number comes from, ones where it goes. */
VALUE(letters_in, 10 * rank + i)
VALUE(letters_out, 10 * i + rank)
VALUE(shift_out, rank == 0 ? ranks : rank)
VALUE(pairs_out, rank % 2 == 1 ? rank : 0.0)
VALUE(latest, ranks - 1.0)

static const struct ronde_example examples[] = {
    {RONDE_BROADCAST, RONDE_SUM, 0, 3, "broadcast from 0", broadcast_in, broadcast_out,
     "rank 0's data, copied to every rank", false},
    {RONDE_SCATTER, RONDE_SUM, 0, 2, "scatter from 0", scatter_in, scatter_out,
     "block r of rank 0's data goes to rank r", false},
    {RONDE_GATHER, RONDE_SUM, 0, 2, "gather to 0", gather_in, gather_out,
     "rank 0 collects everybody's block; the others keep what they had", false},
    {RONDE_ALL_GATHER, RONDE_SUM, 0, 1, "all_gather", rank_plus_one, one_to_n,
     "every rank collects everybody's block", false},
    {RONDE_REDUCE, RONDE_SUM, 0, 1, "reduce (sum) to 0", rank_plus_one, reduce_out,
     "rank 0 gets the sum; the others keep what they had", false},
    {RONDE_ALL_REDUCE, RONDE_SUM, 0, 2, "all_reduce (sum)", gradients, sum_out,
     "the sum of all ranks on every rank: how gradients are synchronised", false},
    {RONDE_ALL_REDUCE, RONDE_AVG, 0, 2, "all_reduce (avg)", gradients, avg_out,
     "the sum divided by the ranks; whole numbers truncate toward zero", false},
    {RONDE_ALL_REDUCE, RONDE_PROD, 0, 2, "all_reduce (prod)", gradients, prod_out, "the product",
     false},
    {RONDE_ALL_REDUCE, RONDE_MIN, 0, 2, "all_reduce (min)", gradients, one_to_n, "the smallest",
     false},
    {RONDE_ALL_REDUCE, RONDE_MAX, 0, 2, "all_reduce (max)", gradients, max_out, "the largest", false},
    {RONDE_ALL_REDUCE, RONDE_PREMUL_SUM, 0, 2, "all_reduce (premul_sum), rank r's factor r+1",
     gradients, premul_out, "every rank's input times its factor, summed", false},
    {RONDE_REDUCE_SCATTER, RONDE_SUM, 0, 1, "reduce_scatter (sum)", gradients, reduce_scatter_out,
     "sums over ranks, of which rank r keeps the r-th", false},
    {RONDE_REDUCE_SCATTER, RONDE_SUM, 3, 2, "reduce_scatter (sum), blocks of two", powers,
     powers_out, "the same with two elements a block: block j holds powers of j+1", false},
    {RONDE_ALL_TO_ALL, RONDE_SUM, 0, 1, "all_to_all", letters_in, letters_out,
     "block s of rank r becomes block r of rank s", false},
    {RONDE_BARRIER, RONDE_SUM, 0, 1, "barrier, rank r comes after r seconds", rank_plus_one, latest,
     "nobody leaves before the last has come (replayed: messages take no time)", false},
    {RONDE_SEND_RECV, RONDE_SUM, 0, 1, "send_recv", rank_plus_one, shift_out,
     "every rank's data goes to the next rank, the last one's to rank 0", false},
    {RONDE_SEND_RECV, RONDE_SUM, 0, 1, "send_recv, pairs 0>1, 2>3, ...", rank_plus_one, pairs_out,
     "even ranks send to the next rank; who receives nothing keeps what it had", true},
};

const struct ronde_example *ronde_examples(uint32_t *out_count)
{
    *out_count = (uint32_t)(sizeof examples / sizeof examples[0]);
    return examples;
}
